//! Where an image is sent: a registry, a repository and a tag.

use std::net::IpAddr;

use oci_client::Reference;

use crate::error::ImageError;

/// Where an image is sent.
#[derive(Debug, Clone)]
pub struct Destination {
    pub(super) reference: Reference,
    /// Without TLS.
    pub(super) is_plain: bool,
}

impl Destination {
    /// Of `REGISTRY/REPOSITORY:TAG`. A registry at an address of loopback speaks plain HTTP, and so do those in `insecure`; all others TLS.
    ///
    /// # Errors
    /// It is no such name, or has no tag.
    pub fn new(text: &str, insecure: &[String]) -> Result<Self, ImageError> {
        let refusal = |why: String| ImageError::Reference {
            text: text.to_owned(),
            why,
        };
        let reference: Reference = text.parse().map_err(|why| refusal(format!("{why}")))?;
        if reference.digest().is_some() {
            return Err(refusal("a digest follows from the image".to_owned()));
        }
        let last = text.rsplit('/').next().unwrap_or(text);
        if !last.contains(':') {
            return Err(refusal("expected :TAG at its end".to_owned()));
        }
        let registry = reference.registry();
        if !text.starts_with(registry) {
            return Err(refusal(
                "it does not begin with a registry, such as registry.example:5000".to_owned(),
            ));
        }
        let is_plain = is_loopback(registry) || insecure.iter().any(|named| named == registry);
        Ok(Self {
            is_plain,
            reference,
        })
    }

    #[must_use]
    pub fn registry(&self) -> &str {
        self.reference.registry()
    }
}

fn is_loopback(registry: &str) -> bool {
    let host = match registry.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => registry.split(':').next().unwrap_or_default(),
    };
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::Destination;

    #[test]
    fn a_destination_has_a_registry_and_a_tag() {
        let plain = |text: &str| {
            let insecure = ["registry.lan:5000".to_owned()];
            Destination::new(text, &insecure).map(|destination| destination.is_plain)
        };
        let check =
            |text: &str, expected: bool| assert_eq!(plain(text).unwrap(), expected, "{text}");
        check("127.0.0.1:5000/a/b:1", true);
        check("localhost:5000/a:1", true);
        check("registry.lan:5000/a:1", true);
        check("registry.lan/a:1", false);
        check("ghcr.io/a/b:1.0", false);
        let refused = |text: &str, words: &str| {
            let message = plain(text).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        };
        refused("127.0.0.1:5000/a/b", "expected :TAG");
        refused("a:1", "does not begin with a registry");
        refused("ghcr.io/A:1", "no name of an image");
        let digest = "0".repeat(64);
        refused(
            &format!("ghcr.io/a@sha256:{digest}"),
            "a digest follows from the image",
        );
    }
}

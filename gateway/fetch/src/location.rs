//! The URL of something that must not be changed or read on its way.

use std::{
    fmt::{self, Display},
    net::IpAddr,
    path::PathBuf,
};

use url::{Host, Url};

use crate::authorities::{AuthoritiesError, trusted_roots};

/// A URL, and the authorities by which its certificate is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub(crate) url: Url,
    /// PEM; those of the system without it.
    pub(crate) authorities: Option<PathBuf>,
}

/// A URL that is not taken, or authorities that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LocationError {
    #[error("{text:?} is no URL: {source}")]
    Url {
        text: String,
        source: url::ParseError,
    },
    #[error(
        "expected a URL that begins with https:// and has no user, or one with http:// on this host, and found {origin:?}"
    )]
    Unsafe { origin: String },
    #[error(transparent)]
    Authorities(#[from] AuthoritiesError),
    #[error("setting up TLS: {0}")]
    Setup(rustls::Error),
}

impl Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(formatter)
    }
}

impl Location {
    /// Reads a URL: https, or http on this host, since what came over the network in clear text could be anyone's. The file of
    /// authorities is read, and read again with each request.
    ///
    /// # Errors
    /// If it is another URL, or the file has no certificates.
    pub fn new(text: &str, authorities: Option<PathBuf>) -> Result<Self, LocationError> {
        let url = Url::parse(text).map_err(|source| LocationError::Url {
            text: text.to_owned(),
            source,
        })?;
        let is_local = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
            Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        };
        let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_local);
        if !is_safe || !url.username().is_empty() || url.password().is_some() {
            let origin = url.origin().ascii_serialization();
            return Err(LocationError::Unsafe { origin });
        }
        if let Some(file) = &authorities {
            trusted_roots(Some(file))?;
        }
        Ok(Self { url, authorities })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_https_or_on_this_host() {
        let check = |text: &str, is_good: bool| {
            assert_eq!(Location::new(text, None).is_ok(), is_good, "{text}");
        };
        check("https://login.example/keys?x=1", true);
        check("http://127.0.0.1:8081/keys", true);
        check("http://[::1]:8081/keys", true);
        check("http://localhost/keys", true);
        check("http://login.example/keys", false);
        check("http://127.0.0.1.example/keys", false);
        check("https://user:secret@login.example/keys", false);
        check("ftp://login.example/keys", false);
        check("login.example", false);
        let error = Location::new("https://a:secret@b", None).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

//! The page's Content-Security-Policy: what it may run and show, whatever the text of a study contains.

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::digest::{SHA256, digest};

/// It fetches nothing. A browser runs the scripts whose text has one of the hashes, and no attribute that is a script. Charts set
/// attributes of style; a browser without `style-src-elem` takes `style-src`, in which hashes would turn these off.
pub(super) fn policy(style: &str, scripts: &[&str]) -> String {
    let mut policy = String::from("default-src 'none'");
    if !scripts.is_empty() {
        policy.push_str("; script-src");
        for script in scripts {
            policy.push(' ');
            policy.push_str(&hash_source(script));
        }
    }
    policy.push_str("; style-src 'unsafe-inline'; style-src-elem ");
    policy.push_str(&hash_source(style));
    policy.push_str(
        "; style-src-attr 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'",
    );
    policy
}

/// The source of a script or a style with this text.
#[must_use]
pub fn hash_source(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    format!("'sha256-{}'", STANDARD.encode(digest))
}

#[cfg(test)]
mod tests {
    use super::policy;

    #[test]
    fn policies() {
        // Of the specification of Content Security Policy, level 3, section 2.4.
        let check = |scripts: &[&str], expected: &str| {
            let policy = policy("", scripts);
            let scripts = policy
                .split("; ")
                .find(|directive| directive.starts_with("script-src"));
            assert_eq!(scripts.unwrap_or_default(), expected, "{policy}");
        };
        check(&[], "");
        check(
            &["alert('Hello, world.');"],
            "script-src 'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='",
        );
        check(
            &["", ""],
            "script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' \
             'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='",
        );
    }
}

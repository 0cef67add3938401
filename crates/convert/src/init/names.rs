//! Names of secrets: of headers, parameters, form fields and JSON keys.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::slot;

/// All characters except the unreserved ones of a URL (RFC 3986, 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// A part of a name that contains one of these is secret; `-` and `_` are ignored.
const WITHIN: [&str; 17] = [
    "token",
    "secret",
    "passw",
    "passphrase",
    "pwd",
    "apikey",
    "accesskey",
    "privatekey",
    "subscriptionkey",
    "auth",
    "session",
    "signature",
    "credential",
    "csrf",
    "xsrf",
    "cookie",
    "saml",
];
/// A part of a name that equals one of these is secret, with or without a prefix `x-`.
const WHOLE: [&str; 7] = ["key", "sig", "sid", "pass", "otp", "jwt", "pin"];

/// Whether a value of this name is a secret. The name may be percent-encoded, and nested as in `user[password]`.
pub(super) fn is_secret(name: &str) -> bool {
    let name = percent_decoded(name).to_lowercase();
    name.split(['[', ']', '.', ':', '/'])
        .any(is_secret_in_lower_case)
}

fn is_secret_in_lower_case(name: &str) -> bool {
    let letters: String = name
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .collect();
    let bare = letters.strip_prefix('x').unwrap_or(&letters);
    // An author is not a secret; authorization is.
    let without_author = letters
        .replace("authoris", "auth")
        .replace("authoriz", "auth")
        .replace("author", "");
    WHOLE.contains(&letters.as_str())
        || WHOLE.contains(&bare)
        || WITHIN.iter().any(|part| without_author.contains(part))
}

/// Whether a text contains the name of a secret.
pub(super) fn mentions_secrets(text: &str) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '-' && letter != '_')
        .any(is_secret)
}

/// Decodes `%41` and `+`.
pub(super) fn percent_decoded(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}

/// Slots stay as they are.
pub(super) fn percent_encoded(text: &str) -> String {
    slot::map_literals(text, |literal| {
        utf8_percent_encode(literal, RESERVED).to_string()
    })
}

/// Names of secrets for tests.
#[cfg(test)]
pub(super) const SECRETS: [&str; 33] = [
    "Authorization",
    "Proxy-Authorization",
    "PRIVATE-TOKEN",
    "X-Access-Token",
    "X-XSRF-TOKEN",
    "X-CSRFToken",
    "Cookie",
    "Set-Cookie",
    "X-Api-Key",
    "X-Key",
    "apikey",
    "api_key",
    "apiKey",
    "access_token",
    "authToken",
    "client_secret",
    "password",
    "user%5Bpassword%5D",
    "user[key]",
    "passwd",
    "user_passwd",
    "auth",
    "authentication",
    "X-Session-Id",
    "JSESSIONID",
    "X-Amz-Signature",
    "X-Amz-Credential",
    "SAMLResponse",
    "jwt",
    "sig",
    "key",
    "otp",
    "a.b.pin",
];

#[cfg(test)]
mod tests {
    use super::{SECRETS, is_secret, percent_decoded, percent_encoded};

    #[test]
    fn names_of_secrets_are_found_by_their_parts() {
        for name in SECRETS {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "Accept",
            "author",
            "author_id",
            "keyword",
            "monkey",
            "q",
            "passenger",
            "Idempotency-Key",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn percent_encoding_is_decoded_and_encoded() {
        assert_eq!(percent_decoded("a%5Bb%5d+%C3%A4%"), "a[b] ä%");
        assert_eq!(percent_decoded("%4"), "%4");
        assert_eq!(percent_encoded("a b&ä"), "a%20b%26%C3%A4");
    }
}

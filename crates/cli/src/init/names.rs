//! Which names say that the value beside them is a secret: of headers, parameters, fields of forms, keys of JSON.

/// Anywhere in a part of a name, its `-` and `_` taken out.
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
/// A whole part of a name, with or without an `x-` before it.
const WHOLE: [&str; 7] = ["key", "sig", "sid", "pass", "otp", "jwt", "pin"];

/// Whether the value under this name is a secret. The name may be percent-encoded, and one such as `user[password]`.
pub(super) fn is_secret(name: &str) -> bool {
    let name = percent_decoded(name).to_lowercase();
    name.split(['[', ']', '.', ':', '/']).any(|part| {
        let letters: String = part
            .chars()
            .filter(|letter| letter.is_alphanumeric())
            .collect();
        let bare = letters.strip_prefix('x').unwrap_or(&letters);
        // Who wrote a thing is no secret; authorization is.
        let without_author = letters
            .replace("authoris", "auth")
            .replace("authoriz", "auth")
            .replace("author", "");
        WHOLE.contains(&letters.as_str())
            || WHOLE.contains(&bare)
            || WITHIN.iter().any(|part| without_author.contains(part))
    })
}

/// Whether any word of a text is such a name.
pub(super) fn speaks_of_secrets(text: &str) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '-' && letter != '_')
        .any(is_secret)
}

/// `%41` and `+` as what they stand for.
pub(super) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        let digits = behind
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = &behind[2..];
            }
            (b'+', _) => bytes.push(b' '),
            (other, _) => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(super) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::{is_secret, percent_decoded, percent_encoded};

    #[test]
    fn names_are_known_by_their_parts() {
        for name in [
            "Authorization",
            "Proxy-Authorization",
            "PRIVATE-TOKEN",
            "X-XSRF-TOKEN",
            "Set-Cookie",
            "X-Api-Key",
            "api_key",
            "apiKey",
            "client_secret",
            "user%5Bpassword%5D",
            "user[key]",
            "X-Key",
            "a.b.pin",
            "X-Amz-Credential",
            "JSESSIONID",
            "authToken",
        ] {
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
    fn percents_are_read_and_written() {
        assert_eq!(percent_decoded("a%5Bb%5d+%C3%A4%"), "a[b] ä%");
        assert_eq!(percent_decoded("%4"), "%4");
        assert_eq!(percent_encoded("a b&ä"), "a%20b%26%C3%A4");
    }
}

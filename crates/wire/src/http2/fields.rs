//! Fields of requests and answers: which names and values are valid (RFC 9113, section 8.2).

/// Whether it is the name of a regular field: in lower case, without spaces, colons and control characters.
#[must_use]
pub fn is_valid_name(name: &[u8]) -> bool {
    !name.is_empty()
        && name
            .iter()
            .all(|byte| matches!(byte, b'!'..=b'~') && !matches!(byte, b'A'..=b'Z' | b':'))
}

/// Whether it is a value: without NUL and line ends, and without blanks at its ends.
#[must_use]
pub fn is_valid_value(value: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    !value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))
        && !is_blank(value.first())
        && !is_blank(value.last())
}

/// Whether a field is one of an HTTP/1.1 connection, which HTTP/2 does not have (section 8.2.2). `te` is for the caller to judge.
#[must_use]
pub fn is_of_connection(name: &[u8]) -> bool {
    matches!(
        name,
        b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_judged() {
        let names: [(&[u8], bool); 7] = [
            (b"x-own", true),
            (b"", false),
            (b"X-Own", false),
            (b"a b", false),
            (b"a:b", false),
            (b"a\x7f", false),
            (b"caf\xe9", false),
        ];
        for (name, expected) in names {
            assert_eq!(is_valid_name(name), expected, "{name:?}");
        }
        let values: [(&[u8], bool); 7] = [
            (b"", true),
            (b"a b\xff", true),
            (b" a", false),
            (b"a\t", false),
            (b"a\0b", false),
            (b"a\nb", false),
            (b"a\rb", false),
        ];
        for (value, expected) in values {
            assert_eq!(is_valid_value(value), expected, "{value:?}");
        }
    }
}

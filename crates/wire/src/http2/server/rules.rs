//! What names and values of a request's fields may be (RFC 9113, sections 8.2 and 8.3).

use crate::http2::fields::is_of_connection;

/// Why a request is malformed, which resets its stream (RFC 9113, section 8.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Malformed {
    LatePseudoField,
    UnknownPseudoField,
    RepeatedPseudoField,
    MissingPseudoField,
    Name,
    Value,
    ConnectionField,
    ContentLength,
    Method,
    Connect,
    Path,
    Host,
}

/// The bytes of a token (RFC 9110, section 5.6.2), without capital letters.
const NAME: [bool; 256] = {
    let mut set = [false; 256];
    let others = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
    let mut index = 0;
    while index < others.len() {
        set[others[index] as usize] = true;
        index += 1;
    }
    set
};

/// Checks a field that is no pseudo field.
pub(super) fn check_field(name: &[u8], value: &[u8]) -> Result<(), Malformed> {
    if name.is_empty() || !name.iter().all(|byte| NAME[usize::from(*byte)]) {
        return Err(Malformed::Name);
    }
    if !is_value(value) {
        return Err(Malformed::Value);
    }
    let is_coding = name == b"te" && !value.eq_ignore_ascii_case(b"trailers");
    match is_coding || is_of_connection(name) {
        true => Err(Malformed::ConnectionField),
        false => Ok(()),
    }
}

/// Without NUL, line ends, and blanks at its ends (RFC 9113, section 8.2.1); nor other control characters (RFC 9110, section 5.5).
pub(super) fn is_value(value: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    !is_blank(value.first())
        && !is_blank(value.last())
        && value
            .iter()
            .all(|byte| (*byte >= b' ' && *byte != 0x7f) || *byte == b'\t')
}

/// A token, in which capital letters are usual.
pub(super) fn is_method(method: &[u8]) -> bool {
    let is_token = |byte: &u8| NAME[usize::from(byte.to_ascii_lowercase())];
    !method.is_empty() && method.iter().all(is_token)
}

/// A path, or the `*` of OPTIONS.
pub(super) fn is_path(path: &[u8], method: &[u8]) -> bool {
    path.first() == Some(&b'/') || (path == b"*" && method == b"OPTIONS")
}

/// Whether it could be the target of an HTTP/1.1 request, in which a space ends it.
pub(super) fn is_target(target: &[u8]) -> bool {
    !target.is_empty() && target.iter().all(|byte| *byte > b' ' && *byte != 0x7f)
}

/// A `content-length` of at most 15 digits.
pub(super) fn read_length(value: &[u8]) -> Option<u64> {
    let is_number = matches!(value.len(), 1..=15) && value.iter().all(u8::is_ascii_digit);
    is_number.then(|| {
        value
            .iter()
            .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))
    })
}

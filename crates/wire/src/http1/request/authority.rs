//! A host with an optional port, in `Host` and in a target of absolute form (RFC 9110, sections 4.2 and 7.2; RFC 3986, 3.2).

use std::net::Ipv6Addr;

use crate::http1::bytes::{Set, alphanumerics_and, prefix_length};

/// The bytes of a name, but for escapes. RFC 3986 also has comma and apostrophe, of which no host has one: a comma joins two
/// `Host` fields, and an apostrophe quotes.
const NAME: Set = alphanumerics_and(b"-._~!$&()*+;=");

/// Whether it is a host, with a port or without one. User information is refused (RFC 9110, section 4.2.4).
pub(super) fn is_authority(text: &[u8]) -> bool {
    let host = host_length(text);
    host > 0 && is_port_or_nothing(&text[host..])
}

/// Length of the host at the start of the text; 0 if there is none.
fn host_length(text: &[u8]) -> usize {
    if text.first() == Some(&b'[') {
        return literal_length(text);
    }
    let mut length = 0;
    loop {
        length += prefix_length(&text[length..], &NAME);
        match &text[length..] {
            [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                length += 3;
            }
            _ => return length,
        }
    }
}

/// Length of an IPv6 address with its brackets; 0 if it is none.
fn literal_length(text: &[u8]) -> usize {
    let Some(end) = memchr::memchr(b']', text) else {
        return 0;
    };
    let address = std::str::from_utf8(&text[1..end]).map(str::parse::<Ipv6Addr>);
    if matches!(address, Ok(Ok(_))) {
        end + 1
    } else {
        0
    }
}

/// Whether it is empty, or a colon and a number of at most 16 bits, which may be left out.
fn is_port_or_nothing(text: &[u8]) -> bool {
    let Some((colon, digits)) = text.split_first() else {
        return true;
    };
    let port = digits.iter().try_fold(0_u16, |port, digit| {
        let digit = digit.is_ascii_digit().then(|| digit - b'0')?;
        port.checked_mul(10)?.checked_add(u16::from(digit))
    });
    *colon == b':' && port.is_some()
}

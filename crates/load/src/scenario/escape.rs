//! Escaping of values that are written into requests.

/// The context in which a value is written; decides how it is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// In a request line: bytes that would end it are percent-encoded.
    Path,
    /// In a header: control characters, which could begin another header, become spaces.
    Header,
    /// Nothing is escaped.
    None,
}

/// Appends a value, escaped.
pub(crate) fn put(value: &[u8], escape: Escape, out: &mut Vec<u8>) {
    match escape {
        Escape::None => out.extend_from_slice(value),
        Escape::Header => {
            out.extend(
                value
                    .iter()
                    .map(|byte| if is_control(*byte) { b' ' } else { *byte }),
            );
        }
        Escape::Path => {
            for &byte in value {
                if byte.is_ascii_graphic() {
                    out.push(byte);
                } else {
                    out.extend([b'%', hex(byte >> 4), hex(byte & 15)]);
                }
            }
        }
    }
}

pub(crate) fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}

fn hex(digit: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(digit & 15)]
}

//! What a value from outside must not do where it is written into a request.

/// Where a text is written, which decides what must not stand in a value there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a request line: what would end it is percent-encoded.
    Path,
    /// In a header: control characters would begin another one, and become spaces.
    Header,
    /// Anything goes.
    Free,
}

/// Appends a value as it may stand at a place.
pub(super) fn put(value: &[u8], place: Place, out: &mut Vec<u8>) {
    match place {
        Place::Free => out.extend_from_slice(value),
        Place::Header => {
            out.extend(
                value
                    .iter()
                    .map(|byte| if is_control(*byte) { b' ' } else { *byte }),
            );
        }
        Place::Path => {
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

//! Sets of bytes as tables: one load for each byte, whatever the set.

/// Whether a byte belongs to a set.
pub(super) type Set = [bool; 256];

/// The bytes of a token, such as a field's name (RFC 9110, section 5.6.2).
pub(super) const TOKEN: Set = alphanumerics_and(b"!#$%&'*+-.^_`|~");

/// Letters, digits and `more`.
pub(super) const fn alphanumerics_and(more: &[u8]) -> Set {
    let mut set = [false; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        set[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let mut index = 0;
    while index < more.len() {
        set[more[index] as usize] = true;
        index += 1;
    }
    set
}

/// Number of bytes before the first that is not in the set.
pub(super) fn prefix_length(bytes: &[u8], set: &Set) -> usize {
    let end = bytes.iter().position(|byte| !set[usize::from(*byte)]);
    end.unwrap_or(bytes.len())
}

/// Whether it is no control character but a tab, as bytes of fields' values and of chunk extensions must be (RFC 9110, section 5.5).
pub(super) fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}

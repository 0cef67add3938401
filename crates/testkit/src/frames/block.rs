//! Field lines of header blocks (RFC 7541), without Huffman coding.

/// The block of `:status: 200` alone: index 8 of the static table.
pub const STATUS_200: &[u8] = &[0x88];

/// A literal field line that is not added to the table (RFC 7541, section 6.2.2).
#[must_use]
pub fn field(name: &str, value: &str) -> Vec<u8> {
    literal(0x00, name, value)
}

/// A literal field line that is added to the table (RFC 7541, section 6.2.1).
#[must_use]
pub fn added_field(name: &str, value: &str) -> Vec<u8> {
    literal(0x40, name, value)
}

/// A field line of either table (RFC 7541, section 6.1). The newest entry of the dynamic table is 62.
#[must_use]
pub fn indexed_field(index: usize) -> Vec<u8> {
    integer(0x80, 7, index)
}

/// A change of the size of the dynamic table (RFC 7541, section 6.3).
#[must_use]
pub fn table_size(bytes: usize) -> Vec<u8> {
    integer(0x20, 5, bytes)
}

/// An integer with a prefix of `bits` bits below the bits of `first` (RFC 7541, section 5.1).
#[must_use]
pub fn integer(first: u8, bits: u8, value: usize) -> Vec<u8> {
    let prefix_max = (1_usize << bits) - 1;
    let low = |value: usize| u8::try_from(value & 0xff).expect("one byte");
    if value < prefix_max {
        return vec![first | low(value)];
    }
    let mut bytes = vec![first | low(prefix_max)];
    let mut rest = value - prefix_max;
    while rest >= 128 {
        bytes.push(0x80 | low(rest & 0x7f));
        rest >>= 7;
    }
    bytes.push(low(rest));
    bytes
}

fn literal(first: u8, name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![first];
    for text in [name, value] {
        bytes.extend(integer(0x00, 7, text.len()));
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_the_standard() {
        // RFC 7541, appendix C.1.
        assert_eq!(integer(0, 5, 10), [0x0a]);
        assert_eq!(integer(0, 5, 1337), [0x1f, 0x9a, 0x0a]);
        assert_eq!(integer(0, 8, 42), [0x2a]);
    }

    #[test]
    fn fields_are_those_of_the_standard() {
        // RFC 7541, appendix C.2.1.
        let expected = b"\x40\x0acustom-key\x0dcustom-header";
        assert_eq!(added_field("custom-key", "custom-header"), expected);
        assert_eq!(indexed_field(8), STATUS_200);
        assert_eq!(table_size(256), [0x3f, 0xe1, 0x01]);
    }
}

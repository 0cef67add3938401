//! Random UUIDs as text. Pure: random bits come from the caller.

use super::prepared::UUID_LENGTH;

/// RFC 9562, section 5.4: random except for the version and the variant.
pub(crate) fn uuid(high: u64, low: u64) -> [u8; UUID_LENGTH] {
    let random = (u128::from(high) << 64) | u128::from(low);
    let bits = (random & !(0xf << 76) & !(0b11 << 62)) | (4 << 76) | (0b10 << 62);
    let mut text = [b'-'; UUID_LENGTH];
    let mut position = 0;
    for (index, byte) in bits.to_be_bytes().into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            position += 1;
        }
        for digit in [byte >> 4, byte & 15] {
            text[position] = b"0123456789abcdef"[usize::from(digit)];
            position += 1;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::uuid;

    #[test]
    fn uuids_have_their_form_and_differ() {
        let check = |high, low, expected: &str| {
            assert_eq!(String::from_utf8_lossy(&uuid(high, low)), expected);
        };
        check(0, 0, "00000000-0000-4000-8000-000000000000");
        check(u64::MAX, u64::MAX, "ffffffff-ffff-4fff-bfff-ffffffffffff");
        check(
            0x0123_4567_89ab_cdef,
            0x0123_4567_89ab_cdef,
            "01234567-89ab-4def-8123-456789abcdef",
        );
    }
}

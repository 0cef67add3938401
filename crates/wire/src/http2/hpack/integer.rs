//! Integers with a prefix of some bits (RFC 7541, section 5.1).

use super::HpackError;

/// More than any length or index has.
const MOST: usize = 1 << 28;

/// Takes the integer at the front of `block`, whose prefix has `bits` bits.
///
/// # Errors
/// If it is not complete, or above 2^28.
#[inline]
pub(super) fn take(block: &mut &[u8], bits: u32) -> Result<usize, HpackError> {
    let (&first, rest) = block.split_first().ok_or(HpackError::Truncated)?;
    *block = rest;
    let most = (1 << bits) - 1;
    let prefix = usize::from(first) & most;
    if prefix < most {
        return Ok(prefix);
    }
    take_rest(block, prefix)
}

fn take_rest(block: &mut &[u8], prefix: usize) -> Result<usize, HpackError> {
    let mut value = prefix;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = block.split_first().ok_or(HpackError::Truncated)?;
        *block = rest;
        value += usize::from(byte & 0x7f) << shift;
        if value > MOST {
            return Err(HpackError::Integer);
        }
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(HpackError::Integer)
}

/// Appends an integer whose prefix has `bits` bits, below the bits of `high`.
pub(super) fn put(out: &mut Vec<u8>, high: u8, bits: u32, value: usize) {
    let most = (1 << bits) - 1;
    if value < most {
        out.push(high | value as u8);
        return;
    }
    out.push(high | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_standard_are_read_and_written() {
        // RFC 7541, appendix C.1.
        let check = |bits, value, bytes: &[u8]| {
            let mut out = Vec::new();
            put(&mut out, 0, bits, value);
            assert_eq!(out, bytes);
            let mut rest = bytes;
            assert_eq!(take(&mut rest, bits), Ok(value));
            assert_eq!(rest, []);
        };
        check(5, 10, &[10]);
        check(5, 1_337, &[31, 154, 10]);
        check(8, 42, &[42]);
        check(5, 31, &[31, 0]);
        check(7, MOST, &[127, 0x81, 0xff, 0xff, 0x7f]);
    }

    #[test]
    fn long_and_truncated_integers_are_refused() {
        let check = |mut bytes: &[u8], error| assert_eq!(take(&mut bytes, 5), Err(error));
        check(&[], HpackError::Truncated);
        check(&[31], HpackError::Truncated);
        check(&[31, 0x80], HpackError::Truncated);
        check(&[31, 0xff, 0xff, 0xff, 0xff, 0x7f], HpackError::Integer);
        check(
            &[31, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
            HpackError::Integer,
        );
    }
}

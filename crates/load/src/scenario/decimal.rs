//! Numbers in decimal.

/// Appends a number in decimal.
pub(crate) fn decimal(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let (mut left, mut start) = (number, digits.len());
    loop {
        start -= 1;
        digits[start] = b'0' + u8::try_from(left % 10).unwrap_or(0);
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

//! Checks whether the bytes of an unquoted value are a number or a boolean of line protocol, without parsing floats.

use super::line::RawValue;

/// Length up to which a float without an exponent is certainly finite.
const FINITE_FOR_SURE_BYTES: usize = 300;

/// Checks an unquoted field value; `Err` is the message.
pub(super) fn check_value(value: &[u8]) -> Result<(), &'static str> {
    let Some((&last, digits)) = value.split_last() else {
        return Err("expected a field value");
    };
    match last {
        b'0'..=b'9' | b'.' => check_float(value),
        b'i' => integer(digits).map(drop),
        b'u' => parse_unsigned(digits).map(drop),
        _ => boolean(value).map(drop).ok_or(NOT_A_VALUE),
    }
}

/// Where the number at `start` ends, if it is one that cannot be out of range: `-12.5`, `12i` or `12u` with few digits. The caller
/// checks what follows.
#[inline]
pub(super) fn plain_end(text: &[u8], start: usize) -> Option<usize> {
    /// This many decimal digits fit every type.
    const DIGITS_MAX: usize = 18;
    let digits = start + usize::from(text.get(start) == Some(&b'-'));
    let mut end = digits_end(text, digits);
    if end == digits || end - digits > DIGITS_MAX {
        return None;
    }
    match text.get(end) {
        Some(b'.') => {
            let fraction = end + 1;
            end = digits_end(text, fraction);
            (end - fraction <= DIGITS_MAX).then_some(end)
        }
        Some(b'i') => Some(end + 1),
        Some(b'u') => (digits == start).then_some(end + 1),
        _ => Some(end),
    }
}

#[inline]
fn digits_end(text: &[u8], mut position: usize) -> usize {
    while text.get(position).is_some_and(u8::is_ascii_digit) {
        position += 1;
    }
    position
}

/// The value, which [`check_value`] accepted.
pub(super) fn value(raw: &str) -> RawValue<'_> {
    let bytes = raw.as_bytes();
    let digits = &bytes[..bytes.len().saturating_sub(1)];
    let result = match bytes.last() {
        Some(b'i') => integer(digits).ok().map(RawValue::Integer),
        Some(b'u') => parse_unsigned(digits).ok().map(RawValue::Unsigned),
        Some(b'0'..=b'9' | b'.') => raw.parse().ok().map(RawValue::Float),
        _ => boolean(bytes).map(RawValue::Boolean),
    };
    result.expect("the scan took only lines whose values it had checked")
}

const NOT_A_VALUE: &str =
    "expected a float, an integer with i or u, a boolean or a text in double quotes";
const NOT_AN_INTEGER: &str = "expected digits before the i of an integer";
const NOT_AN_UNSIGNED: &str = "expected digits without a sign before the u of an unsigned integer";

/// A number of digits with an optional minus that fits 64 bits.
pub(super) fn integer(digits: &[u8]) -> Result<i64, &'static str> {
    const BEYOND: &str = "expected an integer from -9223372036854775808 to 9223372036854775807";
    let (is_negative, digits) = match digits.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, digits),
    };
    let size = magnitude(digits, NOT_AN_INTEGER, BEYOND)?;
    if is_negative {
        0_i64.checked_sub_unsigned(size).ok_or(BEYOND)
    } else {
        i64::try_from(size).map_err(|_| BEYOND)
    }
}

fn parse_unsigned(digits: &[u8]) -> Result<u64, &'static str> {
    magnitude(
        digits,
        NOT_AN_UNSIGNED,
        "expected an unsigned integer up to 18446744073709551615",
    )
}

fn magnitude(
    digits: &[u8],
    not_digits: &'static str,
    beyond: &'static str,
) -> Result<u64, &'static str> {
    /// This many decimal digits cannot overflow 64 bits.
    const SAFE_DIGITS: usize = 19;
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(not_digits);
    }
    if digits.len() <= SAFE_DIGITS {
        return Ok(digits
            .iter()
            .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')));
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        sum.checked_mul(10)
            .and_then(|sum| sum.checked_add(u64::from(digit - b'0')))
            .ok_or(beyond)
    })
}

fn boolean(value: &[u8]) -> Option<bool> {
    match value {
        b"t" | b"T" | b"true" | b"True" | b"TRUE" => Some(true),
        b"f" | b"F" | b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

/// `-1.5e+3`: an optional minus, digits with at most one point among or around them, an optional exponent.
fn check_float(value: &[u8]) -> Result<(), &'static str> {
    let mut position = usize::from(value[0] == b'-');
    let whole = digits_from(value, position);
    position += whole;
    let mut fraction = 0;
    if value.get(position) == Some(&b'.') {
        fraction = digits_from(value, position + 1);
        position += 1 + fraction;
    }
    if whole + fraction == 0 {
        return Err(NOT_A_VALUE);
    }
    let has_exponent = matches!(value.get(position), Some(b'e' | b'E'));
    if has_exponent {
        position += 1;
        position += usize::from(matches!(value.get(position), Some(b'+' | b'-')));
        let exponent = digits_from(value, position);
        if exponent == 0 {
            return Err(NOT_A_VALUE);
        }
        position += exponent;
    }
    if position != value.len() {
        return Err(NOT_A_VALUE);
    }
    if (has_exponent || value.len() > FINITE_FOR_SURE_BYTES) && !is_finite(value) {
        return Err("expected a float within the range of 64 bits");
    }
    Ok(())
}

fn digits_from(value: &[u8], start: usize) -> usize {
    digits_end(value, start) - start
}

fn is_finite(value: &[u8]) -> bool {
    std::str::from_utf8(value)
        .ok()
        .and_then(|value| value.parse::<f64>().ok())
        .is_some_and(f64::is_finite)
}

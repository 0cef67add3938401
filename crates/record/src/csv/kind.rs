//! The type of a column: that of all its cells.

use crate::{Decimal, FieldValue, field_types::is_exact, line_protocol};

/// The type of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// From 0, within the range of integers with a sign.
    Natural,
    Integer,
    /// Integers from 0, some beyond those with a sign.
    Unsigned,
    Float,
    Boolean,
    Text,
}

impl Kind {
    /// The type of all these cells; `None` if there is none.
    pub(crate) fn of_cells<'c>(
        cells: impl Iterator<Item = &'c str>,
        decimal: Decimal,
    ) -> Option<Self> {
        cells
            .map(|cell| Self::detect(cell, decimal))
            .reduce(Self::widen)
    }

    fn detect(cell: &str, decimal: Decimal) -> Self {
        let number = number_text(cell, decimal);
        if is_identifier(cell.trim_matches(' ')) {
            Self::Text
        } else if let Ok(integer) = number.parse::<i64>() {
            if integer < 0 {
                Self::Integer
            } else {
                Self::Natural
            }
        } else if number.parse::<u64>().is_ok() {
            Self::Unsigned
        } else if line_protocol::is_float(&number) && number.contains(['.', 'e', 'E']) {
            Self::Float
        } else if boolean(cell).is_some() {
            Self::Boolean
        } else {
            Self::Text
        }
    }

    /// The type that holds both.
    fn widen(self, other: Self) -> Self {
        match (self, other) {
            (kind, another) if kind == another => kind,
            (Self::Natural, Self::Integer) | (Self::Integer, Self::Natural) => Self::Integer,
            (Self::Natural, Self::Unsigned) | (Self::Unsigned, Self::Natural) => Self::Unsigned,
            (kind, another) if kind.is_number() && another.is_number() => Self::Float,
            _ => Self::Text,
        }
    }

    pub(crate) fn is_number(self) -> bool {
        matches!(
            self,
            Self::Natural | Self::Integer | Self::Unsigned | Self::Float
        )
    }

    pub(super) fn value(self, cell: &str, decimal: Decimal) -> FieldValue {
        let number = number_text(cell, decimal);
        let value = match self {
            Self::Natural | Self::Integer => number.parse().ok().map(FieldValue::Integer),
            Self::Unsigned => number.parse().ok().map(FieldValue::Unsigned),
            Self::Float => number.parse().ok().map(FieldValue::Float),
            Self::Boolean => boolean(cell).map(FieldValue::Boolean),
            Self::Text => None,
        };
        value.unwrap_or_else(|| FieldValue::Text(cell.to_owned()))
    }
}

/// Whether the cell is an integer that no float is equal to.
pub(super) fn is_inexact_integer(cell: &str, decimal: Decimal) -> bool {
    let number = number_text(cell, decimal);
    // Fifteen digits are in every float.
    number.len() > 15
        && number
            .parse::<i128>()
            .is_ok_and(|integer| !is_exact(integer))
}

/// A number whose digits a float does not hold, and the float: of as many digits as the text has, it has others.
pub(crate) fn lossy_value(cell: &str, decimal: Decimal) -> Option<f64> {
    let number = number_text(cell, decimal);
    let (mantissa, _) = number.split_once(['e', 'E']).unwrap_or((&number, ""));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_start_matches('0');
    // Fifteen digits are in every float, and no float needs more than 767.
    if !(16..=767).contains(&digits.len()) {
        return None;
    }
    let value: f64 = number.parse().ok()?;
    let written = format!("{:.*e}", digits.len() - 1, value.abs());
    let (written, _) = written.split_once('e')?;
    (written.replace('.', "") != digits).then_some(value)
}

/// Most digits after a plus sign of an integer; more are a telephone number (ITU-T E.164).
const PLUS_DIGITS_MAX: usize = 7;

/// Whether the digits are a name that a number would not keep: a serial number such as `00123`, or a telephone number.
pub(crate) fn is_identifier(cell: &str) -> bool {
    let digits = cell.trim_start_matches(['-', '+', MINUS]);
    let is_whole = !digits.contains(['.', ',']);
    let has_leading_zero =
        digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
    is_whole && (has_leading_zero || is_telephone_number(cell))
}

/// Whether a plus sign is before so many digits that they are a telephone number.
pub(crate) fn is_telephone_number(cell: &str) -> bool {
    cell.strip_prefix('+').is_some_and(|digits| {
        digits.len() > PLUS_DIGITS_MAX && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// The spellings of line protocol, without its single small letters.
fn boolean(cell: &str) -> Option<bool> {
    match cell.trim_matches(' ') {
        "true" | "True" | "TRUE" | "T" => Some(true),
        "false" | "False" | "FALSE" | "F" => Some(false),
        _ => None,
    }
}

/// U+2212, the minus sign of typesetting.
const MINUS: char = '\u{2212}';

/// The cell with a point before its fraction, a minus of ASCII, and no plus. With a decimal comma, points must separate thousands
/// before it: a cell with a point alone is no number.
fn number_text(cell: &str, decimal: Decimal) -> std::borrow::Cow<'_, str> {
    let cell = cell.trim_matches(' ');
    let signed: std::borrow::Cow<'_, str> = match cell.strip_prefix(MINUS) {
        Some(digits) if !digits.starts_with(['-', '+']) => format!("-{digits}").into(),
        Some(_) => "".into(),
        None => match cell.strip_prefix('+') {
            Some(digits) if digits.starts_with(['-', '+']) => "".into(),
            Some(digits) => digits.into(),
            None => cell.into(),
        },
    };
    match decimal {
        Decimal::Point => signed,
        Decimal::Comma => match signed.split_once(',') {
            None if signed.contains('.') => "".into(),
            None => signed,
            Some((whole, fraction)) if !whole.contains('.') => format!("{whole}.{fraction}").into(),
            Some((whole, fraction)) if are_thousands(whole) => {
                format!("{}.{fraction}", whole.replace('.', "")).into()
            }
            Some(_) => "".into(),
        },
    }
}

/// Whether points separate groups of three digits: `1.013`.
fn are_thousands(whole: &str) -> bool {
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = digits.split('.');
    let is_first = groups
        .next()
        .is_some_and(|first| is_digits(first) && first.len() <= 3);
    is_first && groups.all(|group| is_digits(group) && group.len() == 3)
}

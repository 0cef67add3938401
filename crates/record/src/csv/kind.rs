//! The type of a column: that of all its cells.

use crate::{Decimal, FieldValue, line_protocol};

/// The type of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
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
        if number.starts_with('+') {
            return Self::Text;
        }
        if number.parse::<i64>().is_ok() {
            Self::Integer
        } else if number.parse::<u64>().is_ok() {
            Self::Unsigned
        } else if line_protocol::is_float(&number) && number.contains(['.', 'e', 'E']) {
            Self::Float
        } else if matches!(cell, "true" | "false") {
            Self::Boolean
        } else {
            Self::Text
        }
    }

    /// The type that holds both.
    fn widen(self, other: Self) -> Self {
        if self == other {
            self
        } else if self.is_number() && other.is_number() {
            Self::Float
        } else {
            Self::Text
        }
    }

    pub(crate) fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Unsigned | Self::Float)
    }

    pub(super) fn value(self, cell: &str, decimal: Decimal) -> FieldValue {
        let number = number_text(cell, decimal);
        let value = match self {
            Self::Integer => number.parse().ok().map(FieldValue::Integer),
            Self::Unsigned => number.parse().ok().map(FieldValue::Unsigned),
            Self::Float => number.parse().ok().map(FieldValue::Float),
            Self::Boolean => cell.parse().ok().map(FieldValue::Boolean),
            Self::Text => None,
        };
        value.unwrap_or_else(|| FieldValue::Text(cell.to_owned()))
    }
}

/// The cell with a point before its fraction, and without the spaces of columns of one width. With a decimal comma, a cell with a
/// point is no number: the point may separate thousands.
fn number_text(cell: &str, decimal: Decimal) -> std::borrow::Cow<'_, str> {
    let cell = cell.trim_matches(' ');
    match decimal {
        Decimal::Point => cell.into(),
        Decimal::Comma if cell.contains('.') => "".into(),
        Decimal::Comma if cell.contains(',') => cell.replacen(',', ".", 1).into(),
        Decimal::Comma => cell.into(),
    }
}

//! Which cells are numbers, and which lines after the header row are no rows because they have units in place of numbers.

use super::{
    layout,
    samples::{Sample, SampleCell},
    times,
};
use crate::{
    Decimal,
    csv::{Kind, is_identifier},
};

/// Lines after the header row that may be no rows.
const LINES_MAX: usize = 3;
/// Rows that must follow such lines: fewer do not show that a column has numbers.
const ROWS_MIN: usize = 2;

/// Lines after the header row that are no rows, such as units: where most other cells of a column are numbers, theirs are texts.
pub(super) fn lines_of_units(samples: &[Sample]) -> usize {
    let rows = samples.iter().map(|sample| sample.cells.len()).max();
    let most = rows.unwrap_or_default().saturating_sub(ROWS_MIN);
    let mut counts = (1..=most.min(LINES_MAX)).rev();
    counts
        .find(|&lines| are_units(samples, lines))
        .unwrap_or_default()
}

/// Whether the first rows, of this number, are such lines.
fn are_units(samples: &[Sample], lines: usize) -> bool {
    let numeric: Vec<&Sample> = samples
        .iter()
        .filter(|sample| are_mostly_numbers(&values(&sample.cells[lines..])))
        .collect();
    let mut rows = 0..lines;
    !numeric.is_empty()
        && rows.all(|row| has_units(&numeric, row, lines) && !has_time(samples, row))
}

/// Whether a row has units in columns of numbers, whose values begin after so many lines.
fn has_units(numeric: &[&Sample], row: usize, lines: usize) -> bool {
    let cells = || numeric.iter().map(|sample| sample.text(row));
    let is_value = |sample: &&Sample| {
        let cell = sample.text(row);
        !cell.is_empty() && values(&sample.cells[lines..]).contains(&cell)
    };
    // A row in which every number is missing is a row.
    cells().all(|cell| !is_number(cell))
        && cells().any(|cell| !cell.is_empty() && !layout::is_missing_text(cell))
        && !numeric.iter().any(is_value)
}

/// Whether a row has a cell in a column of times.
fn has_time(samples: &[Sample], row: usize) -> bool {
    let mut samples = samples.iter();
    samples.any(|sample| !sample.text(row).is_empty() && times::are_times(&sample.texts()))
}

/// The cells that have a value, as far as one knows before texts that stand for none are found.
fn values(cells: &[SampleCell]) -> Vec<&str> {
    let cells = cells.iter().map(|cell| cell.text.trim_ascii());
    cells
        .filter(|cell| !cell.is_empty() && !layout::is_missing_text(cell))
        .collect()
}

/// Whether more than half of the cells are numbers.
pub(super) fn are_mostly_numbers(cells: &[&str]) -> bool {
    2 * cells.iter().filter(|cell| is_number(cell)).count() > cells.len()
}

/// Whether this is a number for a reader, with a point or with a comma.
pub(super) fn is_number(cell: &str) -> bool {
    is_number_with(Decimal::Point, cell) || has_comma(cell) || decimal_sign(cell).is_some()
}

/// Whether somebody would take this for a number, also if no type of a field holds it.
pub(super) fn is_meant(cell: &str) -> bool {
    let is_long = cell.parse::<f64>().is_ok_and(f64::is_finite) && !is_identifier(cell);
    is_number(cell) || is_long
}

/// Whether this is a number with a decimal comma alone: it is none with a point.
pub(super) fn has_comma(cell: &str) -> bool {
    !is_number_with(Decimal::Point, cell)
        && (is_number_with(Decimal::Comma, cell) || decimal_sign(cell) == Some(Decimal::Comma))
}

/// Whether the readers take the cells for floats.
pub(super) fn are_floats(cells: &[&str], decimal: Decimal) -> bool {
    Kind::of_cells(cells.iter().copied(), decimal) == Some(Kind::Float)
}

/// Whether the readers of tables take this for a number.
pub(super) fn is_number_with(decimal: Decimal, cell: &str) -> bool {
    Kind::of_cells(std::iter::once(cell), decimal).is_some_and(Kind::is_number)
}

/// The sign before the fraction of a number whose thousands are separated by the other one: `1.013,5` and `1,013.5`.
fn decimal_sign(cell: &str) -> Option<Decimal> {
    let number = cell.strip_prefix('-').unwrap_or(cell);
    let position = number.rfind([',', '.'])?;
    let (decimal, separator) = match number.as_bytes()[position] {
        b',' => (Decimal::Comma, '.'),
        _ => (Decimal::Point, ','),
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (first, others) = number[..position].split_once(separator)?;
    let is_right = is_digits(first)
        && first.len() <= 3
        && (others.split(separator)).all(|group| is_digits(group) && group.len() == 3)
        && is_digits(&number[position + 1..]);
    is_right.then_some(decimal)
}

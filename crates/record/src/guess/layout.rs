//! The layout of a CSV file, from its first lines.

use crate::{DELIMITERS, Layout, csv::likely_delimiter};

/// Lines that are looked at.
const LINES: usize = 200;
/// Texts that stand for no value.
const MISSING: [&str; 14] = [
    "NAN",
    "NaN",
    "nan",
    "NA",
    "N/A",
    "n/a",
    "null",
    "NULL",
    "None",
    "-",
    "--",
    "?",
    "unavailable",
    "unknown",
];
/// Numbers that stand for no value if they are far from all others.
const MISSING_NUMBERS: [&str; 5] = ["-999", "-9999", "-999.0", "-999.9", "-99999"];

/// The delimiter, and the lines before the header row: it is the first line with as many cells as most lines have.
pub(super) fn layout(text: &str) -> Layout {
    let text = text.trim_start_matches('\u{feff}');
    let lines: Vec<&str> = text.split('\n').take(LINES).collect();
    // Most lines have as many cells, if the delimiter is the right one: a decimal comma is in the rows, but not in the header.
    let mut best: Option<((usize, usize), char)> = None;
    for delimiter in DELIMITERS {
        let counts: Vec<usize> = lines.iter().map(|line| cells(line, delimiter)).collect();
        let Some((width, lines_of_width)) = most_frequent(&counts) else {
            continue;
        };
        if best.is_none_or(|(most, _)| (lines_of_width, width) > most) {
            best = Some(((lines_of_width, width), delimiter));
        }
    }
    let Some(((_, width), delimiter)) = best else {
        return Layout::default();
    };
    let skip_lines = lines
        .iter()
        .position(|line| cells(line, delimiter) == width)
        .unwrap_or_default();
    let header = lines.get(skip_lines).copied().unwrap_or_default();
    Layout {
        delimiter: (likely_delimiter(header) != delimiter).then_some(delimiter),
        skip_lines,
        ..Layout::default()
    }
}

/// Cells of a line: delimiters outside of quotes, and one more; none in a blank line.
fn cells(line: &str, delimiter: char) -> usize {
    if line.trim_ascii().is_empty() {
        return 0;
    }
    let mut is_quoted = false;
    let mut count = 1;
    for character in line.chars() {
        if character == '"' {
            is_quoted = !is_quoted;
        } else if character == delimiter && !is_quoted {
            count += 1;
        }
    }
    count
}

/// The number above one that occurs most, and how often.
fn most_frequent(counts: &[usize]) -> Option<(usize, usize)> {
    let often = |count: usize| counts.iter().filter(|&&other| other == count).count();
    let above_one = counts.iter().copied().filter(|&count| count > 1);
    above_one
        .map(|count| (count, often(count)))
        .max_by_key(|&(count, often)| (often, count))
}

/// The texts among the cells of a column of numbers that stand for no value.
pub(super) fn missing_texts(cells: &[&str], is_number: impl Fn(&str) -> bool) -> Vec<String> {
    let numbers = cells.iter().filter(|cell| is_number(cell)).count();
    let mut found: Vec<String> = Vec::new();
    // Half of the cells must be numbers, or the texts are the values.
    if numbers * 2 <= cells.len() {
        return found;
    }
    let smallest = cells
        .iter()
        .filter(|cell| !MISSING_NUMBERS.contains(cell))
        .filter_map(|cell| cell.replacen(',', ".", 1).parse::<f64>().ok())
        .fold(f64::INFINITY, f64::min);
    let is_far = smallest.is_finite() && smallest > -500.0;
    for cell in cells {
        let is_mark = is_missing_text(cell) || (MISSING_NUMBERS.contains(cell) && is_far);
        if is_mark && !found.iter().any(|known| known == cell) {
            found.push((*cell).to_owned());
        }
    }
    found
}

/// Whether a text stands for no value where other cells are numbers.
pub(super) fn is_missing_text(cell: &str) -> bool {
    MISSING.contains(&cell)
}

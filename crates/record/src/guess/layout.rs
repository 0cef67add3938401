//! The layout of a CSV file, from its first lines.

use crate::{DELIMITERS, Layout, csv::likely_delimiter};

/// Rows that are looked at.
const ROWS: usize = 200;
/// Most lines of a row with line ends in quotes.
const LINES_OF_ROW: usize = 8;
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
    let rows = first_rows(text);
    // Most rows have as many cells, if the delimiter is the right one: a decimal comma is in the rows, but not in the header.
    let mut best: Option<((usize, usize), char)> = None;
    for delimiter in DELIMITERS {
        let counts: Vec<usize> = rows.iter().map(|row| cells(row.text, delimiter)).collect();
        let Some((width, rows_of_width)) = most_frequent(&counts) else {
            continue;
        };
        if best.is_none_or(|(most, _)| (rows_of_width, width) > most) {
            best = Some(((rows_of_width, width), delimiter));
        }
    }
    let Some(((_, width), delimiter)) = best else {
        return Layout::default();
    };
    let header = rows.iter().find(|row| cells(row.text, delimiter) == width);
    // Without a delimiter the reader looks at the header's first line.
    let first_line = header.and_then(|row| row.text.lines().next());
    let likely = likely_delimiter(first_line.unwrap_or_default());
    Layout {
        delimiter: (likely != delimiter).then_some(delimiter),
        skip_lines: header.map_or(0, |row| row.lines_before),
        ..Layout::default()
    }
}

/// A row, which has several lines if it has line ends in quotes.
struct Row<'a> {
    text: &'a str,
    lines_before: usize,
}

fn first_rows(text: &str) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let (mut rest, mut lines_before) = (text, 0);
    while rows.len() < ROWS && !rest.is_empty() {
        let (text, after) = rest.split_at(row_end(rest));
        rows.push(Row { text, lines_before });
        lines_before += 1 + text.matches('\n').count();
        rest = after.strip_prefix('\n').unwrap_or(after);
    }
    rows
}

/// Where the first row ends: at the first line end outside of quotes, or at the first of all if there is none within a few lines.
fn row_end(text: &str) -> usize {
    let (mut is_quoted, mut begins_cell) = (false, true);
    let lines_end = text.match_indices('\n').nth(LINES_OF_ROW - 1);
    let lines = &text[..lines_end.map_or(text.len(), |(at, _)| at + 1)];
    for (at, character) in lines.char_indices() {
        match character {
            '"' => is_quoted = !is_quoted && begins_cell,
            '\n' if !is_quoted => return at,
            _ => {}
        }
        begins_cell = DELIMITERS.contains(&character);
    }
    if !is_quoted && lines.len() == text.len() {
        return text.len();
    }
    text.find('\n').unwrap_or(text.len())
}

/// Cells of a row: delimiters outside of quotes, and one more; none in a blank one.
fn cells(row: &str, delimiter: char) -> usize {
    if row.trim_ascii().is_empty() {
        return 0;
    }
    let mut is_quoted = false;
    let mut count = 1;
    for character in row.chars() {
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
    // Most other cells must be numbers, and a quarter of all, or the texts are the values.
    let others = cells.iter().filter(|cell| !is_missing_text(cell)).count();
    if numbers * 2 <= others || numbers * 4 < cells.len() {
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

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
    let comment = comment(text);
    let rows = first_rows(text, comment);
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
    let comment = comment.map(str::to_owned);
    let Some(((_, width), delimiter)) = best else {
        return Layout {
            comment,
            ..Layout::default()
        };
    };
    let header = header(&rows, delimiter, width);
    // Without a delimiter the reader looks at the header's first line.
    let first_line = header.and_then(|row| row.text.lines().next());
    let likely = likely_delimiter(first_line.unwrap_or_default());
    Layout {
        delimiter: (likely != delimiter).then_some(delimiter),
        // Comments and blank lines above the header row are left out anyway.
        skip_lines: header
            .filter(|row| !row.is_first)
            .map_or(0, |row| row.lines_before),
        comment,
        ..Layout::default()
    }
}

/// The header row: the first one as wide as most, or the one above it, if each row ends in a delimiter that the header row lacks.
fn header<'r, 'a>(rows: &'r [Row<'a>], delimiter: char, width: usize) -> Option<&'r Row<'a>> {
    let is_wide = |row: &&Row<'_>| cells(row.text, delimiter) == width;
    let first = rows.iter().position(|row| is_wide(&row))?;
    let ends_in_delimiter = |row: &Row<'_>| row.text.trim_end_matches('\r').ends_with(delimiter);
    let above = first.checked_sub(1).map(|above| &rows[above]);
    let above = above.filter(|row| {
        cells(row.text, delimiter) + 1 == width
            && !ends_in_delimiter(row)
            && rows.iter().filter(is_wide).all(ends_in_delimiter)
    });
    above.or(rows.get(first))
}

/// What comments begin with.
const COMMENTS: [&str; 3] = ["#", "//", "% "];

/// What lines begin with that are comments: some of the first lines do, but fewer than half of them, unless they are all at the top.
fn comment(text: &str) -> Option<&'static str> {
    let lines: Vec<&str> = (text.lines())
        .filter(|line| !line.trim_ascii().is_empty())
        .take(ROWS)
        .collect();
    COMMENTS
        .into_iter()
        .find(|start| begins_comments(start, &lines))
}

fn begins_comments(start: &str, lines: &[&str]) -> bool {
    let is_comment = |line: &&&str| line.starts_with(start);
    let count = lines.iter().filter(is_comment).count();
    let at_top = lines.iter().take_while(is_comment).count();
    count > 0 && count < lines.len() && (count == at_top || 2 * count < lines.len())
}

/// The names of columns in the last comment above the first row, if it has as many cells as the rows.
pub(super) fn names_in_comment(text: &str, layout: &Layout, width: usize) -> Option<Vec<String>> {
    let comment = layout.comment.as_deref()?;
    let lines = text.lines().filter(|line| !line.trim_ascii().is_empty());
    let line = lines.take_while(|line| line.starts_with(comment)).last()?;
    let delimiter = layout.delimiter.unwrap_or_else(|| likely_delimiter(line));
    let names = line[comment.len()..].split(delimiter);
    let mut names: Vec<String> = names
        .map(|name| name.trim().trim_matches('"').to_owned())
        .collect();
    if let Some(first) = names.first_mut()
        && first.is_empty()
    {
        comment.clone_into(first);
    }
    let is_right = names.len() == width && width > 1 && names.iter().all(|name| !name.is_empty());
    is_right.then_some(names)
}

/// Lines after the header row that are comments.
pub(super) fn count_comments(text: &str, layout: &Layout) -> usize {
    let Some(comment) = layout.comment.as_deref() else {
        return 0;
    };
    let lines = text.lines().skip(layout.skip_lines);
    let lines = lines.skip_while(|line| line.starts_with(comment) || line.trim_ascii().is_empty());
    lines.filter(|line| line.starts_with(comment)).count()
}

/// A row, which has several lines if it has line ends in quotes.
struct Row<'a> {
    text: &'a str,
    lines_before: usize,
    /// Only blank lines and comments are above it.
    is_first: bool,
}

/// The first rows, without comments.
fn first_rows<'a>(text: &'a str, comment: Option<&str>) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    let (mut rest, mut lines_before, mut is_first) = (text, 0, true);
    while rows.len() < ROWS && !rest.is_empty() {
        if let Some(comment) = comment
            && rest.starts_with(comment)
        {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
            lines_before += 1;
            continue;
        }
        let (text, after) = rest.split_at(row_end(rest));
        rows.push(Row {
            text,
            lines_before,
            is_first: is_first && comment.is_some(),
        });
        is_first &= text.trim_ascii().is_empty();
        lines_before += 1 + text.matches('\n').count();
        rest = after.strip_prefix('\n').unwrap_or(after);
    }
    rows
}

/// Where the first row ends: at the first line end outside of quotes, or at the first of all if there is none within a few lines.
fn row_end(text: &str) -> usize {
    let (mut is_quoted, mut begins_cell) = (false, true);
    let lines_end = text.match_indices('\n').nth(LINES_OF_ROW - 1);
    let lines = &text[..lines_end.map_or(text.len(), |(offset, _)| offset + 1)];
    for (offset, character) in lines.char_indices() {
        match character {
            '"' => is_quoted = !is_quoted && begins_cell,
            '\n' if !is_quoted => return offset,
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
    let mut marks: Vec<String> = Vec::new();
    // Most other cells must be numbers, and a quarter of all, or the texts are the values.
    let others = cells.iter().filter(|cell| !is_missing_text(cell)).count();
    if numbers * 2 <= others || numbers * 4 < cells.len() {
        return marks;
    }
    let smallest = cells
        .iter()
        .filter(|cell| !MISSING_NUMBERS.contains(cell))
        .filter_map(|cell| cell.replacen(',', ".", 1).parse::<f64>().ok())
        .fold(f64::INFINITY, f64::min);
    let is_far = smallest.is_finite() && smallest > -500.0;
    for cell in cells {
        let is_mark = is_missing_text(cell) || (MISSING_NUMBERS.contains(cell) && is_far);
        if is_mark && !marks.iter().any(|known| known == cell) {
            marks.push((*cell).to_owned());
        }
    }
    marks
}

/// Whether a text stands for no value where other cells are numbers.
pub(super) fn is_missing_text(cell: &str) -> bool {
    MISSING.contains(&cell)
}

//! Mistakes of syntax outside { } and [ ]: a missing space or colon, a second `: `, wrong indentation.

use super::{
    YamlError,
    explain::{Stop, mistake},
    scan::Place,
};

pub(super) fn explain_block(stop: &Stop<'_>) -> Option<YamlError> {
    let is_about = |kind: &str| stop.info.contains(kind);
    let line = stop.place.line;
    if is_about("sequence entries are not allowed") {
        let error = mistake(stop.place, "a list begins in the line of its key");
        return Some(error.with_expected("the list on the next lines, or the text in quotes"));
    }
    if is_about("simple key expect") {
        let above = stop.line_above(line)?;
        return missing_space(stop, line).or_else(|| Some(no_key(stop, above)));
    }
    if is_about("mapping values are not allowed") {
        if has_key(&stop.lead()) {
            let error = mistake(stop.place, "a second `: ` in a plain value");
            return Some(error.with_expected("the value in quotes"));
        }
        return missing_space(stop, line).or_else(|| key_in_value(stop));
    }
    if is_about("expected key") || is_about("expected '-' indicator") {
        return after_bracket(stop).or_else(|| indentation(stop));
    }
    is_about("expected <document start>")
        .then(|| less_than_first(stop))
        .flatten()
}

/// The first of the lines right above `line` that are `key:value`.
fn missing_space(stop: &Stop<'_>, line: usize) -> Option<YamlError> {
    let mut error = None;
    let mut above = line;
    while let Some(next) = stop.line_above(above) {
        let Some((key, column)) = key_without_space(stop.line(next)) else {
            break;
        };
        let place = Place { line: next, column };
        error = Some(mistake(place, format!("a space is missing after `{key}`")));
        above = next;
    }
    error
}

/// `key:` of `key:value`, or `-` of `-value`, and the column (from 1) where the space belongs.
fn key_without_space(line: &str) -> Option<(String, usize)> {
    let text = after_dashes(line);
    let start = line.chars().count() - text.chars().count();
    if has_key(text) {
        return None;
    }
    let item = line.trim_start_matches(' ').strip_prefix('-');
    if item.is_some_and(|item| item.starts_with(char::is_alphabetic)) {
        return Some(("-".to_owned(), start + 2));
    }
    let end = text.find(':')?;
    let (key, rest) = (&text[..end], &text[end + 1..]);
    let is_name = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || "_-.".contains(c));
    let is_missing = is_name && !rest.is_empty() && !rest.starts_with("//");
    is_missing.then(|| (format!("{key}:"), start + key.chars().count() + 2))
}

/// A line of a mapping that is no key with a value.
fn no_key(stop: &Stop<'_>, line: usize) -> YamlError {
    let text = stop.line(line);
    let column = indent_of(text) + 1;
    let error = mistake(
        Place { line, column },
        "this line has no `key: `, and the lines around it have",
    );
    YamlError {
        width: text.trim().chars().count().max(1),
        ..error.with_expected("a key with its value, or the text in quotes")
    }
}

/// A key on a line that continues the value of the line above.
fn key_in_value(stop: &Stop<'_>) -> Option<YamlError> {
    let line = stop.place.line;
    let above = stop.line_above(line)?;
    let text = stop.line(above);
    if !has_key(text) {
        return Some(no_key(stop, above));
    }
    let wanted = text.chars().count() - after_dashes(text).chars().count();
    let is = indent_of(stop.line(line));
    let place = Place {
        line,
        column: is + 1,
    };
    let what = format!(
        "this line is indented by {}, and the key of line {above} has a value already",
        spaces(is)
    );
    let expected = format!("{}, or no value in line {above}", spaces(wanted));
    Some(mistake(place, what).with_expected(expected))
}

fn after_bracket(stop: &Stop<'_>) -> Option<YamlError> {
    let lead = stop.lead();
    let last = lead.trim_end().chars().next_back()?;
    matches!(last, ']' | '}').then(|| {
        let error = mistake(stop.place, format!("text follows the closing {last}"));
        error.with_expected("the whole text in quotes")
    })
}

/// A line that fits no level above it, or is an item among keys, or a key among items.
fn indentation(stop: &Stop<'_>) -> Option<YamlError> {
    let line = stop.place.line;
    let text = stop.line(line);
    let is = indent_of(text);
    let place = Place {
        line,
        column: is + 1,
    };
    let (mut lower, mut higher) = (None, None);
    let mut above = line;
    while let Some(next) = stop.line_above(above) {
        above = next;
        let before = stop.line(next);
        let key = before.chars().count() - after_dashes(before).chars().count();
        if key > is {
            higher = Some(key);
        }
        let other = indent_of(stop.line(next));
        if other == is {
            let is_item = text.trim_start().starts_with("- ");
            let what = match (is_item, stop.info.contains("expected '-'")) {
                (true, false) => "a list item stands among the keys of a mapping",
                (false, true) => "a key stands among the items of a list",
                _ => return None,
            };
            return Some(
                mistake(place, what).with_expected("all keys, or all items, at one indentation"),
            );
        }
        if other < is {
            lower = Some(other);
            break;
        }
        higher = Some(other);
    }
    let what = format!(
        "this line is indented by {}, as no line above that it could belong to",
        spaces(is)
    );
    let wanted = match (lower, higher) {
        (Some(lower), Some(higher)) => format!("{lower} or {}", spaces(higher)),
        (Some(indent), None) | (None, Some(indent)) => spaces(indent),
        (None, None) => return None,
    };
    Some(mistake(place, what).with_expected(wanted))
}

/// The first line is indented, and this one less.
fn less_than_first(stop: &Stop<'_>) -> Option<YamlError> {
    let line = stop.place.line;
    let first = (1..line).find(|number| stop.has_text(*number))?;
    let wanted = indent_of(stop.line(first));
    let is = indent_of(stop.line(line));
    let place = Place {
        line,
        column: is + 1,
    };
    let what = format!(
        "this line is indented by {}, less than the first line",
        spaces(is)
    );
    (is < wanted).then(|| mistake(place, what).with_expected(spaces(wanted)))
}

/// Whether `key: ` or `key:` at the end is in the text.
fn has_key(text: &str) -> bool {
    text.contains(": ") || text.trim_end().ends_with(':')
}

fn after_dashes(line: &str) -> &str {
    let mut text = line.trim_start_matches(' ');
    while let Some(rest) = text.strip_prefix("- ") {
        text = rest.trim_start_matches(' ');
    }
    text
}

fn indent_of(line: &str) -> usize {
    line.chars().take_while(|c| *c == ' ').count()
}

fn spaces(count: usize) -> String {
    match count {
        0 => "no spaces".to_owned(),
        1 => "1 space".to_owned(),
        _ => format!("{count} spaces"),
    }
}

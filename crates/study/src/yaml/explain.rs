//! Mistakes of syntax in words that say what to change. The parser's message has the kind of the mistake, the scan has brackets
//! and quotes, the lines have the rest. What has no words here keeps the parser's.

use saphyr_parser::Marker;

use super::{
    YamlError,
    block::explain_block,
    scan::{Mark, Place, Scan, closing_sign},
};

/// Where the parser stopped, and why.
pub(super) struct Stop<'a> {
    pub lines: Vec<&'a str>,
    pub place: Place,
    pub info: &'a str,
}

impl Stop<'_> {
    /// A line counted from 1; lines that do not exist are empty.
    pub(super) fn line(&self, number: usize) -> &str {
        number
            .checked_sub(1)
            .and_then(|index| self.lines.get(index))
            .map_or("", |line| line.trim_end_matches('\r'))
    }

    /// The character at which the parser stopped.
    fn sign(&self) -> Option<char> {
        self.line(self.place.line)
            .chars()
            .nth(self.place.column - 1)
    }

    /// Its line up to there.
    pub(super) fn lead(&self) -> String {
        let line = self.line(self.place.line).chars();
        line.take(self.place.column - 1).collect()
    }

    /// The last character before that is not blank, on this line or one before.
    fn last_sign(&self) -> Option<char> {
        let on_line = self.lead().trim_end().chars().next_back();
        on_line.or_else(|| {
            let above = self.line_above(self.place.line)?;
            self.line(above).trim_end().chars().next_back()
        })
    }

    /// The next line above that is neither blank nor a comment.
    pub(super) fn line_above(&self, line: usize) -> Option<usize> {
        (1..line).rev().find(|number| self.has_text(*number))
    }

    /// Whether a line is neither blank nor a comment.
    pub(super) fn has_text(&self, line: usize) -> bool {
        let text = self.line(line).trim();
        !text.is_empty() && !text.starts_with('#')
    }
}

pub(super) fn explain(text: &str, scan: &Scan, marker: Marker, info: &str) -> YamlError {
    let stop = Stop {
        lines: text.split('\n').collect(),
        place: Place {
            line: marker.line().max(1),
            column: marker.col() + 1,
        },
        info,
    };
    bare_use(&stop)
        .or_else(|| open_sign(&stop, scan))
        .or_else(|| tab(&stop))
        .or_else(|| quotes(&stop, scan))
        .or_else(|| name_of_alias(&stop))
        .or_else(|| first_sign(&stop))
        .or_else(|| flow(&stop))
        .or_else(|| explain_block(&stop))
        .unwrap_or_else(|| mistake(stop.place, format!("not YAML: {info}")))
}

pub(super) fn mistake(place: Place, what: impl Into<String>) -> YamlError {
    YamlError {
        line: place.line,
        column: place.column,
        width: 1,
        what: what.into(),
        expected: None,
    }
}

impl YamlError {
    pub(super) fn with_expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }
}

fn bare_use(stop: &Stop<'_>) -> Option<YamlError> {
    if stop.sign() != Some('{') || !stop.lead().ends_with('$') {
        return None;
    }
    // The parser stops at the brace; the mistake begins before it.
    let place = Place {
        column: stop.place.column - 1,
        ..stop.place
    };
    let error = mistake(place, "a bare ${…} inside { } or [ ] is not YAML");
    let error = error.with_expected("\"${…}\" in quotes");
    Some(YamlError { width: 2, ..error })
}

fn open_sign(stop: &Stop<'_>, scan: &Scan) -> Option<YamlError> {
    let is_before = |mark: &Mark| mark.place <= stop.place;
    // A text that ends on the line where the parser stopped, or that it refused as a whole.
    let reached = scan.long_quotes.iter().find(|quote| {
        let ends_here = quote.end.line == stop.place.line && quote.end <= stop.place;
        quote.has_key && (ends_here || quote.open.place == stop.place)
    });
    let quote = reached
        .map(|quote| quote.open)
        .or_else(|| scan.unclosed_quote());
    if let Some(quote) = quote.filter(is_before) {
        return Some(not_closed(quote, quote.sign));
    }
    let bracket = scan.unclosed_bracket().filter(is_before)?;
    Some(not_closed(bracket, closing_sign(bracket.sign)))
}

fn not_closed(mark: Mark, end: char) -> YamlError {
    mistake(mark.place, format!("the {} is not closed", mark.sign))
        .with_expected(format!("{end} at its end"))
}

/// A tab before the text of the line where the parser stopped; of the next lines, if it stopped because of a tab.
fn tab(stop: &Stop<'_>) -> Option<YamlError> {
    let first = stop.place.line;
    let is_about_tab = stop.info.contains("tab");
    let last = if is_about_tab {
        stop.lines.len()
    } else {
        first
    };
    let mut lines = first..=last;
    let (line, column) = lines.find_map(|line| Some((line, column_of_tab(stop.line(line))?)))?;
    Some(mistake(
        Place { line, column },
        "a tab: YAML is indented by spaces",
    ))
}

/// The column of a tab that indents a line.
fn column_of_tab(line: &str) -> Option<usize> {
    let is_blank = line.trim().is_empty();
    let index = line.chars().position(|c| c != ' ')?;
    (!is_blank && line.chars().nth(index) == Some('\t')).then_some(index + 1)
}

fn quotes(stop: &Stop<'_>, scan: &Scan) -> Option<YamlError> {
    if stop.info.contains("unknown escape") {
        let error = mistake(stop.place, "an unknown escape in a text in \"…\"");
        return Some(
            error.with_expected("the text in '…', where \\ stands for itself, or \\\\ for each \\"),
        );
    }
    if !stop.info.contains("trailing content after") {
        return None;
    }
    let sign = stop.last_sign().filter(|sign| matches!(sign, '"' | '\''))?;
    let long = scan
        .long_quotes
        .iter()
        .find(|quote| quote.end.line == stop.place.line && quote.end < stop.place);
    let open = long.map_or(String::new(), |quote| {
        format!(
            ", which was opened at {}:{}",
            quote.open.place.line, quote.open.place.column
        )
    });
    let escaped = if sign == '"' { "\\\"" } else { "''" };
    let error = mistake(stop.place, format!("text follows the closing {sign}{open}"));
    Some(error.with_expected(format!(
        "the whole text in quotes, with {escaped} for each {sign} in it; in {{ }} or [ ] a comma"
    )))
}

fn name_of_alias(stop: &Stop<'_>) -> Option<YamlError> {
    let line = stop.line(stop.place.line).chars();
    let is_end = |c: &char| c.is_whitespace() || ",[]{}".contains(*c);
    let word = |skipped: usize| -> String {
        let rest = line.clone().skip(stop.place.column - 1 + skipped);
        rest.take_while(|c| !is_end(c)).collect()
    };
    if stop.info.contains("unknown anchor") {
        let name = word(1);
        let what = format!("the alias *{name} has no anchor &{name} before it");
        let error = mistake(stop.place, what);
        return Some(error.with_expected("the value written out, or the text in quotes"));
    }
    if stop.info.contains("scanning an anchor or alias") {
        let sign = stop.sign()?;
        let what = format!("a plain text cannot begin with {sign}");
        return Some(mistake(stop.place, what).with_expected("the text in quotes"));
    }
    None
}

/// A sign that no plain text begins with.
fn first_sign(stop: &Stop<'_>) -> Option<YamlError> {
    if let Some(line) = directive_above(stop) {
        let error = mistake(Place { line, column: 1 }, "a line cannot begin with %");
        return Some(error.with_expected("the text in quotes"));
    }
    let sign = stop.sign()?;
    let is_comma = sign == ',' && stop.info.contains("expected node content");
    if is_comma && stop.last_sign().is_some_and(|last| ",[{".contains(last)) {
        let error = mistake(stop.place, "a value is missing before this comma");
        return Some(error.with_expected("a value between two commas"));
    }
    if stop.info.starts_with("unexpected character") || is_comma {
        let what = format!("a plain text cannot begin with {sign}");
        return Some(mistake(stop.place, what).with_expected("the text in quotes"));
    }
    if stop.info.contains("misplaced bracket") {
        let open = if sign == ']' { '[' } else { '{' };
        let error = mistake(stop.place, format!("the {sign} closes nothing"));
        return Some(error.with_expected(format!("a {open} before it, or the text in quotes")));
    }
    if stop
        .info
        .contains("block scalar, did not find expected comment")
    {
        let what = format!("text follows the {sign} on its line");
        let error = mistake(stop.place, what);
        return Some(error.with_expected("the text on the next lines, indented, or in quotes"));
    }
    None
}

/// The line that begins with %, as only directives do, if the parser stopped because of it.
fn directive_above(stop: &Stop<'_>) -> Option<usize> {
    let is_about = ["directive", "expected <document start>"];
    let line = stop.line_above(stop.place.line + 1)?;
    let above = stop.line_above(line).unwrap_or(line);
    let is_stop = is_about.iter().any(|kind| stop.info.contains(kind));
    [line, above]
        .into_iter()
        .find(|line| is_stop && stop.line(*line).starts_with('%'))
}

/// Mistakes inside { } and [ ].
fn flow(stop: &Stop<'_>) -> Option<YamlError> {
    if stop.info.contains("only valid inside a block") {
        let error = mistake(stop.place, "an item with `- ` inside { } or [ ]");
        return Some(error.with_expected("items with commas between them"));
    }
    let is_flow = ["parsing a flow", "illegal placement of ':'"];
    if !is_flow.iter().any(|kind| stop.info.contains(kind)) {
        return None;
    }
    let lead = stop.lead();
    if stop.sign() != Some(':') {
        let error = mistake(stop.place, "a comma is missing before this");
        return Some(error.with_expected("a comma between two values"));
    }
    if !lead.contains(": ") && !lead.contains(['{', '[', ',']) {
        let line = stop.line_above(stop.place.line)?;
        let column = stop.line(line).trim_end().chars().count() + 1;
        let error = mistake(
            Place { line, column },
            "a comma is missing at the end of this line",
        );
        return Some(error.with_expected("a comma between two values"));
    }
    let error = mistake(stop.place, "a second `: ` in a plain value");
    Some(error.with_expected("the value in quotes, or a comma before the next key"))
}

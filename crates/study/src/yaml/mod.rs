//! The events of a YAML text, for all that read YAML: studies, systems, scenarios, OpenAPI documents. A flow collection or a
//! quoted text over several lines may be indented as it likes, as other readers of YAML take it; mistakes of syntax have words of
//! their own. What the events mean is left to the readers.

mod block;
mod explain;
mod scan;

use std::{borrow::Cow, fmt};

use saphyr_parser::{Event, Marker, Parser, ScanError, Span};

use scan::Scan;

/// A mistake of syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// Characters that it covers, at least 1.
    pub width: usize,
    pub what: String,
    /// What would have been right.
    pub expected: Option<String>,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.what)?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        Ok(())
    }
}

impl std::error::Error for YamlError {}

/// A text that was prepared for the parser.
pub struct YamlText<'a> {
    text: &'a str,
    padded: Cow<'a, str>,
    scan: Scan,
}

impl<'a> YamlText<'a> {
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        let scan = Scan::new(text);
        let padded = pad(text, scan.pads());
        Self { text, padded, scan }
    }

    /// The events with their positions in the text; the last one may be a mistake.
    pub fn events(&self) -> impl Iterator<Item = Result<(Event<'_>, Span), YamlError>> {
        Parser::new_from_str(&self.padded).map(|event| {
            let (event, span) = event.map_err(|error| self.explain(&error))?;
            Ok((event, self.original_span(span)))
        })
    }

    fn original_span(&self, span: Span) -> Span {
        let start = self.original_place(span.start);
        Span::new(start, self.original_place(span.end))
    }

    fn explain(&self, error: &ScanError) -> YamlError {
        let place = self.original_place(*error.marker());
        explain::explain(self.text, &self.scan, place, error.info())
    }

    /// Line and column in the text as it was given; the index keeps that of the padded text.
    fn original_place(&self, marker: Marker) -> Marker {
        let pad = self.scan.pads().get(&marker.line()).copied();
        let column = marker.col().saturating_sub(pad.unwrap_or(0));
        Marker::new(marker.index(), marker.line(), column)
    }
}

/// The text with spaces before the lines (counted from 1) that need them.
fn pad<'a>(text: &'a str, pads: &scan::Pads) -> Cow<'a, str> {
    if pads.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut padded = String::with_capacity(text.len() + pads.values().sum::<usize>());
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let pad = pads.get(&number).copied().unwrap_or(0);
        padded.extend(std::iter::repeat_n(' ', pad));
        padded.push_str(line);
    }
    Cow::Owned(padded)
}

#[cfg(test)]
mod tests;

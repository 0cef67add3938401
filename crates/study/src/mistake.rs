//! Mistakes of the user with their positions, and how they are shown. Knows nothing of studies or systems.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Most mistakes that are shown at once; a last line has the number of the others.
pub(crate) const MAX_MISTAKES: usize = 100;
/// Most characters of a line that are shown.
const MAX_SHOWN: usize = 160;
/// Characters shown before the caret if a long line is cut.
const SHOWN_BEFORE: usize = 60;
/// Most cells a mistake names by number.
const MAX_CELLS_NAMED: usize = 8;

/// A text and the name it has in messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// As the user typed it, e.g. `studies/ingest.yaml`.
    pub name: String,
    pub text: String,
}

/// What is wrong, or what was expected, without a position: of what is in no text of the study.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Problem(pub String);

/// Every mistake found in a file, sorted by position; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mistakes(pub Vec<Mistake>);

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(f, "{gap}{mistake}")?;
        }
        Ok(())
    }
}

/// One mistake of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// [`Source::name`].
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// In characters, counted from 1.
    pub column: u32,
    pub what: String,
    /// What would have been right.
    pub expected: Option<String>,
    /// The nearest right word.
    pub did_you_mean: Option<String>,
    /// The line of the text, cut if it is long, and carets under the mistake.
    pub excerpt: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: {}",
            self.file, self.line, self.column, self.what
        )?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        if let Some(word) = &self.did_you_mean {
            write!(f, "; did you mean \"{word}\"?")?;
        }
        writeln!(f)?;
        f.write_str(&self.excerpt)
    }
}

/// A position in a text; positions are ordered as in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    /// Which of the texts that were read, counted from 0.
    pub file: u16,
    pub line: u32,
    pub column: u32,
    /// Characters the caret covers, at least 1.
    pub width: u32,
}

impl Position {
    pub(crate) const START: Self = Self {
        file: 0,
        line: 1,
        column: 1,
        width: 1,
    };

    /// File, line, column and width.
    pub(crate) fn numbers(self) -> [u32; 4] {
        [self.file.into(), self.line, self.column, self.width]
    }

    /// The position that has these [`Self::numbers`].
    pub(crate) fn from_numbers([file, line, column, width]: [u32; 4]) -> Self {
        Self {
            file: u16::try_from(file).expect("files are counted by 16 bits"),
            line,
            column,
            width,
        }
    }
}

/// A mistake that is not yet attached to its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub position: Position,
    pub what: String,
    pub expected: Option<String>,
    pub meant: Option<String>,
}

impl Finding {
    pub(crate) fn new(position: Position, what: impl Into<String>) -> Self {
        Self {
            position,
            what: what.into(),
            expected: None,
            meant: None,
        }
    }

    pub(crate) fn with_expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    pub(crate) fn with_suggestion(mut self, word: Option<impl Into<String>>) -> Self {
        self.meant = word.map(Into::into);
        self
    }
}

/// The findings so far: each mistake once, with the cells that have it.
#[derive(Debug, Default)]
pub(crate) struct Findings(BTreeMap<Finding, BTreeSet<u32>>);

impl Findings {
    /// A mistake of the file as a whole.
    pub(crate) fn add(&mut self, finding: Finding) {
        self.0.entry(finding).or_default();
    }

    pub(crate) fn add_all(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.add(finding));
    }

    /// Mistakes in this cell.
    pub(crate) fn add_in_cell(&mut self, cell: u32, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings {
            self.0.entry(finding).or_default().insert(cell);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether more would not be shown anyway.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() > MAX_MISTAKES
    }

    /// Attaches the findings to their files. `sources` are in the order of [`Position::file`]; `cells` is the number of all
    /// cells.
    pub(crate) fn into_mistakes(self, sources: &[Source], cells: u32) -> Mistakes {
        let mut lines: Vec<Option<Vec<&str>>> = vec![None; sources.len()];
        let count = self.0.len();
        let mut mistakes = Vec::new();
        for (finding, seen_in) in self.0.into_iter().take(MAX_MISTAKES) {
            let what = format!("{}{}", finding.what, cells_note(&seen_in, cells));
            let file = usize::from(finding.position.file);
            let lines = lines[file].get_or_insert_with(|| lines_of(&sources[file].text));
            mistakes.push(Mistake {
                what,
                ..mistake(&sources[file], lines, finding)
            });
        }
        if let (Some(last), true) = (mistakes.last(), count > MAX_MISTAKES) {
            let more = Mistake {
                what: format!("{} more mistakes are not shown", count - MAX_MISTAKES),
                expected: None,
                did_you_mean: None,
                excerpt: String::new(),
                ..last.clone()
            };
            mistakes.push(more);
        }
        Mistakes(mistakes)
    }
}

fn mistake(source: &Source, lines: &[&str], finding: Finding) -> Mistake {
    let position = clamp_position(lines, finding.position);
    let line = lines
        .get(position.line as usize - 1)
        .copied()
        .unwrap_or_default();
    Mistake {
        file: source.name.clone(),
        line: position.line,
        column: position.column,
        what: finding.what,
        expected: finding.expected,
        did_you_mean: finding.meant,
        excerpt: excerpt(line, position),
    }
}

/// If something is missing at the end, the parser reports a position on a line of its own; it is shown right after the text.
fn clamp_position(lines: &[&str], position: Position) -> Position {
    let count = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    if position.line <= count {
        return position;
    }
    let last = lines.last().map_or(0, |line| line.chars().count());
    Position {
        line: count,
        column: u32::try_from(last).unwrap_or(u32::MAX - 1) + 1,
        width: 1,
        ..position
    }
}

/// YAML ends a line at CR LF, LF or CR.
fn lines_of(text: &str) -> Vec<&str> {
    text.split('\n')
        .flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
        .collect()
}

fn cells_note(seen_in: &BTreeSet<u32>, cells: u32) -> String {
    if seen_in.is_empty() || seen_in.len() == cells as usize {
        return String::new();
    }
    let named: Vec<_> = seen_in
        .iter()
        .take(MAX_CELLS_NAMED)
        .map(u32::to_string)
        .collect();
    let more = if seen_in.len() > named.len() {
        ", …"
    } else {
        ""
    };
    let word = if seen_in.len() == 1 { "cell" } else { "cells" };
    format!(" (in {word} {}{more} of {cells})", named.join(", "))
}

fn excerpt(line: &str, position: Position) -> String {
    let column = position.column as usize - 1;
    let from = if line.chars().count() > MAX_SHOWN {
        column.saturating_sub(SHOWN_BEFORE)
    } else {
        0
    };
    let shown: String = line
        .chars()
        .skip(from)
        .take(MAX_SHOWN)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let room = shown.chars().count().saturating_sub(column - from).max(1);
    let number = position.line.to_string();
    let margin = " ".repeat(number.len());
    let lead = " ".repeat(column - from);
    let carets = "^".repeat((position.width.max(1) as usize).min(room));
    format!(
        "  {number} | {}\n  {margin} | {lead}{carets}\n",
        shown.trim_end()
    )
}

//! A chart over runs, as a plain value. The page draws it without scripts; other formats show the table next to it.

use waggle_metrics::Unit;

/// Values of runs in order of time, with levels and marks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Timeline {
    pub(crate) label: String,
    pub(crate) unit: Unit,
    /// How many there are; all places below count from 0.
    pub(crate) runs: usize,
    /// Of the axis of runs.
    pub(crate) labels: Vec<(usize, String)>,
    pub(crate) points: Vec<Point>,
    pub(crate) levels: Vec<Level>,
    pub(crate) changes: Vec<VerticalMark>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) bands: Vec<Band>,
    /// The names of the lines, for the legend; empty: there is one.
    pub(crate) lines: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    pub(crate) at: usize,
    pub(crate) line: usize,
    pub(crate) value: f64,
    pub(crate) ends: (f64, f64),
    pub(crate) is_doubtful: bool,
    pub(crate) title: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Level {
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) line: usize,
    pub(crate) value: f64,
}

/// A line before a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VerticalMark {
    pub(crate) at: usize,
    /// Of the style.
    pub(crate) class: &'static str,
    pub(crate) label: String,
    pub(crate) title: String,
}

/// A triangle below a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mark {
    pub(crate) at: usize,
    pub(crate) title: String,
}

/// Shaded runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Band {
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) title: String,
}

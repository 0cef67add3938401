//! The plan: which trial runs when. A value that can be printed before anything starts.

use std::{fmt, time::Duration};

/// One value of a factor or of a system's parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Level {
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// Anything else, durations and sizes included, as written.
    Text(String),
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Boolean(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

/// Every trial, in the order of execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub trials: Vec<PlannedTrial>,
    /// Sum of the phases whose length is known (warm-up at its longest, drain at its shortest).
    pub expected: Duration,
    /// Sum of all deadlines.
    pub at_most: Duration,
}

/// One run of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedTrial {
    /// Place in the order of execution, counted from 1.
    pub position: u32,
    /// [`crate::Cell::number`].
    pub cell: u32,
    /// Counted from 1.
    pub repetition: u32,
}

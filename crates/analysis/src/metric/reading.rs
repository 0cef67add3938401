//! What one trial has of a metric.

use waggle_stats::{Bounded, Part};

use crate::recording::histogram::as_f64;

/// What one trial has of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reading {
    Value(f64),
    /// It is known to be in this range.
    Within(Bounded),
    Share(Part),
}

impl Reading {
    /// `None` for a share of nothing.
    pub(super) fn value(self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(value),
            Self::Within(range) => Some(range.value),
            Self::Share(Part { all: 0, .. }) => None,
            Self::Share(Part { of, all }) => Some(as_f64(of) / as_f64(all)),
        }
    }

    pub(super) fn range(self) -> Option<Bounded> {
        match self {
            Self::Within(range) => Some(range),
            Self::Value(_) | Self::Share(_) => None,
        }
    }

    pub(crate) fn without_range(self) -> Self {
        match self {
            Self::Within(range) => Self::Value(range.value),
            Self::Value(_) | Self::Share(_) => self,
        }
    }

    pub(super) fn part(self) -> Option<Part> {
        match self {
            Self::Value(_) | Self::Within(_) => None,
            Self::Share(part) => Some(part),
        }
    }
}

pub(super) fn value(value: f64) -> Option<Reading> {
    Some(Reading::Value(value))
}

pub(super) fn count(count: u64) -> Option<Reading> {
    value(as_f64(count))
}

//! Whether what a report says was asked before the run, or found by looking at its results.
//!
//! A statement about what the study asks, or by default about what its load model leaves open, is one that could have come out either
//! way. Of all else a reader sees what stood out among many numbers.

use waggle_results::{AtStartInfo, FixedPart, RunInfo};

/// What is known of what was asked when the run began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskedBefore {
    /// Nothing was noted: the run is an import.
    Unknown,
    /// Question, asks and thresholds are those of the start.
    Same {
        /// Their sum.
        digest: String,
        /// The text of the study beside the results is another one.
        is_study_changed: bool,
    },
    /// These were changed after the run began.
    Changed(Vec<FixedPart>),
}

/// Where a statement comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Asked,
    Found,
}

impl AskedBefore {
    pub(crate) fn new(info: &RunInfo, study_text: &str) -> Self {
        let Some(begun) = &info.at_start else {
            return Self::Unknown;
        };
        let changes = begun.changes(&AtStartInfo::of_run(info, study_text));
        match changes.iter().all(|part| *part == FixedPart::StudyFile) {
            true => Self::Same {
                digest: begun.digest(),
                is_study_changed: !changes.is_empty(),
            },
            false => Self::Changed(changes),
        }
    }

    /// Of a statement about a metric that the study asks about, or about another one; `None`: not known. Of a study that was changed
    /// nothing is known to have been asked before.
    #[must_use]
    pub fn origin(&self, is_asked: bool) -> Option<Origin> {
        match self {
            Self::Unknown => None,
            Self::Same { .. } if is_asked => Some(Origin::Asked),
            Self::Same { .. } | Self::Changed(_) => Some(Origin::Found),
        }
    }
}

//! How many trials a study has, and what it searches for.

use serde::{Deserialize, Serialize};
use waggle_spec::LevelKind;
use waggle_study::Study;

/// The properties of a run before it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::commands::run) struct Outline {
    /// Trials of a cell; of a search the most, without those at operating points.
    pub(in crate::commands::run) repeat: u32,
    /// The most trials of a cell, if it is not `repeat`.
    pub(in crate::commands::run) repeat_max: u32,
    /// What a search maximizes.
    pub(in crate::commands::run) what: Option<LevelKind>,
}

impl Outline {
    pub(in crate::commands::run) fn from_study(study: &Study) -> Self {
        let of_search = study.search.as_ref().map(|search| search.max_trials);
        Self {
            repeat: of_search.unwrap_or(study.repeat),
            repeat_max: of_search.unwrap_or(study.repeat_max),
            what: study.search.as_ref().map(|find| find.maximize),
        }
    }

    /// `3`, or `3 to 8` if repetitions may be added.
    pub(in crate::commands::run) fn repetitions(&self) -> String {
        match self.repeat_max > self.repeat {
            true => format!("{} to {}", self.repeat, self.repeat_max),
            false => self.repeat.to_string(),
        }
    }
}

//! One entry of the folder, as the list shows it.

use serde::{Deserialize, Serialize};

/// An entry of the folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Of the entry, with replacements where it is no Unicode.
    pub(crate) name: String,
    pub(crate) content: Content,
}

/// What the entry is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Content {
    Run(Box<RunFacts>),
    /// Why no run is shown.
    Refused(String),
}

/// A run, as its own files have it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunFacts {
    pub(crate) study: String,
    pub(crate) question: String,
    /// As it was given to the run.
    pub(crate) study_file: String,
    pub(crate) system: String,
    /// `shop 1.2`, one for each component.
    pub(crate) versions: Vec<String>,
    pub(crate) host: String,
    pub(crate) waggle_version: String,
    /// RFC 3339, UTC.
    pub(crate) started_utc: String,
    pub(crate) cells: usize,
    /// Trials with a result, and planned ones.
    pub(crate) trials: usize,
    pub(crate) planned: usize,
    /// `quick`, `pilot`, or the tool that measured.
    pub(crate) kind: Option<String>,
    /// The filters that the run was begun with, `FACTOR=LEVEL`.
    pub(crate) filters: Vec<String>,
    /// What its changed version has, each as it was written: `workers=4`.
    pub(crate) changes: Vec<String>,
    /// Its two versions ran at the same time.
    pub(crate) is_duet: bool,
    /// The first sentence of its answer; `None`: it has no report.
    pub(crate) answer: Option<String>,
    /// `answered`, `failed`, `open` or `trial_failed`, as the report has it.
    pub(crate) conclusion: Option<String>,
    /// The verdicts of its cells, with how many have each.
    pub(crate) verdicts: Vec<(String, usize)>,
    pub(crate) notes: usize,
    /// A note accepts its level.
    pub(crate) is_accepted: bool,
    /// It offers its steps, or was killed while it did.
    pub(crate) has_socket: bool,
    /// A waggle writes to it; not kept in the index.
    #[serde(skip)]
    pub(crate) is_running: bool,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Running,
    Ended,
    /// It has no report, and nobody writes to it.
    Unfinished,
    Refused,
}

impl Standing {
    pub(crate) const ALL: [Self; 4] = [Self::Running, Self::Ended, Self::Unfinished, Self::Refused];

    /// In addresses and on pages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended => "ended",
            Self::Unfinished => "unfinished",
            Self::Refused => "not readable",
        }
    }
}

impl Row {
    pub(crate) fn run(&self) -> Option<&RunFacts> {
        match &self.content {
            Content::Run(facts) => Some(facts),
            Content::Refused(_) => None,
        }
    }

    pub(crate) fn state(&self) -> Standing {
        match &self.content {
            Content::Refused(_) => Standing::Refused,
            Content::Run(facts) if facts.is_running => Standing::Running,
            Content::Run(facts) if facts.answer.is_none() => Standing::Unfinished,
            Content::Run(_) => Standing::Ended,
        }
    }
}

//! What a view of a run needs to know, as a closed set of plain values that serialise: the events of the runner, with what the view
//! cannot know itself: titles and shapes of loads, what trials show on disk, and sentences of a search.
//!
//! The view in the run's own terminal and a follower in another process are told the same. `reader` makes them from events.

mod interval_text;
mod outline;
mod reader;

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use waggle_analysis::{CellSoFar, cell_so_far};
use waggle_load::Interval;
use waggle_results::{AddedTrial, MachineInfo, PhaseName, TrialKey};
use waggle_spec::FaultKind;
use waggle_stats::{Estimate, Evidence, Verdict};
use waggle_study::Study;

#[cfg(test)]
pub(super) use self::reader::Judge;
pub(super) use self::{outline::Outline, reader::EventReader};
use crate::{
    live::Title,
    trial::{
        forms::{EstimateForm, EvidenceForm, VerdictForm},
        shape::Shape,
        sides::Side,
    },
};

/// What of a study a view needs before the first event.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StudyFacts {
    pub(super) name: String,
    pub(super) question: String,
    pub(super) factors: Vec<String>,
    /// In the study's order.
    pub(super) cells: Vec<CellFacts>,
    pub(super) outline: Outline,
    pub(super) idle_poll: bool,
}

/// A cell of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CellFacts {
    pub(super) number: u32,
    /// One for each factor.
    pub(super) levels: Vec<String>,
}

impl StudyFacts {
    pub(super) fn new(study: &Study, idle_poll: bool) -> Self {
        let cells = study.cells.iter().map(|cell| CellFacts {
            number: cell.number,
            levels: cell
                .levels
                .iter()
                .map(|(_, level)| level.to_string())
                .collect(),
        });
        Self {
            name: study.name.clone(),
            question: study.question.clone(),
            factors: study.factors.clone(),
            cells: cells.collect(),
            outline: Outline::from_study(study),
            idle_poll,
        }
    }
}

/// One step of a run, as [`waggle_runner::Event`] has it where nothing else is said.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Progress {
    RunStarted {
        trials: u32,
        already_done: u32,
        expected: Duration,
        /// The trials that an earlier run finished in the same folder, as far as they can be read.
        ended: Vec<EndedTrial>,
    },
    Calibrating(String),
    TrialStarted(Box<StartedTrial>),
    WaitingForServer {
        url: String,
        why: String,
        at_most: Duration,
    },
    WaitingForQuiet {
        other_cores: f64,
        cpus: u32,
        at_most: Duration,
    },
    Phase {
        phase: PhaseName,
        expected: Option<Duration>,
    },
    Interval {
        phase: PhaseName,
        #[serde(with = "interval_text")]
        interval: Arc<Interval>,
    },
    Machine {
        used: MachineInfo,
        cpus: u32,
    },
    FaultBegan {
        kind: FaultKind,
        name: String,
    },
    UpAgain {
        name: String,
        after: Duration,
    },
    Preparing {
        load: String,
        done: u64,
        sessions: u64,
        retries: u64,
    },
    Draining {
        visible: u64,
        accepted: u64,
    },
    TrialEnded {
        key: TrialKey,
        failure: Option<String>,
        goodput_per_s: f64,
        /// `None`: it cannot be read.
        judged: Option<Judged>,
    },
    TrialsAdded(Vec<AddedTrial>),
    Searched {
        key: TrialKey,
        level: f64,
        #[serde(with = "EvidenceForm")]
        evidence: Evidence,
        /// Why the level is not met, in words.
        why: Vec<String>,
    },
    Found {
        cell: u32,
        /// `3,250/s`; `none`.
        answer: String,
        sentence: String,
        not_needed: u32,
    },
    /// Of the second of two trials that run at the same time.
    Partner(Box<Progress>),
    /// Something to know, or to do, that is no problem.
    Notice(String),
    Warning(String),
}

impl Progress {
    /// The side that it is of, and the step itself. The ends of both trials are of the first side.
    pub(super) fn split(&self) -> (Side, &Self) {
        match self {
            Self::Partner(progress) => (Side::Partner, progress),
            progress => (Side::First, progress),
        }
    }
}

/// A trial that starts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StartedTrial {
    pub(super) position: u32,
    pub(super) key: TrialKey,
    pub(super) levels: String,
    pub(super) level: Option<f64>,
    pub(super) operating_share: Option<f64>,
    pub(super) title: Title,
    pub(super) shape: Shape,
}

/// A trial that has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct EndedTrial {
    pub(super) key: TrialKey,
    pub(super) judged: Judged,
}

/// What a trial shows, and its cell with it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Judged {
    #[serde(with = "VerdictForm")]
    pub(super) verdict: Verdict,
    /// `None`: trials of a search have different levels, so they are not repetitions.
    pub(super) cell: Option<CellJudged>,
}

/// A cell over its trials that have ended.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct CellJudged {
    #[serde(with = "VerdictForm")]
    pub(super) verdict: Verdict,
    pub(super) goodput: Option<Goodput>,
    pub(super) widest: Option<f64>,
}

/// Per second.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Goodput(#[serde(with = "EstimateForm")] Estimate);

impl CellJudged {
    /// `None`: no trial of it has ended.
    fn from_cell(cell: &CellSoFar) -> Option<Self> {
        Some(Self {
            verdict: cell.verdict?,
            goodput: cell.goodput.map(Goodput),
            widest: cell.widest,
        })
    }
}

impl Judged {
    /// The cell as the board has it.
    pub(super) fn cell_so_far(&self) -> CellSoFar {
        match &self.cell {
            Some(cell) => CellSoFar {
                verdict: Some(cell.verdict),
                goodput: cell.goodput.map(|Goodput(estimate)| estimate),
                widest: cell.widest,
            },
            None => cell_so_far(&[]),
        }
    }
}

//! The data of the live view: the running trial and, in a study, its cells. Plain values.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use waggle_analysis::CellSoFar;
use waggle_results::PhaseName;
use waggle_spec::LevelKind;
use waggle_stats::{Evidence, Verdict};

use super::view_model::ViewModel;
use crate::trial::sides::Side;

/// All data of the live view.
#[derive(Debug, Clone, Default)]
pub(crate) struct Board {
    /// `None`: a single load.
    pub(crate) study: Option<StudyBoard>,
    pub(crate) trial: ViewModel,
    /// The changed version of a duet, which runs at the same time as `trial`.
    pub(crate) partner: Option<ViewModel>,
}

impl Board {
    /// The trial of a side; that of the first side if there is no other.
    pub(crate) fn side(&self, side: Side) -> &ViewModel {
        match (side, &self.partner) {
            (Side::Partner, Some(partner)) => partner,
            _ => &self.trial,
        }
    }

    pub(crate) fn side_mut(&mut self, side: Side) -> &mut ViewModel {
        match (side, &mut self.partner) {
            (Side::Partner, Some(partner)) => partner,
            _ => &mut self.trial,
        }
    }

    /// A trial starts.
    pub(crate) fn begin(&mut self, trial: ViewModel, now: TrialNow) {
        (self.trial, self.partner) = (trial, None);
        if let Some(study) = &mut self.study {
            study.now = Some(now);
        }
    }
}

/// The board, shared by the follower and the drawing thread.
#[derive(Debug, Clone)]
pub(crate) struct Shared(Arc<Mutex<Board>>);

impl Shared {
    pub(crate) fn new(board: Board) -> Self {
        Self(Arc::new(Mutex::new(board)))
    }

    /// Changes the board.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Board)) {
        change(&mut self.lock());
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Board> {
        // A half-changed board is better than none.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run of a study. Times are since the start of the view.
#[derive(Debug, Clone, Default)]
pub(crate) struct StudyBoard {
    pub(crate) name: String,
    pub(crate) question: String,
    pub(crate) trials: u32,
    pub(crate) done: u32,
    /// Time left at `left_at`.
    pub(crate) left: Duration,
    pub(crate) left_at: Duration,
    /// What a search maximizes in each cell.
    pub(crate) searched: Option<LevelKind>,
    pub(crate) factors: Vec<String>,
    /// In the study's order.
    pub(crate) cells: Vec<CellBoard>,
    pub(crate) now: Option<TrialNow>,
    /// Messages, the latest last.
    pub(crate) notes: Vec<String>,
}

/// One cell of the grid.
#[derive(Debug, Clone)]
pub(crate) struct CellBoard {
    pub(crate) number: u32,
    /// One for each factor.
    pub(crate) levels: Vec<String>,
    /// Number of planned trials; in a search, the maximum.
    pub(crate) planned: u32,
    /// One per finished trial.
    pub(crate) marks: Vec<Mark>,
    pub(crate) so_far: CellSoFar,
    /// In a search: the highest holding level so far.
    pub(crate) met: Option<f64>,
    /// The highest holding level, after the search.
    pub(crate) found: Option<String>,
}

/// The result of a finished trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Judged(Verdict),
    /// In a search: the evidence about its level.
    Tried(Evidence),
}

/// The running trial.
#[derive(Debug, Clone)]
pub(crate) struct TrialNow {
    /// Index of its cell.
    pub(crate) cell: usize,
    /// That of the trial that runs at the same time.
    pub(crate) partner: Option<usize>,
    /// `repetition 2 of 3`, or `trial 4, 3,250/s`.
    pub(crate) which: String,
    pub(crate) phase: Option<PhaseNow>,
    /// Text of a phase without load: `10 of 30 records arrived`.
    pub(crate) phase_text: String,
}

/// The current phase.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PhaseNow {
    pub(crate) phase: PhaseName,
    pub(crate) began: Duration,
    /// Its length, if it is known.
    pub(crate) expected: Option<Duration>,
}

impl StudyBoard {
    /// Time left at a time since the start of the view.
    pub(crate) fn time_left(&self, elapsed: Duration) -> Duration {
        self.left
            .saturating_sub(elapsed.saturating_sub(self.left_at))
    }
}

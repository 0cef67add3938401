//! What the live view has to show: the trial that runs and, of a study, the cells around it. Plain values.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use waggle_analysis::CellSoFar;
use waggle_results::{LevelKind, PhaseName};
use waggle_stats::{Evidence, Verdict};

use super::shown::Shown;

/// Everything that is shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Board {
    /// `None`: there is one load and no study around it.
    pub(crate) study: Option<StudyBoard>,
    pub(crate) trial: Shown,
}

/// The board of a view, for who changes it and who draws it.
#[derive(Debug, Clone)]
pub(crate) struct Shared(Arc<Mutex<Board>>);

impl Shared {
    pub(crate) fn new(board: Board) -> Self {
        Self(Arc::new(Mutex::new(board)))
    }

    /// Changes what is shown.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Board)) {
        change(&mut self.lock());
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Board> {
        // Half a change is still better to look at than nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run of a study. Times are since the view's start.
#[derive(Debug, Clone, Default)]
pub(crate) struct StudyBoard {
    pub(crate) name: String,
    pub(crate) question: String,
    pub(crate) trials: u32,
    pub(crate) done: u32,
    /// Time left, as known at `left_at`; it runs on from there.
    pub(crate) left: Duration,
    pub(crate) left_at: Duration,
    /// What is searched for in each cell, if something is.
    pub(crate) searched: Option<LevelKind>,
    pub(crate) factors: Vec<String>,
    /// In the study's order.
    pub(crate) cells: Vec<CellBoard>,
    pub(crate) now: Option<TrialNow>,
    /// What was worth saying, the latest last.
    pub(crate) notes: Vec<String>,
}

/// One cell of the grid.
#[derive(Debug, Clone)]
pub(crate) struct CellBoard {
    pub(crate) number: u32,
    /// One for each factor.
    pub(crate) levels: Vec<String>,
    /// Trials that are planned; where a level is searched for, at most.
    pub(crate) planned: u32,
    /// One for each trial that has ended.
    pub(crate) marks: Vec<Mark>,
    pub(crate) so_far: CellSoFar,
    /// Where a level is searched for: the highest one that was met so far.
    pub(crate) met: Option<f64>,
    /// The highest level that holds, once the search is over.
    pub(crate) found: Option<String>,
}

/// What a trial that has ended showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Judged(Verdict),
    /// Of the level it had, where one is searched for.
    Tried(Evidence),
}

/// The trial under way.
#[derive(Debug, Clone)]
pub(crate) struct TrialNow {
    /// Place among the cells.
    pub(crate) cell: usize,
    /// `repetition 2 of 3`, or `trial 4, 3,250/s`.
    pub(crate) which: String,
    pub(crate) phase: Option<PhaseNow>,
    /// What is said of a phase without load: `10 of 30 records arrived`.
    pub(crate) said: String,
}

/// The phase under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PhaseNow {
    pub(crate) phase: PhaseName,
    pub(crate) began: Duration,
    /// How long it takes, where that is known.
    pub(crate) expected: Option<Duration>,
}

impl StudyBoard {
    /// Time left at a time since the view's start.
    pub(crate) fn time_left(&self, elapsed: Duration) -> Duration {
        self.left
            .saturating_sub(elapsed.saturating_sub(self.left_at))
    }
}

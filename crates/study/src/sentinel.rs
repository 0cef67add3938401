//! The sentinel: a cell that is run again every so many trials, to show whether the host drifts.

use crate::{Cell, PlannedTrial, Study};

impl Study {
    /// Adds the sentinel's cell, if the study asks for one: the first cell again, with a number of its own. Call it once, after the
    /// cells of the run were chosen.
    pub fn add_sentinel(&mut self) {
        let number = self.cells.iter().map(|cell| cell.number).max();
        if let (Some(_), Some(number)) = (self.sentinel_every, number) {
            self.push_sentinel(number + 1);
        }
    }

    /// The first cell again, with this number.
    pub(crate) fn push_sentinel(&mut self, number: u32) {
        if let Some(first) = self.cells.first() {
            self.cells.push(Cell {
                number,
                is_sentinel: true,
                expect_verdict: None,
                version: None,
                ..first.clone()
            });
        }
    }

    /// The sentinel's cell.
    #[must_use]
    pub fn sentinel(&self) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.is_sentinel)
    }
}

/// Puts a trial of the sentinel before the first trial, and after every so many others.
pub(crate) fn with_sentinel(study: &Study, trials: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    let (Some(sentinel), Some(every)) = (study.sentinel(), study.sentinel_every) else {
        return trials;
    };
    let every = usize::try_from(every).unwrap_or(usize::MAX);
    let mut all = Vec::new();
    let mut repetition = 0;
    let mut add = |all: &mut Vec<(u32, u32)>| {
        repetition += 1;
        all.push((sentinel.number, repetition));
    };
    add(&mut all);
    for block in trials.chunks(every) {
        all.extend(block);
        add(&mut all);
    }
    all
}

/// The sentinel's trials among so many others.
pub(crate) fn sentinel_trials(trials: usize, every: u32) -> u32 {
    let every = usize::try_from(every.max(1)).unwrap_or(usize::MAX);
    u32::try_from(1 + trials.div_ceil(every)).unwrap_or(u32::MAX)
}

/// How many trials there are since the last one of the sentinel.
#[must_use]
pub fn since_sentinel(sentinel: &Cell, order: impl DoubleEndedIterator<Item = u32>) -> u32 {
    let others = order.rev().take_while(|cell| *cell != sentinel.number);
    u32::try_from(others.count()).unwrap_or(u32::MAX)
}

impl PlannedTrial {
    /// Whether it is a trial of the sentinel.
    #[must_use]
    pub fn is_of_sentinel(&self, study: &Study) -> bool {
        study
            .sentinel()
            .is_some_and(|cell| cell.number == self.cell)
    }
}

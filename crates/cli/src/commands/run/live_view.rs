//! The live view of a run.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{
    board_updater::BoardUpdater,
    progress::{Progress, StudyFacts},
};
use crate::{
    live::{KeyActions, Live},
    output,
};

/// Shows a run in the live view.
pub(super) struct RunView {
    live: Live,
    updater: BoardUpdater,
}

impl RunView {
    /// Takes the terminal; the run began at this instant.
    ///
    /// # Errors
    /// The terminal lacks a capability.
    pub(super) fn start(facts: StudyFacts, keys: KeyActions, began: Instant) -> Result<Self> {
        let updater = BoardUpdater::new(facts);
        Ok(Self {
            // The runner pins this process to the CPUs of the load generator, so the view has no other CPUs.
            live: Live::start(&updater.board, keys, Vec::new(), began)?,
            updater,
        })
    }

    /// Shows a step; `elapsed` is the time since the run began.
    pub(super) fn show(&mut self, progress: &Progress, elapsed: Duration) {
        self.updater.apply(progress, elapsed);
    }

    /// Shows a state from its beginning, in place of what there is.
    pub(super) fn begin_again(&mut self, facts: StudyFacts) {
        self.updater.begin_again(facts);
    }

    /// Shows a line that is not of the run.
    pub(super) fn note(&mut self, text: &str) {
        self.updater.note(text);
    }

    /// Restores the terminal, and prints the lines that stay.
    pub(super) fn end(mut self) {
        self.live.end();
        for line in &self.updater.lasting {
            output::print_progress(line);
        }
    }
}

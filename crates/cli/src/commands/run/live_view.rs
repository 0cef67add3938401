//! The live view of a run.

use std::time::Instant;

use anyhow::Result;
use waggle_analysis::trial_so_far;
use waggle_runner::Event;

use super::{
    board_updater::{BoardUpdater, Judge, StudyFacts},
    state::Outline,
};
use crate::{live::Live, output, process::interrupts::Interrupts};

/// Shows a run in the live view.
pub(super) struct RunView {
    live: Live,
    began: Instant,
    updater: BoardUpdater,
}

impl RunView {
    /// Takes the terminal.
    ///
    /// # Errors
    /// The terminal lacks a capability.
    pub(super) fn start(
        facts: StudyFacts,
        outline: Outline,
        interrupts: Interrupts,
    ) -> Result<Self> {
        let judge: Judge = |folder, key| trial_so_far(folder, key).ok();
        let updater = BoardUpdater::new(facts, outline, judge);
        Ok(Self {
            // The runner pins this process to the CPUs of the load generator, so the view has no other CPUs.
            live: Live::start(&updater.board, interrupts, Vec::new())?,
            began: Instant::now(),
            updater,
        })
    }

    /// Shows an event.
    pub(super) fn show(&mut self, event: &Event) {
        self.updater.apply(event, self.began.elapsed());
    }

    /// Restores the terminal, and prints the lines that stay.
    pub(super) fn end(mut self) {
        self.live.end();
        for line in &self.updater.lasting {
            output::print_progress(line);
        }
    }
}

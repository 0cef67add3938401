//! The live view of a run.

use std::time::Instant;

use anyhow::Result;
use waggle_analysis::trial_so_far;
use waggle_runner::Event;

use super::{
    following::{Following, Judge, Studied},
    state::Outline,
};
use crate::{interrupts::Interrupts, live::Live, say};

/// Shows a run in the live view.
pub(super) struct Look {
    live: Live,
    began: Instant,
    following: Following,
}

impl Look {
    /// Takes the terminal.
    ///
    /// # Errors
    /// The terminal lacks a capability.
    pub(super) fn start(
        studied: Studied,
        outline: Outline,
        interrupts: Interrupts,
    ) -> Result<Self> {
        let judge: Judge = |folder, key| trial_so_far(folder, key).ok();
        let following = Following::new(studied, outline, judge);
        Ok(Self {
            // The runner pins this process to the CPUs of the load generator, so the view has no other CPUs.
            live: Live::start(&following.board, interrupts, Vec::new())?,
            began: Instant::now(),
            following,
        })
    }

    /// Shows an event.
    pub(super) fn show(&mut self, event: &Event) {
        self.following.apply(event, self.began.elapsed());
    }

    /// Restores the terminal, and prints the lines that stay.
    pub(super) fn end(mut self) {
        self.live.end();
        for line in &self.following.lasting {
            say::print_progress(line);
        }
    }
}

//! A run at a terminal: the live view, following its events.

use std::time::Instant;

use anyhow::Result;
use waggle_analysis::trial_so_far;
use waggle_runner::Event;

use super::{
    following::{Following, Judge, Studied},
    state::Outline,
};
use crate::{interrupts::Interrupts, live::Live, say};

/// Shows a run on the whole terminal.
pub(super) struct Look {
    live: Live,
    began: Instant,
    following: Following,
}

impl Look {
    /// Takes the terminal.
    ///
    /// # Errors
    /// It does not do what is needed.
    pub(super) fn start(
        studied: Studied,
        outline: Outline,
        interrupts: Interrupts,
    ) -> Result<Self> {
        let judge: Judge = |folder, key| trial_so_far(folder, key).ok();
        let following = Following::new(studied, outline, judge);
        Ok(Self {
            // The runner keeps this whole process on the CPUs of the load; the system's are not for drawing.
            live: Live::start(&following.board, interrupts, Vec::new())?,
            began: Instant::now(),
            following,
        })
    }

    /// One more event.
    pub(super) fn show(&mut self, event: &Event) {
        self.following.apply(event, self.began.elapsed());
    }

    /// Gives the terminal back, and says there what lasts.
    pub(super) fn end(mut self) {
        self.live.end();
        for line in &self.following.lasting {
            say::print_progress(line);
        }
    }
}

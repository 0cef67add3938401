//! What a follower sees of a run, and what it asks for.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Result;

use crate::{
    commands::run::{
        lines::Lines,
        live_view::RunView,
        progress::{Progress, StudyFacts},
        state::State,
    },
    live::{self, KeyActions},
    output,
    process::interrupts::Interrupts,
};

/// How a run is shown.
pub(in crate::commands::run) struct Presentation {
    pub(in crate::commands::run) is_quiet: bool,
    /// In the live view, if the terminal has room for it.
    pub(in crate::commands::run) may_be_live: bool,
    /// The command that shows the run again.
    pub(in crate::commands::run) again: String,
    /// The run was begun by this command.
    pub(in crate::commands::run) is_own: bool,
    /// Where the run folder of a run elsewhere is going to be; `None`: it is where the run says.
    pub(in crate::commands::run) runs: Option<PathBuf>,
    /// After a stream that was lost, before it is opened again; twice as long each time that nothing new came.
    pub(in crate::commands::run) pause: Duration,
    /// A stream that cannot be opened is tried again for so long.
    pub(in crate::commands::run) open_timeout: Duration,
}

/// What the user asks for.
pub(super) struct Requests {
    /// The run is to stop.
    pub(super) stop: Interrupts,
    /// The view is to end, by a key.
    pub(super) leave: Interrupts,
    /// By a signal.
    pub(super) leave_signals: Interrupts,
}

impl Requests {
    pub(super) fn listen() -> Result<Self> {
        let requests = Self {
            stop: Interrupts::new(|| {}),
            leave: Interrupts::new(|| {}),
            leave_signals: Interrupts::new(|| {}),
        };
        requests.stop.listen_to_interrupt()?;
        requests.leave_signals.listen_to_ends()?;
        Ok(requests)
    }
}

/// What the user sees.
pub(super) struct Screen<'a> {
    presentation: &'a Presentation,
    requests: &'a Requests,
    view: Option<View>,
    /// What comes is new, and not the state so far.
    pub(super) is_up_to_date: bool,
    /// Lines that stay and were printed; a state that comes again has them again.
    printed: BTreeSet<String>,
}

enum View {
    Quiet,
    Lines(Box<Lines>),
    Live(Box<RunView>),
}

impl<'a> Screen<'a> {
    pub(super) fn new(presentation: &'a Presentation, requests: &'a Requests) -> Self {
        Self {
            presentation,
            requests,
            view: None,
            is_up_to_date: false,
            printed: BTreeSet::new(),
        }
    }

    pub(super) fn pause(&self) -> Duration {
        self.presentation.pause
    }

    pub(super) fn open_timeout(&self) -> Duration {
        self.presentation.open_timeout
    }

    pub(super) fn has_begun(&self) -> bool {
        self.view.is_some()
    }

    /// A state begins, in place of the one before.
    pub(super) fn begin(&mut self, study: StudyFacts, elapsed: Duration) -> Result<()> {
        self.is_up_to_date = false;
        let may_be_live = self.presentation.may_be_live;
        self.view = Some(match self.view.take() {
            Some(View::Live(mut view)) => {
                view.begin_again(study);
                View::Live(view)
            }
            _ if self.presentation.is_quiet => View::Quiet,
            None if may_be_live && live::fits() => {
                let now = Instant::now();
                let keys = KeyActions {
                    end: self.requests.stop.clone(),
                    leave: Some(self.requests.leave.clone()),
                };
                let began = now.checked_sub(elapsed).unwrap_or(now);
                View::Live(Box::new(RunView::start(study, keys, began)?))
            }
            _ => View::Lines(Box::new(Lines::new(State::new(study.outline)))),
        });
        Ok(())
    }

    pub(super) fn show(&mut self, step: &Progress, elapsed: Duration) {
        match &mut self.view {
            None | Some(View::Quiet) => {}
            Some(View::Live(view)) => view.show(step, elapsed),
            Some(View::Lines(lines)) if self.is_up_to_date => {
                self.printed.extend(lines.show(step, elapsed));
            }
            Some(View::Lines(lines)) => {
                if let Some(line) = lines.catch_up(step, elapsed)
                    && self.printed.insert(line.clone())
                {
                    output::print_progress(&line);
                }
            }
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        match &mut self.view {
            Some(View::Live(view)) => view.note(text),
            Some(View::Lines(_)) => output::print_progress(text),
            None | Some(View::Quiet) => {}
        }
    }

    pub(super) fn end(self) {
        if let Some(View::Live(view)) = self.view {
            view.end();
        }
    }
}

//! Progress as plain lines: one per second during a load, one in five seconds during a preparation, and one for each finished trial and
//! each warning.

use std::time::Duration;

use waggle_report::wording::{labels, search};
use waggle_results::{AddedReason, AddedTrial};

use super::{progress::Progress, state::State};
use crate::output::{
    self,
    values::{duration, rate},
};

/// Between two lines of a preparation, which may take an hour.
const PREPARATION_EVERY: Duration = Duration::from_secs(5);

/// Prints progress.
pub(super) struct Lines {
    state: State,
    /// When the progress of a preparation was shown last, since the beginning.
    preparation_shown: Option<Duration>,
}

impl Lines {
    pub(super) fn new(state: State) -> Self {
        Self {
            state,
            preparation_shown: None,
        }
    }

    /// Shows a step; `elapsed` is the time since the start of the run.
    /// Returns the line that it printed of what stays.
    pub(super) fn show(&mut self, progress: &Progress, elapsed: Duration) -> Option<String> {
        self.state.apply(progress, elapsed);
        let is_due = self
            .preparation_shown
            .is_none_or(|moment| elapsed >= moment + PREPARATION_EVERY);
        let shows_preparation = matches!(progress, Progress::Preparing { .. }) && is_due;
        if shows_preparation {
            self.preparation_shown = Some(elapsed);
        }
        if let Some(now) = self.state.running.main_trial()
            && (shows_preparation
                || matches!(progress, Progress::Interval { .. }) && now.has_new_figures)
        {
            output::print_progress(&format!(
                "trial {} of {} · {} · {} left",
                now.position,
                self.state.trials,
                self.state.line(),
                duration(self.state.time_left(elapsed))
            ));
        }
        let lasting = lasting_line(progress, &self.state)?;
        output::print_progress(&lasting);
        Some(lasting)
    }

    /// Applies a step that was before, and returns its line, if it is one that stays.
    pub(super) fn catch_up(&mut self, progress: &Progress, elapsed: Duration) -> Option<String> {
        self.state.apply(progress, elapsed);
        lasting_line(progress, &self.state)
    }
}

/// The line of a step that stays on the screen: finished trials and warnings.
pub(super) fn lasting_line(progress: &Progress, state: &State) -> Option<String> {
    let (_, progress) = progress.split();
    match progress {
        Progress::RunStarted {
            trials,
            already_done,
            ..
        } if *already_done > 0 => Some(resume_line(*trials, *already_done, state)),
        Progress::TrialEnded {
            key,
            failure: None,
            goodput_per_s,
            ..
        } => Some(format!(
            "{:>4}/{}  cell {:>2} repetition {}  {}",
            state.done,
            state.trials,
            key.cell,
            key.repetition,
            rate(*goodput_per_s)
        )),
        Progress::TrialEnded {
            key,
            failure: Some(reason),
            ..
        } => Some(format!(
            "{:>4}/{}  cell {:>2} repetition {}  failed: {reason}",
            state.done, state.trials, key.cell, key.repetition
        )),
        Progress::TrialsAdded(added) => Some(added_trials(added)),
        Progress::WaitingForServer { url, why, at_most } => Some(format!(
            "waiting for {url}: {why} (at most {})",
            waggle_units::format_duration(*at_most)
        )),
        Progress::Calibrating(shape) => Some(format!("calibrating the load generator: {shape}")),
        Progress::Searched {
            key,
            level,
            evidence,
            why,
        } => {
            let level = search::level(state.outline.what?, *level);
            let showed = labels::evidence(*evidence);
            let why = match why.is_empty() {
                true => String::new(),
                false => format!(": {}", why.join("; ")),
            };
            Some(format!(
                "           cell {:>2} {level}  {showed}{why}",
                key.cell
            ))
        }
        Progress::Found { sentence, .. } => Some(sentence.clone()),
        Progress::WaitingForQuiet {
            other_cores,
            cpus,
            at_most,
        } => Some(format!(
            "{} (at most {:.0} s)",
            waiting_for_quiet(*other_cores, *cpus),
            at_most.as_secs_f64().ceil()
        )),
        Progress::Notice(text) => Some(text.clone()),
        Progress::Warning(text) => Some(format!("warning: {text}")),
        _ => None,
    }
}

/// `resumed: 4 of 6 trials have a result, 2 are left`. How many a search needs is not known before.
fn resume_line(trials: u32, already_done: u32, state: &State) -> String {
    let left = trials.saturating_sub(already_done);
    let done = waggle_report::wording::format::plural(already_done, "trial");
    match (state.outline.what, left) {
        (Some(_), _) => format!("resumed: {done} of the search, which goes on"),
        (None, 0) if already_done == 1 => {
            "nothing is left to run: the trial has a result".to_owned()
        }
        (None, 0) => format!("nothing is left to run: all {done} have a result"),
        (None, left) => {
            format!("resumed: {already_done} of {trials} trials have a result, {left} left")
        }
    }
}

/// `waiting for a quiet machine: other programs use 1.2 of 2 CPUs`.
pub(super) fn waiting_for_quiet(other_cores: f64, cpus: u32) -> String {
    format!("waiting for a quiet machine: other programs use {other_cores:.1} of {cpus} CPUs")
}

/// `5 trials are added: the intervals of 4 cells are too wide, the machine has disturbed 1`.
fn added_trials(added: &[AddedTrial]) -> String {
    let is_wide = |trial: &&AddedTrial| matches!(trial.reason, AddedReason::Wide { .. });
    let wide = added.iter().filter(is_wide).count();
    let is_disturbed = |trial: &&AddedTrial| matches!(trial.reason, AddedReason::Disturbed { .. });
    let disturbed = added.iter().filter(is_disturbed).count();
    let mut reasons = Vec::new();
    match wide {
        0 => {}
        1 => reasons.push("the interval of 1 cell is too wide".to_owned()),
        _ => reasons.push(format!("the intervals of {wide} cells are too wide")),
    }
    match disturbed {
        0 => {}
        1 => reasons.push("the machine has disturbed 1".to_owned()),
        _ => reasons.push(format!("the machine has disturbed {disturbed}")),
    }
    if wide + disturbed < added.len() {
        reasons.push("the sentinel is due".to_owned());
    }
    let trials = match added.len() {
        1 => "1 trial is added".to_owned(),
        several => format!("{several} trials are added"),
    };
    format!("{trials}: {}", reasons.join(", "))
}

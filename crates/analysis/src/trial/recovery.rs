//! How soon the system had recovered after the load dropped: a trial's own figures.

use waggle_results::{ControlInfo, LoadDropInfo, PhaseName, Trial, TrialEnd};
use waggle_spec::TimeKind;
use waggle_stats::{AfterDrop, Control, Recovery};

use crate::recording::histogram;

/// What one trial showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialRecovery {
    pub load_drop: LoadDropInfo,
    /// The same level in the warm-up; `None` if the study has no control.
    pub control: Option<Control>,
    pub outcome: Recovery,
}

impl TrialRecovery {
    /// From which instant on all was well, in seconds since the start of the load; `None` if it was not, to the end, or if that is
    /// not known.
    #[must_use]
    pub fn at_s(&self) -> Option<f64> {
        match self.outcome {
            Recovery::After(after_s) => Some(self.load_drop.at_s + after_s),
            Recovery::NotWithin(_) | Recovery::NoReference => None,
        }
    }
}

/// `None` if the load did not drop, or the trial did not come to its end.
pub(crate) fn of_trial(trial: &Trial) -> Option<TrialRecovery> {
    let load_drop = trial.info.load_drop?;
    let phase = trial.info.phase(PhaseName::Recovery)?;
    let ended = trial.info.end == TrialEnd::Completed;
    let p99_us = load_drop.recovery.p99_us;
    let control = load_drop.recovery.control.map(|control| {
        let ControlInfo { start_s, end_s } = control;
        Control::from_intervals(&intervals(trial, start_s, (start_s, end_s)), p99_us)
    });
    let after_drop = intervals(trial, load_drop.at_s, (phase.start_s, phase.end_s));
    let outcome = waggle_stats::recovery(&after_drop, p99_us, control.unwrap_or_default())
        .filter(|_| ended)?;
    Some(TrialRecovery {
        load_drop,
        control,
        outcome,
    })
}

/// The intervals of a stretch, in seconds since `zero_s`. What had fallen due before and was not sent is waited for, too.
fn intervals(trial: &Trial, zero_s: f64, (from_s, to_s): (f64, f64)) -> Vec<AfterDrop> {
    let mut unsent = 0_i128;
    let mut intervals = Vec::new();
    let mut times = histogram::empty();
    for row in &trial.intervals {
        let counts = &row.counts;
        unsent += i128::from(counts.due) - i128::from(counts.sent) - i128::from(counts.skipped);
        let end_s = row.start_s + counts.seconds;
        if !(from_s..to_s).contains(&f64::midpoint(row.start_s, end_s)) {
            continue;
        }
        times.reset();
        trial.times[TimeKind::Response].add_to(&mut times, row.start_s, end_s);
        intervals.push(AfterDrop {
            start_s: row.start_s - zero_s,
            end_s: end_s - zero_s,
            succeeded: counts.succeeded,
            failed: counts.failed,
            p99_us: histogram::quantile(&times, 0.99),
            waited: row.in_flight > 0 || unsent > 0 || row.connections_open == 0,
        });
    }
    intervals
}

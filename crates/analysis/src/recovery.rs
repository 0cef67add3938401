//! How soon the system had recovered after the load fell: of a trial, and over the trials of a cell.

use waggle_results::{FallInfo, PhaseName, RecoveryInfo, Trial, TrialEnd};
use waggle_stats::{AfterFall, Estimate, Recovery};

use crate::distribution::as_f64;

/// What one trial showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialRecovery {
    pub fall: FallInfo,
    pub outcome: Recovery,
}

impl TrialRecovery {
    /// From which instant on all was well, in seconds since the start of the load; `None` where it was not, to the end.
    #[must_use]
    pub fn at_s(&self) -> Option<f64> {
        match self.outcome {
            Recovery::After(after_s) => Some(self.fall.at_s + after_s),
            Recovery::NotWithin(_) => None,
        }
    }
}

/// What the trials of a cell showed together.
#[derive(Debug, Clone, PartialEq)]
pub struct CellRecovery {
    pub asked: RecoveryInfo,
    /// By repetition.
    pub trials: Vec<Recovery>,
    /// How many of them recovered while it was looked for.
    pub recovered: usize,
    /// In µs, where all of them did.
    pub after: Option<Estimate>,
}

impl CellRecovery {
    /// How long it was looked for, in seconds, where a trial did not recover within that.
    #[must_use]
    pub fn not_within_s(&self) -> Option<f64> {
        let longest = self.trials.iter().filter_map(|trial| match trial {
            Recovery::NotWithin(looked_s) => Some(*looked_s),
            Recovery::After(_) => None,
        });
        longest.reduce(f64::max)
    }
}

/// `None` where the load did not fall, or the trial did not come to its end.
pub(crate) fn of_trial(trial: &Trial) -> Option<TrialRecovery> {
    let fall = trial.info.fall?;
    let phase = trial.info.phase(PhaseName::Recovery)?;
    let ended = trial.info.end == TrialEnd::Completed;
    let intervals = after_fall(trial, fall.at_s, (phase.start_s, phase.end_s));
    let outcome = waggle_stats::recovery(&intervals, fall.recovery.p99_us).filter(|_| ended)?;
    Some(TrialRecovery { fall, outcome })
}

/// The intervals of the phase. What had fallen due before and was not sent is waited for, too.
fn after_fall(trial: &Trial, fell_at_s: f64, (from_s, to_s): (f64, f64)) -> Vec<AfterFall> {
    let mut unsent = 0_i128;
    let mut intervals = Vec::new();
    for row in &trial.intervals {
        let counts = &row.counts;
        unsent += i128::from(counts.due) - i128::from(counts.sent) - i128::from(counts.skipped);
        let end_s = row.start_s + counts.seconds;
        if !(from_s..to_s).contains(&f64::midpoint(row.start_s, end_s)) {
            continue;
        }
        let times = trial.response_time.merged(row.start_s, end_s);
        intervals.push(AfterFall {
            start_s: row.start_s - fell_at_s,
            end_s: end_s - fell_at_s,
            succeeded: counts.succeeded,
            failed: counts.failed,
            p99_us: (!times.is_empty()).then(|| as_f64(times.value_at_quantile(0.99))),
            waited: row.in_flight > 0 || unsent > 0 || row.connections_open == 0,
        });
    }
    intervals
}

/// `None` where the load fell in none of the trials.
pub(crate) fn over_trials(trials: impl Iterator<Item = TrialRecovery>) -> Option<CellRecovery> {
    let each: Vec<TrialRecovery> = trials.collect();
    let outcomes: Vec<Recovery> = each.iter().map(|trial| trial.outcome).collect();
    let together = waggle_stats::recovered(&outcomes)?;
    let us = |seconds: f64| seconds * 1e6;
    Some(CellRecovery {
        asked: each.first()?.fall.recovery,
        trials: outcomes,
        recovered: together.recovered,
        after: together.after_s.map(|after| Estimate {
            point: us(after.point),
            interval: after.interval.map(|(low, high)| (us(low), us(high))),
            ..after
        }),
    })
}

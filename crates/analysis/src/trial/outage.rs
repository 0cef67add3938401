//! What was done to components in mid-trial, how long that took, and what it cost: a trial's own values.

use waggle_results::{FailureCount, FaultInfo, PhaseName, Trial};

/// One trial with faults.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialFaults {
    /// In the order in which they began; seconds count from the start of the measured phase.
    pub each: Vec<FaultInfo>,
    /// Start of the measured phase, in seconds since the start of the load.
    pub measured_from_s: f64,
    /// `None`: the measured phase did not come to its end.
    pub outage: Option<Outage>,
    /// Failed requests of the whole load.
    pub failed: u64,
    pub failures: Vec<FailureCount>,
    /// Of connections and sessions.
    pub other_failures: Vec<FailureCount>,
}

/// The longest time without a success from the first fault to the end of the measured phase, in whole intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outage {
    pub us: f64,
    /// It lasted to the end, so that its length is not known.
    pub to_the_end: bool,
}

/// `None` where there was none.
pub(crate) fn of_trial(trial: &Trial) -> Option<TrialFaults> {
    let first = trial.info.faults.first()?;
    let measure = trial.info.phase(PhaseName::Measure);
    let measured_from_s = measure.map_or(0.0, |measure| measure.start_s);
    let measured = measure.filter(|_| trial.info.measured.seconds > 0.0);
    let totals = &trial.info.totals;
    Some(TrialFaults {
        each: trial.info.faults.clone(),
        measured_from_s,
        outage: measured
            .map(|measure| outage_of(trial, measured_from_s + first.begun_s, measure.end_s)),
        failed: totals.failed,
        failures: totals.failures.clone(),
        other_failures: totals.other_failures.clone(),
    })
}

/// An interval in which something succeeded is none of it, however much of it was silent.
fn outage_of(trial: &Trial, from_s: f64, to_s: f64) -> Outage {
    let (mut longest, mut now) = (0.0_f64, 0.0_f64);
    for row in trial.intervals_within(from_s, to_s) {
        now = if row.counts.succeeded == 0 {
            now + row.counts.seconds
        } else {
            0.0
        };
        longest = longest.max(now);
    }
    Outage {
        us: longest * 1e6,
        to_the_end: now > 0.0 && now >= longest,
    }
}

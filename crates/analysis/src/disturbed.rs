//! What was killed in mid-trial, how long that took, and what it cost: a trial's own figures.

use waggle_results::{DisturbanceInfo, FailureCount, PhaseName, Trial};

/// One trial in which something was killed.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialDisturbed {
    /// In the order of the kills; seconds count from the start of the measured phase.
    pub disturbances: Vec<DisturbanceInfo>,
    /// Start of the measured phase, in seconds since the start of the load.
    pub measured_from_s: f64,
    /// `None`: the measured phase did not come to its end.
    pub silence: Option<Silence>,
    /// Failed requests of the whole load.
    pub failed: u64,
    pub failures: Vec<FailureCount>,
}

/// The longest time without a success from the first kill to the end of the measured phase, in whole intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Silence {
    pub us: f64,
    /// It lasted to the end, so that nobody knows how long it would have been.
    pub to_the_end: bool,
}

/// `None` where nothing was killed.
pub(crate) fn of_trial(trial: &Trial) -> Option<TrialDisturbed> {
    let first = trial.info.disturbances.first()?;
    let measure = trial.info.phase(PhaseName::Measure);
    let measured_from_s = measure.map_or(0.0, |measure| measure.start_s);
    let silence = measure.filter(|_| trial.info.measured.seconds > 0.0);
    let totals = &trial.info.totals;
    Some(TrialDisturbed {
        disturbances: trial.info.disturbances.clone(),
        measured_from_s,
        silence: silence
            .map(|measure| silence_of(trial, measured_from_s + first.killed_s, measure.end_s)),
        failed: totals.failed,
        failures: totals.failures.clone(),
    })
}

/// An interval in which something succeeded is none of it, however much of it was silent.
fn silence_of(trial: &Trial, from_s: f64, to_s: f64) -> Silence {
    let (mut longest, mut now) = (0.0_f64, 0.0_f64);
    for row in trial.intervals_within(from_s, to_s) {
        now = if row.counts.succeeded == 0 {
            now + row.counts.seconds
        } else {
            0.0
        };
        longest = longest.max(now);
    }
    Silence {
        us: longest * 1e6,
        to_the_end: now > 0.0 && now >= longest,
    }
}

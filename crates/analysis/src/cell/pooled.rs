//! Percentiles of all that the trials of a cell measured together. A percentile over trials is that of a typical trial: where one of
//! them is slower than the others, more of all requests are above it than its name says.

use waggle_results::{PhaseName, Trial};
use waggle_spec::TimeKind;

use crate::recording::{
    delays::DelayLogs,
    histogram::{self, TrialPercentiles, empty},
};

/// Percentiles of several trials together, by the sums of their histograms. `None`: some trial has no histogram.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pooled {
    /// From due to done, of successes of the measured phases.
    pub response: Option<TrialPercentiles>,
    /// From sent until visible at the last probe, at the latest; `None` where only windows of a sample are known.
    pub delay: Option<TrialPercentiles>,
}

impl Pooled {
    pub(crate) fn of_trials(trials: &[&Trial]) -> Self {
        Self {
            response: response(trials),
            delay: delay(trials),
        }
    }
}

fn response(trials: &[&Trial]) -> Option<TrialPercentiles> {
    let mut sum = empty();
    for trial in trials {
        let before = sum.len();
        let measure = trial.info.phase(PhaseName::Measure)?;
        let log = &trial.times[TimeKind::Response];
        log.add_to(&mut sum, measure.start_s, measure.end_s);
        if sum.len() == before {
            return None;
        }
    }
    histogram::of_trial(&sum)
}

fn delay(trials: &[&Trial]) -> Option<TrialPercentiles> {
    let mut sum = empty();
    for trial in trials {
        let histogram = DelayLogs::of_last_probe(trial)?.whole_histogram()?;
        sum.add(histogram)
            .expect("the sum grows to the range it needs");
    }
    histogram::of_trial(&sum)
}

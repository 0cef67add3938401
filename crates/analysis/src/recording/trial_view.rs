//! A trial, with what several look at made once.

use hdrhistogram::Histogram;
use waggle_metrics::{CATALOGUE, Metric};
use waggle_results::{PhaseName, Trial};
use waggle_spec::{TimeKind, Times};

use crate::recording::{accepted::Accepted, histogram, samples::Samples};

/// A trial as it is looked at.
#[derive(Debug)]
pub(crate) struct TrialView<'a> {
    pub(crate) trial: &'a Trial,
    /// Start and end of the measured phase; none of it where the trial did not get that far.
    pub(crate) measured: (f64, f64),
    /// Of the measured phase and of the answers after it: histograms lie compressed.
    pub(crate) times: Times<Histogram<u64>>,
    /// Of the measured phase alone, like the counts that are checked.
    pub(crate) service_time_measured: Histogram<u64>,
    pub(crate) accepted: Accepted<'a>,
    pub(crate) samples: Samples<'a>,
}

impl<'a> TrialView<'a> {
    pub(crate) fn new(trial: &'a Trial) -> Self {
        let measure = trial.info.phase(PhaseName::Measure);
        let measured = measure.map_or((0.0, 0.0), |phase| (phase.start_s, phase.end_s));
        Self {
            trial,
            measured,
            service_time_measured: trial.times[TimeKind::Service]
                .merge_range(measured.0, measured.1),
            times: metric_times(trial),
            accepted: Accepted::from_intervals(&trial.intervals),
            samples: Samples::from_rows(&trial.resources),
        }
    }
}

/// What no metric is of is not decoded.
fn metric_times(trial: &Trial) -> Times<Histogram<u64>> {
    let (from_s, to_s) = trial.info.answers_within();
    Times::from_fn(|kind| match is_metric(kind) {
        true => trial.times[kind].merge_range(from_s, to_s),
        false => histogram::empty(),
    })
}

fn is_metric(kind: TimeKind) -> bool {
    let mut rows = CATALOGUE.iter();
    rows.any(|row| row.metric == Metric::Time(kind))
}

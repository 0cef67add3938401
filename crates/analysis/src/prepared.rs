//! A trial, with what several look at made once.

use waggle_results::{PhaseName, Trial, TrialHistograms};

use crate::{accepted::Accepted, samples::Samples};

/// A trial as it is looked at.
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    pub(crate) trial: &'a Trial,
    /// Start and end of the measured phase; none of it where the trial did not get that far.
    pub(crate) measured: (f64, f64),
    /// Of the measured phase: histograms lie compressed.
    pub(crate) times: TrialHistograms,
    pub(crate) accepted: Accepted<'a>,
    pub(crate) samples: Samples<'a>,
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(trial: &'a Trial) -> Self {
        let measure = trial.info.phase(PhaseName::Measure);
        Self {
            trial,
            measured: measure.map_or((0.0, 0.0), |phase| (phase.start_s, phase.end_s)),
            times: trial.measured_histograms(),
            accepted: Accepted::from_intervals(&trial.intervals),
            samples: Samples::from_rows(&trial.resources),
        }
    }
}

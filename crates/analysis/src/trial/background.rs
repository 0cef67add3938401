//! Loads that ran beside the measured one, in one trial.

use waggle_results::{BackgroundInfo, BackgroundLoadInfo, TrialInfo};
use waggle_stats::Part;

use crate::{
    recording::histogram::{self, TrialPercentiles, as_f64},
    trial::load_rates::{self, per_second},
};

/// A load that the study has run beside the measured one.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialBackground {
    pub name: String,
    /// `None`: it is absent in the trial's cell.
    pub load: Option<TrialBackgroundLoad>,
}

/// What it did in the measured phase.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialBackgroundLoad {
    pub info: BackgroundLoadInfo,
    /// From due to done, of successes; `None`: there were none.
    pub response: Option<TrialPercentiles>,
    /// From sent to done, of successes.
    pub service: Option<TrialPercentiles>,
}

impl TrialBackgroundLoad {
    /// Succeeded requests per second; `None` if nothing was measured.
    #[must_use]
    pub fn goodput_per_s(&self) -> Option<f64> {
        let measured = &self.info.measured;
        per_second(measured.succeeded, measured.seconds)
    }

    /// Answered requests per second, failures included; `None` if nothing was measured.
    #[must_use]
    pub fn throughput_per_s(&self) -> Option<f64> {
        let measured = &self.info.measured;
        per_second(measured.succeeded + measured.failed, measured.seconds)
    }

    /// Failed requests of all that were answered or lost.
    #[must_use]
    pub fn failed_share(&self) -> Part {
        let measured = &self.info.measured;
        load_rates::failed_share(measured.succeeded, measured.failed)
    }

    /// `None` if nothing was answered.
    #[must_use]
    pub fn bytes_per_answer(&self) -> Option<f64> {
        let measured = &self.info.measured;
        let answers = measured.succeeded + measured.failed;
        (answers > 0).then(|| as_f64(measured.bytes_received) / as_f64(answers))
    }
}

/// In the order of the study.
pub(crate) fn of_trial(info: &TrialInfo) -> Vec<TrialBackground> {
    let all = info.background.iter();
    all.map(|background: &BackgroundInfo| TrialBackground {
        name: background.name.clone(),
        load: background.load.as_ref().map(background_load),
    })
    .collect()
}

fn background_load(load: &BackgroundLoadInfo) -> TrialBackgroundLoad {
    let times = |quantiles: &Option<_>| {
        let quantiles = quantiles.as_ref()?;
        let count = load.measured.succeeded;
        Some(histogram::of_quantiles(quantiles, count))
    };
    TrialBackgroundLoad {
        response: times(&load.response_time),
        service: times(&load.service_time),
        info: load.clone(),
    }
}

/// The highest utilization of a worker thread of the load generator: of the measured load, or of one beside it.
pub(crate) fn utilization(info: &TrialInfo) -> f64 {
    let generators = info.generator.iter();
    let loads = info
        .background
        .iter()
        .filter_map(|background| background.load.as_ref());
    let all = generators.chain(loads.map(|load| &load.generator));
    all.map(|generator| generator.utilization)
        .fold(0.0, f64::max)
}

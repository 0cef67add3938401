//! Loads of a trial that are not the measured one: those that filled the system, and those beside it.

use waggle_results::{LoadInfo, TrialInfo};
use waggle_spec::{LoadRole, TimeKind};
use waggle_stats::Part;

use crate::recording::histogram::{self, TrialPercentiles, as_f64};

/// What a load did that is not the measured one.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialSideLoad {
    pub info: LoadInfo,
    /// From due to done, of successes; `None`: there were none.
    pub response: Option<TrialPercentiles>,
    /// From sent to done, of successes.
    pub service: Option<TrialPercentiles>,
    /// Response times by step, in their order.
    pub steps: Vec<Option<TrialPercentiles>>,
}

impl TrialSideLoad {
    /// Succeeded requests per second; `None` if it took no time.
    #[must_use]
    pub fn goodput_per_s(&self) -> Option<f64> {
        self.per_second(self.info.counts.succeeded)
    }

    /// Answered requests per second, failures included; `None` if it took no time.
    #[must_use]
    pub fn throughput_per_s(&self) -> Option<f64> {
        self.per_second(self.answers())
    }

    /// Completed sessions per second; `None` if it took no time, or has no sessions.
    #[must_use]
    pub fn sessions_per_s(&self) -> Option<f64> {
        self.per_second(self.info.fill?.completed)
    }

    /// Failed requests of all that were answered or lost.
    #[must_use]
    pub fn failed_share(&self) -> Part {
        Part {
            of: self.info.counts.failed,
            all: self.answers(),
        }
    }

    /// `None` if nothing was answered.
    #[must_use]
    pub fn bytes_per_answer(&self) -> Option<f64> {
        let answers = self.answers();
        (answers > 0).then(|| as_f64(self.info.counts.bytes_received) / as_f64(answers))
    }

    /// `None`: there were none, or such times are not kept of it.
    pub(crate) fn times(&self, kind: TimeKind) -> Option<&TrialPercentiles> {
        match kind {
            TimeKind::Response => self.response.as_ref(),
            TimeKind::Service => self.service.as_ref(),
            _ => None,
        }
    }

    fn answers(&self) -> u64 {
        self.info.counts.succeeded + self.info.counts.failed
    }

    fn per_second(&self, count: u64) -> Option<f64> {
        let seconds = self.info.counts.seconds;
        (seconds > 0.0).then(|| as_f64(count) / seconds)
    }
}

/// In the order of the study.
pub(crate) fn of_trial(info: &TrialInfo) -> Vec<TrialSideLoad> {
    info.loads.iter().map(side_load).collect()
}

fn side_load(load: &LoadInfo) -> TrialSideLoad {
    let times = |quantiles: &Option<_>, count| {
        let quantiles = quantiles.as_ref()?;
        Some(histogram::of_quantiles(quantiles, count))
    };
    let steps = load.steps.iter();
    TrialSideLoad {
        response: times(&load.response_time, load.counts.succeeded),
        service: times(&load.service_time, load.counts.succeeded),
        steps: steps
            .map(|step| times(&step.response_time, step.counts.succeeded))
            .collect(),
        info: load.clone(),
    }
}

/// The highest utilization of a worker thread of the load generator: of the measured load, or of one beside it.
pub(crate) fn utilization(info: &TrialInfo) -> f64 {
    let beside = info.loads_of(LoadRole::Background);
    let all = info
        .generator
        .iter()
        .chain(beside.map(|load| &load.generator));
    all.map(|generator| generator.utilization)
        .fold(0.0, f64::max)
}

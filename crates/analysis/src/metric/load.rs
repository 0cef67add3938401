//! What a trial has of all that is sent, or of one step of it.

use waggle_metrics::NamedMetric;
use waggle_spec::TimeKind;
use waggle_stats::Part;

use crate::{
    metric::reading::Reading,
    recording::histogram::TrialPercentiles,
    trial::{step::TrialStep, trial_model::TrialNumbers},
};

/// All that is sent, or one step of it.
pub(super) enum Load<'a> {
    Whole(&'a TrialNumbers),
    Step(&'a TrialStep),
}

impl<'a> Load<'a> {
    /// A step's, if one has the name; the study's check sees to it that nothing else has.
    pub(super) fn new(named: &NamedMetric<'_>, numbers: &'a TrialNumbers) -> Self {
        let mut steps = numbers.steps.iter();
        let step = steps.find(|step| Some(step.name.as_str()) == named.of);
        step.map_or(Self::Whole(numbers), Self::Step)
    }

    pub(super) fn goodput_per_s(&self) -> f64 {
        match self {
            Self::Whole(numbers) => numbers.goodput_per_s,
            Self::Step(step) => step.goodput_per_s,
        }
    }

    pub(super) fn throughput_per_s(&self) -> f64 {
        match self {
            Self::Whole(numbers) => numbers.throughput_per_s,
            Self::Step(step) => step.throughput_per_s,
        }
    }

    /// Requests that succeeded, and that failed.
    pub(super) fn answer_counts(&self) -> (u64, u64) {
        match self {
            Self::Whole(numbers) => (numbers.counts.succeeded, numbers.counts.failed),
            Self::Step(step) => (step.counts.succeeded, step.counts.failed),
        }
    }

    pub(super) fn error_rate(&self) -> Reading {
        let (succeeded, failed) = self.answer_counts();
        Reading::Share(Part {
            of: failed,
            all: succeeded + failed,
        })
    }

    /// Both times are of the same successes, so the difference of the means is the mean of the differences.
    pub(super) fn client_wait_mean_us(&self) -> Option<f64> {
        let mean_us = |kind| self.times(kind)?.mean_us;
        Some(mean_us(TimeKind::Response)? - mean_us(TimeKind::Service)?)
    }

    /// `None`: the load has no such times, as a step has no sessions.
    pub(super) fn times(&self, kind: TimeKind) -> Option<&'a TrialPercentiles> {
        match self {
            Self::Whole(numbers) => numbers.times[kind].as_ref(),
            Self::Step(step) => step.times.get(kind)?.as_ref(),
        }
    }

    /// What the response times are at least without the generator's lag; `None`: the lag was not noted.
    pub(super) fn response_without_lag(&self) -> Option<&'a TrialPercentiles> {
        match self {
            Self::Whole(numbers) => numbers.response_without_lag.as_ref(),
            Self::Step(step) => step.response_without_lag.as_ref(),
        }
    }
}

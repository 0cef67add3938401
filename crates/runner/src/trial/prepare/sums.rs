//! What a load of a preparation did, in the form of the results.

use std::time::Duration;

use waggle_load::Interval;
use waggle_results::{PrepareLoadInfo, PrepareStepInfo};
use waggle_spec::TimeKind;
use waggle_study::PrepareLoad;

use crate::{
    histogram::quantiles,
    load::counts::{request_counts, step_counts},
};

/// The sums of a load of a preparation.
pub(super) struct Sums {
    pub(super) info: PrepareLoadInfo,
    sum: Interval,
}

impl Sums {
    pub(super) fn new(load: &PrepareLoad, done: u64) -> Self {
        let steps = &load.scenario.steps;
        let step = |name: &String| PrepareStepInfo {
            name: name.clone(),
            counts: waggle_results::StepCounts::default(),
            response_time: None,
        };
        Self {
            info: PrepareLoadInfo {
                name: load.name().to_owned(),
                sessions: load.sessions,
                done_before: done,
                steps: steps.iter().map(step).collect(),
                ..PrepareLoadInfo::default()
            },
            sum: Interval::new(0, Duration::ZERO, steps.len()),
        }
    }

    /// The load has ended after this time.
    pub(super) fn end(&mut self, ran_for: Duration) {
        self.info.seconds = ran_for.as_secs_f64();
        self.info.response_time = quantiles(&self.sum.times[TimeKind::Response]);
        for (info, step) in self.info.steps.iter_mut().zip(&self.sum.steps) {
            info.response_time = quantiles(&step.times[TimeKind::Response]);
        }
    }

    pub(super) fn add(&mut self, interval: &Interval) {
        self.sum.follow(interval);
        let info = &mut self.info;
        info.completed = self.sum.counts.sessions.completed;
        info.failed = self.sum.counts.sessions.failed;
        info.retries = self.sum.counts.sessions.retries;
        info.seconds = (interval.start + interval.length).as_secs_f64();
        info.counts = request_counts(&self.sum.counts);
        for (info, step) in info.steps.iter_mut().zip(&self.sum.steps) {
            info.counts = step_counts(&step.counts);
        }
    }
}

//! What a load of a preparation did, in the form of the results.

use std::time::Duration;

use hdrhistogram::Histogram;
use waggle_load::{self as load, Interval};
use waggle_results::{PrepareLoadInfo, PrepareStepInfo};
use waggle_study::PrepareLoad;

use crate::{
    histogram::{histogram, quantiles},
    load::counts::{request_counts, step_counts},
};

/// The sums of a load of a preparation.
pub(super) struct Sums {
    pub(super) info: PrepareLoadInfo,
    totals: load::Counts,
    steps: Vec<load::StepCounts>,
    times: Times,
}

/// Response times of all requests, and of each step.
struct Times {
    whole: Histogram<u64>,
    steps: Vec<Histogram<u64>>,
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
            totals: load::Counts::default(),
            steps: vec![load::StepCounts::default(); steps.len()],
            times: Times {
                whole: histogram(),
                steps: steps.iter().map(|_| histogram()).collect(),
            },
        }
    }

    /// The load has ended after this time.
    pub(super) fn end(&mut self, ran_for: Duration) {
        self.info.seconds = ran_for.as_secs_f64();
        set_times(&mut self.info, &self.times);
    }

    pub(super) fn add(&mut self, interval: &Interval) {
        self.totals.follow(&interval.counts);
        add(&mut self.times.whole, &interval.response_time);
        let steps = self.steps.iter_mut().zip(&mut self.times.steps);
        for ((counts, times), step) in steps.zip(&interval.steps) {
            counts.join(&step.counts);
            add(times, &step.response_time);
        }
        let info = &mut self.info;
        info.completed = self.totals.sessions.completed;
        info.failed = self.totals.sessions.failed;
        info.retries = self.totals.sessions.retries;
        info.seconds = (interval.start + interval.length).as_secs_f64();
        info.counts = request_counts(&self.totals);
        for (info, counts) in info.steps.iter_mut().zip(&self.steps) {
            info.counts = step_counts(counts);
        }
    }
}

/// All histograms have the same bounds, so no value can be outside.
fn add(sum: &mut Histogram<u64>, part: &Histogram<u64>) {
    sum.add(part).ok();
}

fn set_times(info: &mut PrepareLoadInfo, times: &Times) {
    info.response_time = quantiles(&times.whole);
    for (step, times) in info.steps.iter_mut().zip(&times.steps) {
        step.response_time = quantiles(times);
    }
}

//! The job of the fake load: the mark of its records, its connections, when it ends by itself, and what it sends when.

use std::time::Duration;

use hdrhistogram::Histogram;
use waggle_load::Job;
use waggle_spec::LoadModel;

use crate::tests::world::PER_INTERVAL;

/// The behaviour of a load, interval by interval; intervals are counted from 0.
#[derive(Debug, Clone, Copy)]
pub(in crate::tests) struct Course {
    /// Requests that are due in an interval.
    pub(in crate::tests) requests: fn(u32) -> u64,
    /// Service time in an interval; of a closed load it follows from what is in flight.
    pub(in crate::tests) time: fn(u32) -> Duration,
    /// Limit on the requests that the system answers in an interval. More of them wait.
    pub(in crate::tests) answers_at_most: u64,
    /// How late the generator sends each request.
    pub(in crate::tests) lag: Duration,
}

impl Default for Course {
    fn default() -> Self {
        Self {
            requests: |_| PER_INTERVAL,
            time: |_| Duration::from_millis(1),
            answers_at_most: u64::MAX,
            lag: Duration::from_micros(10),
        }
    }
}

impl Course {
    /// How long a request waits behind this many others.
    pub(super) fn wait(&self, waiting: u64, interval: Duration) -> Duration {
        let intervals = waiting as f64 / self.answers_at_most as f64;
        interval.mul_f64(intervals)
    }
}

/// The run's mark, which is in every record: `waggle_run=MARK`; `None`: the request carries none, so it is of a background load.
pub(super) fn mark_in(request: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(request);
    let (_, rest) = text.split_once("waggle_run=")?;
    Some(rest.split([',', ' ']).next().unwrap().to_owned())
}

/// How many connections a model has.
pub(super) fn connections(model: &LoadModel) -> u64 {
    u64::from(model.connections())
}

/// How many requests a closed load keeps in flight; 0: another load.
pub(super) fn keeps_in_flight(model: &LoadModel) -> u32 {
    match model {
        LoadModel::Closed {
            connections,
            pipelining,
        } => connections * pipelining,
        _ => 0,
    }
}

/// This many samples of one time.
pub(super) fn histogram(time: Duration, count: u64) -> Histogram<u64> {
    let mut histogram = crate::histogram::histogram();
    let us = u64::try_from(time.as_micros()).unwrap();
    histogram.record_n(us, count).unwrap();
    histogram
}

/// When a load ends by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadEnd {
    requests_left: u64,
    at: Option<Duration>,
}

impl LoadEnd {
    pub(super) fn from_job(job: &Job) -> Self {
        let end = job.stages.iter().map(|stage| stage.duration).sum();
        Self {
            requests_left: job.max_requests.unwrap_or(u64::MAX),
            at: (!job.stages.is_empty()).then_some(end),
        }
    }

    /// Whether nothing more is sent from this time on.
    pub(super) fn is_reached(&self, time: Duration) -> bool {
        self.requests_left == 0 || self.at.is_some_and(|end| time >= end)
    }

    /// The requests of the next interval, if this many are due, and the share of it that they take.
    pub(super) fn take(&mut self, due: u64) -> (u64, u32) {
        let requests = self.requests_left.min(due);
        self.requests_left -= requests;
        let percent = 100 * requests / due;
        (requests, u32::try_from(percent).unwrap())
    }
}

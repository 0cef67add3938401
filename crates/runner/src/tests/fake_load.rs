//! What the fake load knows of its job: the mark of its records, its connections, and when it comes to its end by itself; and
//! the times of its requests. Also what the fake store reads from a path.

use std::time::Duration;

use hdrhistogram::Histogram;
use waggle_load::{Job, Model, Rate};

use super::world::PER_INTERVAL;

/// Response time and service time of each request.
pub(super) const TIME: Duration = Duration::from_millis(1);
/// How late each of them goes.
pub(super) const LAG: Duration = Duration::from_micros(10);

/// The run's mark, which stands in every record: `waggle_run=MARK`.
pub(super) fn mark_in(request: &[u8]) -> String {
    let text = String::from_utf8_lossy(request);
    let (_, rest) = text.split_once("waggle_run=").unwrap();
    rest.split([',', ' ']).next().unwrap().to_owned()
}

/// How many connections a model has.
pub(super) fn connections(model: &Model) -> u64 {
    let connections = match model {
        Model::Closed { connections, .. } | Model::Open { connections, .. } => connections,
        Model::Users { users, .. } => users,
    };
    *connections as u64
}

/// So many samples of one time.
pub(super) fn histogram(time: Duration, count: u64) -> Histogram<u64> {
    let mut histogram = crate::probe::histogram();
    let us = u64::try_from(time.as_micros()).unwrap();
    histogram.record_n(us, count).unwrap();
    histogram
}

/// When a load comes to its end by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadEnd {
    requests_left: u64,
    at: Option<Duration>,
}

impl LoadEnd {
    pub(super) fn of(job: &Job) -> Self {
        let at: Option<Duration> = match &job.model {
            Model::Open {
                rate: Rate::Stages(stages),
                ..
            } => Some(stages.iter().map(|stage| stage.over).sum()),
            Model::Users { stages, .. } if !stages.is_empty() => {
                Some(stages.iter().map(|stage| stage.over).sum())
            }
            _ => None,
        };
        Self {
            requests_left: job.requests_at_most.unwrap_or(u64::MAX),
            at,
        }
    }

    /// Whether nothing more is sent from this time on.
    pub(super) fn is_reached(&self, time: Duration) -> bool {
        self.requests_left == 0 || self.at.is_some_and(|at| time >= at)
    }

    /// The requests of the next interval, and the share of it that they take.
    pub(super) fn take(&mut self) -> (u64, u32) {
        let requests = self.requests_left.min(PER_INTERVAL);
        self.requests_left -= requests;
        let percent = 100 * requests / PER_INTERVAL;
        (requests, u32::try_from(percent).unwrap())
    }
}

/// `/store/OFFSET/LIMIT`.
pub(super) fn offset_and_limit(path: &str) -> (usize, usize) {
    let mut numbers = path.split('/').filter_map(|part| part.parse().ok());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

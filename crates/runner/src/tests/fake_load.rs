//! What the fake load knows of its job: the mark of its records, and when it comes to its end by itself.

use std::time::Duration;

use hdrhistogram::Histogram;
use waggle_load::{Job, Model, Rate};

use super::world::PER_INTERVAL;

/// The run's mark, which stands in every record: `waggle_run=MARK`.
pub(super) fn mark_in(request: &[u8]) -> String {
    let text = String::from_utf8_lossy(request);
    let (_, rest) = text.split_once("waggle_run=").unwrap();
    rest.split([',', ' ']).next().unwrap().to_owned()
}

pub(super) fn latencies(count: u64) -> Histogram<u64> {
    let mut histogram = crate::probe::histogram();
    histogram.record_n(1_000, count).unwrap();
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

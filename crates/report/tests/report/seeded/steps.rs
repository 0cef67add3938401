//! The made-up steps of a scenario: each has its share of an interval's requests.

use hdrhistogram::Histogram;
use waggle_results::{CountsRow, SessionCounts, StepCounts};
use waggle_spec::{StepTimes, TimeKind, Times};

use super::{Seeded, trial::spread};

/// The steps of one interval.
pub(super) struct Steps {
    pub(super) counts: Vec<StepCounts>,
    /// Of successes and of failures.
    times: Vec<(Histogram<u64>, Histogram<u64>)>,
}

impl Steps {
    /// Each step has its share of the requests; what fails, fails in the last one.
    pub(super) fn new(seeded: &Seeded, counts: &CountsRow, mean_us: f64) -> Self {
        let last = seeded.steps.len().saturating_sub(1);
        let mut left = counts.succeeded;
        let mut steps = Self {
            counts: Vec::new(),
            times: Vec::new(),
        };
        for (place, (_, share, longer)) in seeded.steps.iter().enumerate() {
            let is_last = place == last;
            let succeeded = if is_last {
                left
            } else {
                (counts.succeeded as f64 * share) as u64
            };
            left -= succeeded;
            let failed = if is_last { counts.failed } else { 0 };
            steps.counts.push(StepCounts {
                sent: succeeded + failed,
                succeeded,
                failed,
                failures: if is_last {
                    counts.failures.clone()
                } else {
                    Vec::new()
                },
            });
            steps
                .times
                .push((spread(succeeded, mean_us * longer), spread(failed, 900.0)));
        }
        steps
    }

    pub(super) fn histograms(&self) -> Vec<StepTimes<&Histogram<u64>>> {
        let steps = self.times.iter();
        steps
            .map(|(times, failed_time)| {
                Times::from_fn(|kind| match kind {
                    TimeKind::Failed => failed_time,
                    _ => times,
                })
            })
            .collect()
    }

    pub(super) fn sessions(&self) -> Option<SessionCounts> {
        self.counts.last().map(sessions_of)
    }

    pub(super) fn session_duration(&self, typical_us: f64) -> Option<Histogram<u64>> {
        let completed = self.sessions()?.completed;
        Some(spread(completed, 5.0 * typical_us))
    }
}

/// A session sends its last step once.
pub(super) fn sessions_of(last: &StepCounts) -> SessionCounts {
    SessionCounts {
        started: last.sent,
        completed: last.succeeded,
        failed: last.failed,
    }
}

//! CPU and memory over time: cumulative readings → rows of one sampling period each. Pure.

use std::time::Duration;

use tokio::time::Instant;
use waggle_results::ResourceRow;
use waggle_system::host::usage::Usage;

use crate::{clock::Clock, number::share};

/// Remembers the last reading.
#[derive(Debug)]
pub(crate) struct Sampler {
    clock: Clock,
    at: Instant,
    before: Vec<Usage>,
    has_rows: bool,
}

impl Sampler {
    pub(crate) fn new(instant: Instant, clock: Clock, usage: Vec<Usage>) -> Self {
        Self {
            clock,
            at: instant,
            before: usage,
            has_rows: false,
        }
    }

    /// Whether no period has ended so far.
    pub(crate) fn has_no_rows(&self) -> bool {
        !self.has_rows
    }

    /// The rows of the period that ends now.
    pub(crate) fn sample(&mut self, instant: Instant, usage: Vec<Usage>) -> Vec<ResourceRow> {
        let at_s = self.clock.seconds(instant);
        let length = (instant - self.at).as_secs_f64();
        let row = |now: &Usage| ResourceRow {
            at_s,
            component: now.replica.clone(),
            cpu_cores: share(self.cpu_since(now).as_secs_f64(), length),
            rss_bytes: now.rss_bytes,
            threads: now.threads,
        };
        let rows = usage.iter().map(row).collect();
        self.at = instant;
        self.has_rows = true;
        self.before = usage;
        rows
    }

    fn cpu_since(&self, now: &Usage) -> Duration {
        let before = self
            .before
            .iter()
            .find(|before| before.replica == now.replica);
        // A replica without an earlier reading used all of it in this period; the time of a process that ended is lost.
        now.cpu
            .saturating_sub(before.map_or(Duration::ZERO, |before| before.cpu))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;
    use waggle_system::host::usage::Usage;

    use super::Sampler;
    use crate::clock::Clock;

    fn usage(replica: &str, cpu_ms: u64) -> Usage {
        Usage {
            replica: replica.to_owned(),
            cpu: Duration::from_millis(cpu_ms),
            rss_bytes: 7,
            threads: 2,
        }
    }

    #[test]
    fn a_row_is_the_difference_between_two_readings() {
        let start = Instant::now();
        let mut sampler = Sampler::new(start, Clock::start(), vec![usage("a-0", 100)]);
        let check =
            |sampler: &mut Sampler, after_ms: u64, readings: Vec<Usage>, expected: &[f64]| {
                let rows = sampler.sample(start + Duration::from_millis(after_ms), readings);
                let cores: Vec<f64> = rows
                    .iter()
                    .map(|row| (row.cpu_cores * 1e6).round() / 1e6)
                    .collect();
                assert_eq!(cores, expected);
            };
        check(
            &mut sampler,
            500,
            vec![usage("a-0", 350), usage("b-0", 50)],
            &[0.5, 0.1],
        );
        check(
            &mut sampler,
            1000,
            vec![usage("a-0", 300), usage("b-0", 50)],
            &[0.0, 0.0],
        );
        check(&mut sampler, 1000, vec![usage("a-0", 900)], &[0.0]);
    }
}

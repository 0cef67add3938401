//! CPU and memory over time: cumulative readings → rows of one sampling period each.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use waggle_results::{ResourceRow, TrialInfo};
use waggle_study::Cell;
use waggle_system::{components::driver::Driver, host::usage::Usage};

use crate::{
    clock::Clock,
    number::share,
    trial::{
        beside::companion::{Companion, Follow, LoadCourse, Part, View},
        phases::Abort,
    },
};

/// Samples of a system, from the start of its load on.
#[derive(Debug)]
pub(in crate::trial) struct Samples {
    period: Duration,
    sampler: Sampler,
}

impl Samples {
    pub(in crate::trial) fn new(cell: &Cell, before: Clock) -> Self {
        Self {
            period: cell.schedule.sampling_interval,
            sampler: Sampler::new(Instant::now(), before, Vec::new()),
        }
    }

    /// Samples repeatedly; returns only if writing to disk fails.
    async fn repeat<D: Driver, W>(&mut self, view: &View<'_, D, W>) -> Abort {
        let mut next = Instant::now();
        loop {
            // A late sample is not made up for: the time of a row gives the length of its period.
            next = (next + self.period).max(Instant::now());
            sleep_until(next).await;
            if let Err(abort) = self.write(view) {
                return abort;
            }
        }
    }

    fn write<D: Driver, W>(&mut self, view: &View<'_, D, W>) -> Result<(), Abort> {
        let usage = view.driver.usage();
        for row in self.sampler.sample(Instant::now(), usage) {
            view.trial.writer.borrow_mut().resource(&row)?;
        }
        Ok(())
    }
}

impl<D: Driver, L, W> Companion<D, L, W> for Samples {
    fn load_started(&mut self, view: &View<'_, D, W>, load: &LoadCourse) -> Result<(), Abort> {
        let usage = view.driver.usage();
        self.sampler = Sampler::new(Instant::now(), load.clock, usage);
        Ok(())
    }

    fn follow<'t>(&'t mut self, view: &'t View<'t, D, W>, _part: Part<'t>) -> Follow<'t> {
        Follow::Throughout(Box::pin(self.repeat(view)))
    }

    /// Writes the only row of a load that was shorter than the sampling period.
    fn note_load(&mut self, view: &View<'_, D, W>, _info: &mut TrialInfo) -> Result<(), Abort> {
        match self.sampler.has_rows {
            true => Ok(()),
            false => self.write(view),
        }
    }
}

/// Remembers the last reading.
#[derive(Debug)]
struct Sampler {
    clock: Clock,
    at: Instant,
    before: Vec<Usage>,
    /// Whether a period has ended.
    has_rows: bool,
}

impl Sampler {
    fn new(instant: Instant, clock: Clock, usage: Vec<Usage>) -> Self {
        Self {
            clock,
            at: instant,
            before: usage,
            has_rows: false,
        }
    }

    /// The rows of the period that ends now.
    fn sample(&mut self, instant: Instant, usage: Vec<Usage>) -> Vec<ResourceRow> {
        let at_s = self.clock.seconds(instant);
        let length = (instant - self.at).as_secs_f64();
        let row = |now: &Usage| {
            Some(ResourceRow {
                at_s,
                component: now.replica.clone(),
                cpu_cores: share(self.cpu_since(now).as_secs_f64(), self.length(now, length)?),
                rss_bytes: now.rss_bytes,
                threads: now.threads,
            })
        };
        let rows = usage.iter().filter_map(row).collect();
        self.at = instant;
        self.has_rows = true;
        self.before = usage;
        rows
    }

    /// The length of a reading's period; `length`: between two samples. `None`: it is no new reading, or the first of a replica that is
    /// read less often than samples are taken.
    fn length(&self, now: &Usage, length: f64) -> Option<f64> {
        let Some(read_at) = now.read_at else {
            return Some(length);
        };
        let mut before = self.before.iter();
        let before = before
            .find(|before| before.replica == now.replica)?
            .read_at?;
        let period = read_at.checked_sub(before)?;
        (!period.is_zero()).then_some(period.as_secs_f64())
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
            read_at: None,
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

    /// A kubelet looks every ten seconds.
    #[test]
    fn what_is_read_less_often_has_a_row_for_each_reading() {
        let read = |cpu_ms: u64, at_s: u64| Usage {
            read_at: Some(Duration::from_secs(at_s)),
            ..usage("a-0", cpu_ms)
        };
        let start = Instant::now();
        let mut sampler = Sampler::new(start, Clock::start(), Vec::new());
        let mut check = |after_s: u64, reading: Usage, expected: &[f64]| {
            let rows = sampler.sample(start + Duration::from_secs(after_s), vec![reading]);
            let cores: Vec<f64> = rows.iter().map(|row| row.cpu_cores).collect();
            assert_eq!(cores, expected);
        };
        check(1, read(1_000, 100), &[]);
        check(2, read(1_000, 100), &[]);
        check(3, read(6_000, 110), &[0.5]);
        check(4, read(6_000, 110), &[]);
    }
}

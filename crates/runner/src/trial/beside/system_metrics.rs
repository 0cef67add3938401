//! Metrics of the system, which are read repeatedly while load runs and after.

use std::{cell::RefCell, time::Duration};

use tokio::time::{Instant, sleep_until, timeout};
use waggle_results::{SystemMetricRow, TrialKey, TrialWriter};
use waggle_study::{System, SystemMetric};
use waggle_system::{
    components::metric_source::Source,
    http::{client::Connection, peer::Peer},
    problem::Problem,
};

use crate::{clock::Clock, event::Event, event_sender::Events, trial::phases::Abort};

/// Timeout of the last reading of all metrics.
const LAST_AT_MOST: Duration = Duration::from_secs(5);

/// All metrics of the system in one trial.
#[derive(Debug)]
pub(crate) struct SystemMetrics<N> {
    followed: Vec<Followed<N>>,
    period: Duration,
    clock: Clock,
}

#[derive(Debug)]
struct Followed<N> {
    name: String,
    source: Result<Source<N>, Problem>,
    growth: Option<Growth>,
    /// From the number that is read, or its growth, to the unit of the values.
    factor: f64,
    /// It is compared with a count of the load generator, so that it is also read before the load.
    is_compared: bool,
    /// What was read before the load.
    before: Option<f64>,
    readings: u64,
    problems: u64,
    last_problem: String,
}

/// How often a number is read, and on which time axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampling {
    pub(crate) period: Duration,
    pub(crate) clock: Clock,
}

impl<N: Connection> SystemMetrics<N> {
    pub(crate) fn new(
        system: &System,
        Sampling { period, clock }: Sampling,
        peers: impl Fn(&SystemMetric) -> Vec<Peer>,
        connection: impl Fn(&Peer) -> N,
    ) -> Self {
        let followed = |metric: &SystemMetric| {
            let source = Source::new(metric, &peers(metric), &connection);
            Followed::new(metric, source)
        };
        Self {
            followed: system.metrics.iter().map(followed).collect(),
            period,
            clock,
        }
    }

    /// Reads the numbers whose growth during the load is compared.
    pub(crate) async fn read_before_load(&mut self) {
        let compared = self.followed.iter_mut().filter(|metric| metric.is_compared);
        for followed in compared {
            followed.before = followed.read().await;
        }
    }

    /// The load has started, with this clock: what was read before it is the value at its start.
    pub(crate) fn load_started(
        &mut self,
        clock: Clock,
        writer: &RefCell<TrialWriter>,
    ) -> Result<(), Abort> {
        self.clock = clock;
        for followed in &mut self.followed {
            let Some(value) = followed.before.take() else {
                continue;
            };
            let row = SystemMetricRow {
                at_s: 0.0,
                metric: followed.name.clone(),
                value,
            };
            writer.borrow_mut().metric(&row)?;
        }
        Ok(())
    }

    /// Reads repeatedly; ends only if the disk refuses.
    pub(crate) async fn follow(&mut self, writer: &RefCell<TrialWriter>) -> Abort {
        if self.followed.is_empty() {
            return std::future::pending().await;
        }
        let mut next = Instant::now();
        loop {
            // A late reading is not made up for: a row has its own time.
            next = (next + self.period).max(Instant::now());
            sleep_until(next).await;
            if let Err(abort) = self.read(writer).await {
                return abort;
            }
        }
    }

    /// Reads for the last time, and returns the remarks.
    pub(crate) async fn conclude(
        &mut self,
        writer: &RefCell<TrialWriter>,
        key: TrialKey,
        events: &Events,
    ) -> Result<Vec<String>, Abort> {
        self.read_last(writer).await?;
        self.warn_of_never_read(key, events).await;
        Ok(self.remarks())
    }

    /// Reads once more after the load and the drain, for the final values. A metric that cannot be read in time is left out.
    async fn read_last(&mut self, writer: &RefCell<TrialWriter>) -> Result<(), Abort> {
        let read = timeout(LAST_AT_MOST, self.read(writer)).await;
        read.unwrap_or(Ok(()))
    }

    async fn read(&mut self, writer: &RefCell<TrialWriter>) -> Result<(), Abort> {
        for followed in &mut self.followed {
            let Some(value) = followed.read().await else {
                continue;
            };
            let row = SystemMetricRow {
                at_s: self.clock.elapsed().as_secs_f64(),
                metric: followed.name.clone(),
                value,
            };
            writer.borrow_mut().metric(&row)?;
        }
        Ok(())
    }

    /// Says on the screen why metrics could not be read even once: a name is probably wrong. Once for each cell is enough.
    async fn warn_of_never_read(&self, key: TrialKey, events: &Events) {
        let never = self.followed.iter();
        let never = never.filter(|metric| metric.problems > 0 && metric.readings == 0);
        for metric in never.filter(|_| key.repetition == 1) {
            let why = format!(
                "metric {} was never read: {}",
                metric.name, metric.last_problem
            );
            events.report(Event::Warning(why)).await;
        }
    }

    /// Remarks for the report.
    fn remarks(&self) -> Vec<String> {
        let troubled = self
            .followed
            .iter()
            .filter(|followed| followed.problems > 0);
        troubled
            .map(|followed| {
                format!(
                    "metric {} could not be read {} times of {}: {}",
                    followed.name,
                    followed.problems,
                    followed.problems + followed.readings,
                    followed.last_problem
                )
            })
            .collect()
    }
}

/// The last reading of a counter.
#[derive(Debug, Default)]
struct Growth {
    last: Option<(Instant, f64)>,
}

impl Growth {
    /// Its growth per second since; `None` the first time, and if the counter was reset.
    fn per_second(&mut self, now: Instant, value: f64) -> Option<f64> {
        let (instant, before) = self.last.replace((now, value))?;
        let seconds = now.saturating_duration_since(instant).as_secs_f64();
        (value >= before && seconds > 0.0).then(|| (value - before) / seconds)
    }
}

impl<N: Connection> Followed<N> {
    fn new(metric: &SystemMetric, source: Result<Source<N>, Problem>) -> Self {
        Self {
            name: metric.name.clone(),
            source,
            growth: metric.per_second.then(Growth::default),
            factor: metric.unit.factor,
            is_compared: metric.comparison.is_some(),
            before: None,
            readings: 0,
            problems: 0,
            last_problem: String::new(),
        }
    }

    async fn read(&mut self) -> Option<f64> {
        let read = match &mut self.source {
            Ok(source) => source.read().await,
            Err(problem) => Err(problem.clone()),
        };
        match read {
            Ok(value) => {
                self.readings += 1;
                let value = match &mut self.growth {
                    Some(growth) => growth.per_second(Instant::now(), value),
                    None => Some(value),
                };
                value.map(|value| value * self.factor)
            }
            Err(problem) => {
                self.problems += 1;
                self.last_problem = problem.to_string();
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Growth;

    #[test]
    fn growth_is_per_second_and_restarts_with_the_counter() {
        let start = Instant::now();
        let mut growth = Growth::default();
        let mut check = |at_ms: u64, value: f64, expected: Option<f64>| {
            let now = start + Duration::from_millis(at_ms);
            assert_eq!(growth.per_second(now, value), expected, "at {at_ms} ms");
        };
        check(0, 100.0, None);
        check(500, 150.0, Some(100.0));
        check(500, 150.0, None);
        check(2_500, 150.0, Some(0.0));
        check(3_500, 7.0, None);
        check(4_500, 17.0, Some(10.0));
    }
}

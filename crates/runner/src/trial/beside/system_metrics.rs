//! Metrics of the system, which are read repeatedly while load runs and after.

use std::{cell::RefCell, time::Duration};

use tokio::time::{Instant, sleep_until, timeout};
use waggle_load::Outcome;
use waggle_results::{SystemMetricRow, TrialInfo, TrialWriter};
use waggle_study::SystemMetric;
use waggle_system::{
    components::{driver::Driver, metric_source::Source},
    http::client::{Connection, HttpConnector},
    problem::Problem,
};

use crate::{
    clock::Clock,
    event::Event,
    trial::{
        Trial, TrialEnvironment,
        beside::companion::{Companion, Follow, LoadCourse, Part, View, Work},
        phases::Abort,
    },
};

/// Timeout of the last reading of all metrics.
const LAST_AT_MOST: Duration = Duration::from_secs(5);

/// All metrics of the system in one trial.
#[derive(Debug)]
pub(in crate::trial) struct SystemMetrics<N> {
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

impl<N: Connection> SystemMetrics<N> {
    /// Those of a system that is up. Reads the numbers whose growth during the load is compared.
    pub(in crate::trial) async fn set_up<D: Driver, L, W: HttpConnector<Connection = N>>(
        trial: &Trial<'_>,
        environment: &TrialEnvironment<D, L, W>,
        before: Clock,
    ) -> Self {
        let TrialEnvironment { driver, http, .. } = environment;
        let followed = |metric: &SystemMetric| {
            let peers = driver.peers(&metric.component, &metric.port);
            let source = Source::new(metric, &peers, |peer| http.connection(peer));
            Followed::new(metric, source)
        };
        let context = trial.context;
        let mut followed: Vec<Followed<N>> = context.system.metrics.iter().map(followed).collect();
        for compared in followed.iter_mut().filter(|metric| metric.is_compared) {
            compared.before = compared.read().await;
        }
        Self {
            followed,
            period: context.cell.schedule.sampling_interval,
            clock: before,
        }
    }

    /// Reads repeatedly; ends only if the disk refuses.
    async fn repeat(&mut self, writer: &RefCell<TrialWriter>) -> Abort {
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
    async fn warn_of_never_read(&self, trial: &Trial<'_>) {
        let never = self.followed.iter();
        let never = never.filter(|metric| metric.problems > 0 && metric.readings == 0);
        for metric in never.filter(|_| trial.context.key.repetition == 1) {
            let why = format!(
                "metric {} was never read: {}",
                metric.name, metric.last_problem
            );
            trial.events.report(Event::Warning(why)).await;
        }
    }
}

impl<D: Driver, L, W: HttpConnector> Companion<D, L, W> for SystemMetrics<W::Connection> {
    /// What was read before the load is the value at its start.
    fn load_started(&mut self, view: &View<'_, D, W>, load: &LoadCourse) -> Result<(), Abort> {
        self.clock = load.clock;
        for followed in &mut self.followed {
            let Some(value) = followed.before.take() else {
                continue;
            };
            let row = SystemMetricRow {
                at_s: 0.0,
                metric: followed.name.clone(),
                value,
            };
            view.trial.writer.borrow_mut().metric(&row)?;
        }
        Ok(())
    }

    fn follow<'t>(&'t mut self, view: &'t View<'t, D, W>, _part: Part<'t>) -> Follow<'t> {
        match self.followed.is_empty() {
            true => Follow::Nothing,
            false => Follow::Throughout(Box::pin(self.repeat(view.trial.writer))),
        }
    }

    fn collect<'t>(
        &'t mut self,
        view: &'t View<'t, D, W>,
        _outcome: &'t Outcome,
        info: &'t mut TrialInfo,
    ) -> Work<'t, Result<(), Abort>> {
        let trial = view.trial;
        Box::pin(async {
            // Once more after the load and the drain, for the final values. A metric that cannot be read in time is left out.
            let read = timeout(LAST_AT_MOST, self.read(trial.writer)).await;
            read.unwrap_or(Ok(()))?;
            self.warn_of_never_read(trial).await;
            let troubled = self.followed.iter();
            for followed in troubled.filter(|followed| followed.problems > 0) {
                info.remarks.push(format!(
                    "metric {} could not be read {} times of {}: {}",
                    followed.name,
                    followed.problems,
                    followed.problems + followed.readings,
                    followed.last_problem
                ));
            }
            Ok(())
        })
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

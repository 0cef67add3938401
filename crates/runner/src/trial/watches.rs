//! Numbers of the system that are read again and again while load runs and after.

use std::{cell::RefCell, net::SocketAddr, time::Duration};

use tokio::time::{Instant, sleep_until};
use waggle_results::{TrialWriter, WatchRow};
use waggle_study::{System, Watch};

use crate::{clock::Clock, trial::phases::Cut, watch::Source, web::Line};

/// All watches of one trial.
#[derive(Debug)]
pub(crate) struct Watches<N> {
    watched: Vec<Watched<N>>,
    period: Duration,
    clock: Clock,
}

#[derive(Debug)]
struct Watched<N> {
    name: String,
    source: Result<Source<N>, String>,
    readings: u64,
    problems: u64,
    last_problem: String,
}

impl<N: Line> Watches<N> {
    pub(crate) fn new(
        system: &System,
        (period, clock): (Duration, Clock),
        addresses: impl Fn(&Watch) -> Vec<SocketAddr>,
        line: impl Fn(SocketAddr) -> N,
    ) -> Self {
        let watched = |watch: &Watch| Watched {
            name: watch.name.clone(),
            source: Source::new(watch, &addresses(watch), &line),
            readings: 0,
            problems: 0,
            last_problem: String::new(),
        };
        Self {
            watched: system.watches.iter().map(watched).collect(),
            period,
            clock,
        }
    }

    /// Reads again and again; ends only where the disk refuses.
    pub(crate) async fn follow(&mut self, writer: &RefCell<TrialWriter>) -> Cut {
        if self.watched.is_empty() {
            return std::future::pending().await;
        }
        let mut next = Instant::now();
        loop {
            // Late readings are not made up for: a row says when it was made.
            next = (next + self.period).max(Instant::now());
            sleep_until(next).await;
            for watched in &mut self.watched {
                let Some(value) = watched.read().await else {
                    continue;
                };
                let row = WatchRow {
                    at_s: self.clock.elapsed().as_secs_f64(),
                    watch: watched.name.clone(),
                    value,
                };
                if let Err(problem) = writer.borrow_mut().watch(&row) {
                    return problem.into();
                }
            }
        }
    }

    /// What is worth a line in the report.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let troubled = self.watched.iter().filter(|watched| watched.problems > 0);
        troubled
            .map(|watched| {
                format!(
                    "watch {} could not be read {} times of {}: {}",
                    watched.name,
                    watched.problems,
                    watched.problems + watched.readings,
                    watched.last_problem
                )
            })
            .collect()
    }
}

impl<N: Line> Watched<N> {
    async fn read(&mut self) -> Option<f64> {
        let read = match &mut self.source {
            Ok(source) => source.read().await,
            Err(problem) => Err(problem.clone()),
        };
        match read {
            Ok(value) => {
                self.readings += 1;
                Some(value)
            }
            Err(problem) => {
                self.problems += 1;
                self.last_problem = problem;
                None
            }
        }
    }
}

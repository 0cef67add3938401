//! Follows a load while it runs: takes each interval, adds it up, writes rows, shows what is asked for, listens to Ctrl-C.

use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use waggle_load::Interval;
use waggle_runner::cpu_time::CpuClocks;

use super::{
    cpus::Cpus,
    job::Planned,
    series::{self, Series},
    summary::Row,
    view::View,
};
use crate::{
    interrupts::Interrupts,
    trial::{
        gather::{Gather, Gathered},
        phase::Phase,
        so_far::SoFar,
    },
};

/// How long an interval is awaited before the end and the interrupts are looked at.
const WAIT: Duration = Duration::from_millis(100);
/// So many rows are kept for the JSON's series.
const ROWS_MAX: usize = 100_000;

/// What was seen of a load.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) started: SystemTime,
    pub(crate) so_far: SoFar,
    pub(crate) rows: Vec<Row>,
}

/// Runs the load to its end, or to the first Ctrl-C, after which the answers under way are awaited; after a second one
/// they are not. A third ends the program.
///
/// # Errors
/// The engine cannot be started, or a file of the series cannot be written.
pub(crate) fn watch(
    planned: &Planned,
    (series, view): (&mut Series, &mut View),
    interrupts: &Interrupts,
    clocks: &CpuClocks,
) -> Result<Watched> {
    let mut watching = Watching::new(planned, series, view);
    watching.watched.so_far.kept_awake = clocks.loops.is_some();
    let running = waggle_load::start(planned.job.clone())?;
    watching.cpus = Cpus::started(clocks);
    let since = Instant::now();
    watching.watched.started = SystemTime::now();
    watching.series.begin(watching.watched.started)?;
    let stop = running.stop_handle();
    interrupts.follow(move || stop.stop());
    watching.view.begin(planned, interrupts)?;
    let mut interrupted_at = None;
    loop {
        let asked = interrupts.count();
        if asked > 0 && interrupted_at.is_none() {
            interrupted_at = Some(since.elapsed());
            watching.watched.so_far.interrupted = true;
        }
        match running.next_interval(WAIT) {
            Some(interval) => {
                watching.take(&interval, interrupted_at)?;
                if watching.watched.so_far.certificate_is_refused() {
                    // It will be until the end.
                    running.stop();
                }
            }
            None if running.has_ended() => break,
            None => {}
        }
        if asked > 1 {
            // Dropped in mid-run: whoever asks twice does not want to wait for answers.
            return watching.end();
        }
    }
    let outcome = running.join();
    watching.watched.so_far.loops_ended = !clocks.loops_run();
    watching.watched.so_far.totals = outcome.totals;
    watching.watched.so_far.ran_for = outcome.ran_for;
    watching.watched.so_far.feeds_used_up = outcome.feeds_used_up;
    watching.watched.so_far.unconnected_for = outcome.unconnected_for;
    watching.end()
}

/// What would be watched of a load with these intervals.
#[cfg(test)]
pub(crate) fn replayed(planned: &Planned, intervals: &[Interval]) -> Watched {
    let mut series = Series::create(None, None).expect("there is nothing to create");
    let mut view = View::Quiet;
    let mut watching = Watching::new(planned, &mut series, &mut view);
    for interval in intervals {
        watching
            .take(interval, None)
            .expect("there is nothing to write");
    }
    watching.end().expect("there is nothing to write")
}

struct Watching<'a> {
    planned: &'a Planned,
    series: &'a mut Series,
    view: &'a mut View,
    watched: Watched,
    rows: Gather,
    phase: Phase,
    cpus: Cpus,
}

impl<'a> Watching<'a> {
    fn new(planned: &'a Planned, series: &'a mut Series, view: &'a mut View) -> Self {
        Self {
            planned,
            series,
            view,
            watched: Watched {
                started: SystemTime::now(),
                so_far: SoFar::new(planned.shape.clone()),
                rows: Vec::new(),
            },
            rows: Gather::new(planned.row),
            phase: Phase::WarmUp,
            cpus: Cpus::default(),
        }
    }

    fn take(&mut self, interval: &Interval, interrupted_at: Option<Duration>) -> Result<()> {
        let phase = self.phase_of(interval, interrupted_at);
        if phase != self.phase {
            self.close_row()?;
            self.phase = phase;
        }
        let so_far = &mut self.watched.so_far;
        so_far.add(interval, phase);
        so_far.cpus = self.cpus.interval(phase).or(so_far.cpus);
        self.view.interval(interval, phase, so_far);
        match self.rows.add(interval) {
            Some(gathered) => self.row(&gathered),
            None => Ok(()),
        }
    }

    /// The measured time begins and ends with an interval. The interval of an interrupt is not whole, and counts only
    /// where there is no other. Intervals are whole nanoseconds, so that the last may end a few of them before the time.
    fn phase_of(&self, interval: &Interval, interrupted_at: Option<Duration>) -> Phase {
        let end = self.planned.measure.map(|time| self.planned.warm_up + time);
        let whole = interval.start + self.planned.job.interval;
        let is_cut =
            interrupted_at.is_some_and(|at| at < whole) && !self.watched.so_far.answers.is_empty();
        if interval.start < self.planned.warm_up {
            Phase::WarmUp
        } else if self.phase == Phase::Finish
            || is_cut
            || end.is_some_and(|end| interval.start + self.planned.job.interval / 2 >= end)
        {
            Phase::Finish
        } else {
            Phase::Measured
        }
    }

    fn close_row(&mut self) -> Result<()> {
        match self.rows.rest() {
            Some(gathered) => self.row(&gathered),
            None => Ok(()),
        }
    }

    fn row(&mut self, gathered: &Gathered) -> Result<()> {
        let row = series::row(gathered, self.phase);
        self.series.row(&row, gathered)?;
        self.view.row(&row);
        if self.watched.rows.len() < ROWS_MAX {
            self.watched.rows.push(row);
        }
        Ok(())
    }

    fn end(mut self) -> Result<Watched> {
        self.close_row()?;
        self.series.end()?;
        self.view.end();
        Ok(self.watched)
    }
}

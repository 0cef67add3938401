//! Warm-up, measured phase, recovery and finish: intervals are written as they arrive, and decide when the next phase begins.

mod steadiness;
pub(super) mod stop_watch;

use std::{cell::RefCell, future::pending, sync::Arc, time::Duration};

use tokio::{sync::watch, task::yield_now, time::Instant};
use waggle_load::{Counts, Interval};
use waggle_results::{
    ControlInfo, CountsRow, IntervalHistograms, PhaseName, RecoveryInfo, StoppedInfo, TrialWriter,
};
use waggle_spec::{TimeSource, Times, WarmUpUntil};
use waggle_study::{Cell, Recovery, Schedule};
use waggle_system::{
    components::driver::{Driver, Failure},
    host::usage::of_system,
    shutdown::Shutdown,
};

use crate::{
    event::Event,
    event_sender::IntervalEvents,
    load::{
        counts::{Carried, Measured, interval_row, tls_obstacle},
        job,
        job::{falls_with, intervals_in},
        load_run::{LoadError, LoadRun},
    },
    probe::Window,
    trial::{
        duet::Part,
        load_phases::{
            steadiness::WarmUp,
            stop_watch::{StopWatch, in_words},
        },
        phases::Abort,
    },
};

/// How often what the CPUs do is shown: who uses them is read of many processes.
const READING_INTERVAL: Duration = Duration::from_secs(1);

/// The load of one trial while it runs.
pub(crate) struct LoadPhases<'a, R> {
    pub(crate) run: R,
    pub(crate) writer: &'a RefCell<TrialWriter>,
    pub(crate) events: IntervalEvents,
    pub(crate) carried: Carried,
    /// Whether answers are inspected.
    pub(crate) inspects: bool,
    /// Length of an interval in the study.
    pub(crate) interval: Duration,
    /// Publishes the measured phase.
    pub(crate) window: watch::Sender<Option<Window>>,
    /// Whether the load is to end early.
    pub(crate) shutdown: Shutdown,
    pub(crate) stop_watch: StopWatch,
    pub(crate) progress: Progress,
}

/// Sums over the intervals so far.
pub(crate) struct Progress {
    pub(crate) measured: Measured,
    /// The measured intervals, once they are known.
    pub(crate) window: Option<Window>,
    /// The intervals after the load dropped, as far as they were reached.
    pub(crate) recovery: Option<Window>,
    in_flight: u64,
    /// End of the last interval, in intervals since the start.
    done: u64,
    /// The same as a duration.
    until: Duration,
    /// End of the measured phase if it is inside an interval.
    pub(crate) measured_until: Option<Duration>,
    /// Why the trial was ended early.
    pub(crate) stopped: Option<StoppedInfo>,
    /// The user ended the load early, and the result has what was measured by then.
    pub(crate) was_enough: bool,
    /// The whole load so far, with warm-up and last answers.
    pub(crate) all: Measured,
    totals: Counts,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            measured: Measured::default(),
            window: None,
            recovery: None,
            in_flight: 0,
            done: 0,
            until: Duration::ZERO,
            measured_until: None,
            stopped: None,
            was_enough: false,
            all: Measured::default(),
            totals: Counts::default(),
        }
    }
}

/// The next event of a load.
enum Next {
    Interval(Arc<Interval>),
    Ended,
    /// The user wants the load to end.
    Enough,
}

impl<R: LoadRun> LoadPhases<'_, R> {
    /// Loads until the system is steady or the warm-up times out; `None` if steadiness was not asked for.
    pub(crate) async fn warm_up(
        &mut self,
        schedule: &Schedule,
        driver: &impl Driver,
        duet: Option<Part<'_>>,
    ) -> Result<Option<bool>, Abort> {
        let last = intervals_in(schedule.warm_up, self.interval);
        let first = schedule
            .ramp_up
            .map_or(0, |ramp_up| intervals_in(ramp_up.duration, self.interval));
        let mut warm_up = WarmUp::new(schedule.warm_up);
        let mut cpu = of_system(&driver.usage());
        let (mut is_steady, mut is_over) = (false, false);
        let enough = match schedule.warm_up_until {
            WarmUpUntil::Requests(requests) => requests,
            WarmUpUntil::Steady | WarmUpUntil::Duration => u64::MAX,
        };
        let mut answered = 0;
        while self.progress.done < last && !is_over && answered < enough {
            let interval = match self.next_or_enough().await? {
                Next::Interval(interval) => interval,
                Next::Ended => return Err(ended_before("the warm-up was over")),
                Next::Enough => {
                    self.run.stop();
                    let why = "the load was ended in its warm-up, nothing was measured";
                    return Err(Failure::new(why).into());
                }
            };
            answered += interval.counts.succeeded + interval.counts.failed;
            self.write(PhaseName::WarmUp, &interval)?;
            self.stop_early(&interval)?;
            let cpu_now = of_system(&driver.usage());
            let used = cpu_now.saturating_sub(cpu);
            cpu = cpu_now;
            // A load before its rise says nothing about its later state.
            let steady_now = self.progress.done > first && warm_up.add(&interval, used);
            is_steady |= steady_now && schedule.warm_up_until == WarmUpUntil::Steady;
            is_over = is_steady && duet.is_none_or(|duet| duet.is_warm(self.progress.done));
        }
        Ok((schedule.warm_up_until == WarmUpUntil::Steady).then_some(is_steady))
    }

    /// Loads for as many whole intervals as the measured phase has; if the load drops after it, until it does.
    pub(crate) async fn measure(&mut self, cell: &Cell, driver: &impl Driver) -> Result<(), Abort> {
        let from = self.progress.done;
        let to = match falls_with(cell) {
            Some(to) if to <= from => {
                let why = "the load dropped before the first measured interval arrived";
                return Err(Failure::new(why).into());
            }
            Some(to) => to,
            None => from + intervals_in(cell.schedule.measure, self.interval).max(1),
        };
        self.window.send_replace(Some(Window { from, to }));
        self.progress.window = Some(Window { from, to });
        let enough = cell.schedule.requests.unwrap_or(u64::MAX);
        let mut answered = 0;
        let before = driver.cpu_reading();
        let mut next_reading = Instant::now() + READING_INTERVAL;
        let is_enough = |progress: &Progress| progress.was_enough && progress.done > from;
        while self.progress.done < to && answered < enough && !is_enough(&self.progress) {
            let interval = match self.next_or_enough().await? {
                Next::Interval(interval) => interval,
                Next::Enough => {
                    self.run.stop();
                    self.progress.was_enough = true;
                    continue;
                }
                Next::Ended if self.progress.was_enough => {
                    let why = "the load was ended before anything was measured";
                    return Err(Failure::new(why).into());
                }
                Next::Ended if job::ends_by_itself(cell) && self.progress.done > from => break,
                Next::Ended => return Err(ended_before("the measured phase was over")),
            };
            let row = self.write(PhaseName::Measure, &interval)?;
            self.progress.measured.add(&interval, &row);
            if let Some(before) = before
                && Instant::now() >= next_reading
            {
                next_reading = Instant::now() + READING_INTERVAL;
                let now = driver.cpu_reading();
                if let Some(used) = now.and_then(|now| now.machine_since(before)) {
                    let cpus = before.cpus;
                    self.events.show_extra(Event::Machine { used, cpus });
                }
            }
            answered += interval.counts.succeeded + interval.counts.failed;
            let is_whole = interval.length >= self.interval;
            self.progress.measured_until = (!is_whole).then_some(self.progress.until);
            if let Err(abort) = self.stop_early(&interval) {
                let to = self.progress.done;
                self.progress.window = Some(Window { from, to });
                return Err(abort);
            }
        }
        // If intervals arrived late, the last one may extend beyond the phase.
        let to = self.progress.done;
        let window = Some(Window { from, to });
        if self.progress.window != window {
            self.window.send_replace(window);
        }
        self.progress.window = window;
        Ok(())
    }

    /// Continues with the level to which the load has dropped. `stop_when` does not apply here: bad values to the end are a
    /// result, and the study has chosen the lower load.
    pub(crate) async fn recover(&mut self, cell: &Cell, recovery: &Recovery) -> Result<(), Abort> {
        let from = self.progress.done;
        let last =
            falls_with(cell).unwrap_or(from) + intervals_in(recovery.duration, self.interval);
        loop {
            let to = self.progress.done;
            self.progress.recovery = Some(Window { from, to });
            if to >= last {
                return Ok(());
            }
            let interval = match self.next_or_enough().await? {
                Next::Interval(interval) => interval,
                Next::Ended => return Err(ended_before("the recovery phase was over")),
                Next::Enough => {
                    self.progress.was_enough = true;
                    return Ok(());
                }
            };
            self.write(PhaseName::Recovery, &interval)?;
        }
    }

    /// Stops the load, waits for outstanding answers, and reads the remaining intervals.
    pub(crate) async fn finish(&mut self) -> Result<(), Abort> {
        self.run.stop();
        while let Some(interval) = self.run.next_interval().await.map_err(load_failure)? {
            self.write(PhaseName::Finish, &Arc::new(interval))?;
        }
        self.events.end().await;
        Ok(())
    }

    /// Ends the trial if the study asks for that, or if no connection can ever be established.
    fn stop_early(&mut self, interval: &Interval) -> Result<(), Abort> {
        if let Some(obstacle) = tls_obstacle(&self.progress.totals) {
            self.run.stop();
            let why = format!("no connection was established: {obstacle}");
            return Err(Failure::new(why).into());
        }
        let Some(stopped) = self.stop_watch.add(interval) else {
            return Ok(());
        };
        self.progress.stopped = Some(stopped);
        self.run.stop();
        Err(Failure::new(in_words(&stopped)).into())
    }

    /// The next interval, or the request to end the load, which is returned once.
    async fn next_or_enough(&mut self) -> Result<Next, Abort> {
        let was_enough = self.progress.was_enough;
        let wish = async {
            match was_enough {
                true => pending().await,
                false => self.shutdown.load_asked().await,
            }
        };
        let next = tokio::select! {
            biased;
            () = wish => return Ok(Next::Enough),
            next = self.run.next_interval() => next.map_err(load_failure)?,
        };
        // If writing intervals takes as long as they last, the next one is always there: companions take their turn all the same.
        yield_now().await;
        Ok(next.map_or(Next::Ended, |interval| Next::Interval(Arc::new(interval))))
    }

    fn write(&mut self, phase: PhaseName, interval: &Arc<Interval>) -> Result<CountsRow, Abort> {
        let row = interval_row(interval, self.progress.in_flight, &self.carried);
        let steps = interval.steps.iter();
        let steps: Vec<_> = steps
            .map(|step| Times::from_fn(|kind| &step.times[kind]))
            .collect();
        let is_noted = |source| match source {
            TimeSource::Requests | TimeSource::Connections => true,
            TimeSource::InspectedAnswers => self.inspects,
            TimeSource::Sessions => !interval.steps.is_empty(),
        };
        let histograms = IntervalHistograms {
            times: Times::from_fn(|kind| is_noted(kind.source()).then_some(&interval.times[kind])),
            steps: &steps,
        };
        self.writer.borrow_mut().interval(&row, histograms)?;
        self.progress.in_flight = interval.counts.in_flight;
        self.progress.all.add(interval, &row.counts);
        self.progress.totals.follow(&interval.counts);
        // An interval that arrived late may be as long as several.
        self.progress.until = interval.start + interval.length;
        self.progress.done = match interval.length < self.interval {
            // The last interval of a load that has ended by itself.
            true => intervals_in(interval.start, self.interval) + 1,
            false => intervals_in(self.progress.until, self.interval),
        };
        self.events.show(phase, Arc::clone(interval));
        Ok(row.counts)
    }
}

fn load_failure(why: LoadError) -> Abort {
    Failure::new(format!("the load failed: {why}")).into()
}

fn ended_before(what: &str) -> Abort {
    Failure::new(format!("the load ended before {what}")).into()
}

/// The recovery check after the load has dropped, in the form of the results.
pub(crate) fn recovery_info(schedule: &Schedule) -> Option<RecoveryInfo> {
    let control = schedule.control().map(|(from, to)| ControlInfo {
        start_s: from.as_secs_f64(),
        end_s: to.as_secs_f64(),
    });
    schedule.recovery.map(|recovery| RecoveryInfo {
        level: recovery.level,
        p99_us: recovery.p99.as_secs_f64() * 1e6,
        duration_s: recovery.duration.as_secs_f64(),
        control,
    })
}

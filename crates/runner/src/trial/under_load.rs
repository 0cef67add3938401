//! Warm-up, measured phase, recovery and finish: intervals are written as they come, and decide when the next phase begins.

use std::{cell::RefCell, future::pending, sync::Arc, time::Duration};

use tokio::sync::watch;
use waggle_load::{Counts, Interval};
use waggle_results::{
    CountsRow, IntervalHistograms, PhaseName, StepHistograms, StoppedInfo, TrialWriter,
};
use waggle_study::{Cell, Recovery, Schedule, WarmUpUntil};

use crate::{
    Event,
    counts::{Carried, Measured, certificate_is_refused, interval_row},
    cpu_time::CpuClocks,
    driver::{Driver, Failure},
    events::{IntervalEvents, Shutdown},
    job::{self, falls_with, intervals_in},
    load::LoadRun,
    probe::Window,
    trial::{
        phases::Cut,
        resources::of_system,
        steadiness::WarmUp,
        stop_watch::{StopWatch, in_words},
    },
};

/// The load of one trial while it runs.
pub(crate) struct UnderLoad<'a, R> {
    pub(crate) run: R,
    pub(crate) writer: &'a RefCell<TrialWriter>,
    pub(crate) events: IntervalEvents,
    pub(crate) carried: Carried,
    /// Length of an interval, as the study has it.
    pub(crate) interval: Duration,
    /// The measured phase is made known here.
    pub(crate) window: watch::Sender<Option<Window>>,
    /// Of the CPUs that waggle may use; `None`: nobody looks at them.
    pub(crate) clocks: Option<&'a CpuClocks>,
    /// Whether the load is to end before its time.
    pub(crate) shutdown: Shutdown,
    pub(crate) stop_watch: StopWatch,
    pub(crate) progress: Progress,
}

/// What the intervals have said so far.
pub(crate) struct Progress {
    pub(crate) measured: Measured,
    /// The intervals that were measured, once they are known.
    pub(crate) window: Option<Window>,
    /// Those after the load had fallen, as far as they came.
    pub(crate) recovery: Option<Window>,
    in_flight: u64,
    /// End of the last interval, in intervals since the start.
    done: u64,
    /// The same as time.
    until: Duration,
    /// When the measured phase ended, if that was not with a whole interval.
    pub(crate) measured_until: Option<Duration>,
    /// What has ended the trial early.
    pub(crate) stopped: Option<StoppedInfo>,
    /// Somebody has ended the load before its time, and what was measured by then is the result.
    pub(crate) was_enough: bool,
    /// All of the load, warm-up and last answers included, as far as it came.
    pub(crate) all: Measured,
    totals: Counts,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            measured: Measured::new(),
            window: None,
            recovery: None,
            in_flight: 0,
            done: 0,
            until: Duration::ZERO,
            measured_until: None,
            stopped: None,
            was_enough: false,
            all: Measured::new(),
            totals: Counts::default(),
        }
    }
}

/// What comes next of a load.
enum Next {
    Interval(Arc<Interval>),
    Ended,
    /// Somebody wants it to end.
    Enough,
}

impl<R: LoadRun> UnderLoad<'_, R> {
    /// Loads until the system is steady or the warm-up's time is up; `None` where steadiness was not asked for.
    pub(crate) async fn warm_up(
        &mut self,
        schedule: &Schedule,
        driver: &impl Driver,
    ) -> Result<Option<bool>, Cut> {
        let last = intervals_in(schedule.warm_up, self.interval);
        let first = schedule
            .ramp_up
            .map_or(0, |ramp_up| intervals_in(ramp_up.duration, self.interval));
        let mut warm_up = WarmUp::new();
        let mut cpu = of_system(&driver.usage());
        let mut is_steady = false;
        let enough = match schedule.warm_up_until {
            WarmUpUntil::Requests(requests) => requests,
            WarmUpUntil::Steady | WarmUpUntil::Duration => u64::MAX,
        };
        let mut answered = 0;
        while self.progress.done < last && !is_steady && answered < enough {
            let interval = match self.next_or_enough().await {
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
            // A load that is yet to rise says nothing of how it will be.
            let steady_now = self.progress.done > first && warm_up.add(&interval, used);
            is_steady = steady_now && schedule.warm_up_until == WarmUpUntil::Steady;
        }
        Ok((schedule.warm_up_until == WarmUpUntil::Steady).then_some(is_steady))
    }

    /// Loads for as many whole intervals as the measured phase has; where the load falls behind it, until it does.
    pub(crate) async fn measure(&mut self, cell: &Cell) -> Result<(), Cut> {
        let from = self.progress.done;
        let to = match falls_with(cell) {
            Some(to) if to <= from => {
                let why = "the load had fallen before the first measured interval was handed over";
                return Err(Failure::new(why).into());
            }
            Some(to) => to,
            None => from + intervals_in(cell.schedule.measure, self.interval).max(1),
        };
        self.window.send_replace(Some(Window { from, to }));
        self.progress.window = Some(Window { from, to });
        let enough = cell.schedule.requests.unwrap_or(u64::MAX);
        let mut answered = 0;
        let ticks = self.clocks.and_then(CpuClocks::read);
        let is_enough = |progress: &Progress| progress.was_enough && progress.done > from;
        while self.progress.done < to && answered < enough && !is_enough(&self.progress) {
            let interval = match self.next_or_enough().await {
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
            let machine = ticks.and_then(|before| self.clocks?.read()?.shares_since(before));
            if let Some(machine) = machine {
                self.events.tell_beside(Event::Machine(machine));
            }
            answered += interval.counts.succeeded + interval.counts.failed;
            let is_whole = interval.length >= self.interval;
            self.progress.measured_until = (!is_whole).then_some(self.progress.until);
            if let Err(cut) = self.stop_early(&interval) {
                let to = self.progress.done;
                self.progress.window = Some(Window { from, to });
                return Err(cut);
            }
        }
        // Where intervals were taken late, the last one may reach beyond.
        let to = self.progress.done;
        let window = Some(Window { from, to });
        if self.progress.window != window {
            self.window.send_replace(window);
        }
        self.progress.window = window;
        Ok(())
    }

    /// Loads on at the level to which the load has fallen. `stop_when` ends nothing there: that all is bad to the end is a result,
    /// and the load is the lower one that the study has chosen.
    pub(crate) async fn recover(&mut self, cell: &Cell, recovery: &Recovery) -> Result<(), Cut> {
        let from = self.progress.done;
        let last =
            falls_with(cell).unwrap_or(from) + intervals_in(recovery.duration, self.interval);
        loop {
            let to = self.progress.done;
            self.progress.recovery = Some(Window { from, to });
            if to >= last {
                return Ok(());
            }
            let interval = match self.next_or_enough().await {
                Next::Interval(interval) => interval,
                Next::Ended => return Err(ended_before("recovery was looked for to the end")),
                Next::Enough => {
                    self.progress.was_enough = true;
                    return Ok(());
                }
            };
            self.write(PhaseName::Recovery, &interval)?;
        }
    }

    /// Stops the load, waits for the answers under way, and takes what is left of the intervals.
    pub(crate) async fn finish(&mut self) -> Result<(), Cut> {
        self.run.stop();
        while let Some(interval) = self.run.next_interval().await {
            self.write(PhaseName::Finish, &Arc::new(interval))?;
        }
        self.events.end().await;
        Ok(())
    }

    /// Ends the trial if the study asks for that, or if no connection will ever come about.
    fn stop_early(&mut self, interval: &Interval) -> Result<(), Cut> {
        if certificate_is_refused(&self.progress.totals) {
            self.run.stop();
            let why = "no connection came about: the server's certificate is not taken";
            return Err(Failure::new(why).into());
        }
        let Some(stopped) = self.stop_watch.add(interval) else {
            return Ok(());
        };
        self.progress.stopped = Some(stopped);
        self.run.stop();
        Err(Failure::new(in_words(&stopped)).into())
    }

    /// The next interval, or the wish for an end, which is told once.
    async fn next_or_enough(&mut self) -> Next {
        let was_enough = self.progress.was_enough;
        let wish = async {
            match was_enough {
                true => pending().await,
                false => self.shutdown.load_asked().await,
            }
        };
        let next = tokio::select! {
            biased;
            () = wish => return Next::Enough,
            next = self.run.next_interval() => next,
        };
        next.map_or(Next::Ended, |interval| Next::Interval(Arc::new(interval)))
    }

    fn write(&mut self, phase: PhaseName, interval: &Arc<Interval>) -> Result<CountsRow, Cut> {
        let row = interval_row(interval, self.progress.in_flight, &self.carried);
        let steps: Vec<StepHistograms<'_>> = interval
            .steps
            .iter()
            .map(|step| StepHistograms {
                response_time: &step.response_time,
                service_time: &step.service_time,
                failed_time: &step.failed_time,
            })
            .collect();
        let histograms = IntervalHistograms {
            response_time: &interval.response_time,
            service_time: &interval.service_time,
            failed_time: &interval.failed_time,
            lag: &interval.lag,
            connect_time: Some(&interval.connect_time),
            handshake_time: Some(&interval.handshake_time),
            steps: &steps,
        };
        self.writer.borrow_mut().interval(&row, histograms)?;
        self.progress.in_flight = interval.counts.in_flight;
        self.progress.all.add(interval, &row.counts);
        self.progress.totals.follow(&interval.counts);
        // An interval that was taken late may be as long as several.
        self.progress.until = interval.start + interval.length;
        self.progress.done = match interval.length < self.interval {
            // The last of a load that has ended by itself.
            true => intervals_in(interval.start, self.interval) + 1,
            false => intervals_in(self.progress.until, self.interval),
        };
        self.events.show(phase, Arc::clone(interval));
        Ok(row.counts)
    }
}

fn ended_before(what: &str) -> Cut {
    Failure::new(format!("the load ended before {what}")).into()
}

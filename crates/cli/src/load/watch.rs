//! Follows a load while it runs: takes each interval, adds it up, writes rows, shows what is asked for, listens to Ctrl-C.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use tokio::signal::unix::{SignalKind, signal};
use waggle_load::{Counts, Failure, HandshakeFailure, Interval, Stop};
use waggle_report::judge::served;
use waggle_results::{CountsRow, IntervalRow, MachineInfo};
use waggle_runner::{
    counts::{Carried, Measured, interval_row, row},
    cpu_time::CpuClocks,
};
use waggle_stats::Served;

use super::{
    cpus::Cpus,
    gather::{Gather, Gathered, histogram},
    job::Planned,
    judge, live,
    series::Series,
    steps::Steps,
    summary::{Phase, Row},
    view::View,
};

/// How long an interval is awaited before the end and the interrupts are looked at.
const WAIT: Duration = Duration::from_millis(100);
/// So many rows are kept for the JSON's series.
const ROWS_MAX: usize = 100_000;

/// What has been seen of a load so far. A view may look at it at any time.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) started: SystemTime,
    pub(crate) records_per_request: u32,
    /// Within the measured time.
    pub(crate) measured: Measured,
    /// From the measured time on until the end.
    pub(crate) all: Measured,
    /// The whole run, warm-up included.
    pub(crate) totals: Counts,
    pub(crate) ran_for: Duration,
    pub(crate) in_flight_at_start: u64,
    pub(crate) in_flight: u64,
    pub(crate) response_time: Histogram<u64>,
    /// Of the measured time alone, as the counts that are judged.
    pub(crate) service_time_measured: Histogram<u64>,
    pub(crate) service_time: Histogram<u64>,
    pub(crate) failed_time: Histogram<u64>,
    pub(crate) connect_time: Histogram<u64>,
    pub(crate) handshake_time: Histogram<u64>,
    /// From the measured time on until the end; none without a scenario.
    pub(crate) steps: Steps,
    /// Open at the end of each measured interval.
    pub(crate) connections_open: Vec<u64>,
    /// Of each measured interval: its end, and due and answered up to it.
    pub(crate) answers: Vec<(f64, u64, u64)>,
    /// What came of requests in each measured interval.
    pub(crate) served: Vec<Served>,
    /// When the first bin began, in seconds of the measured time.
    pub(crate) bins_from_s: f64,
    /// Each measured interval that is tested for steadiness, and each whole second of them.
    pub(crate) bins: Vec<Bin>,
    pub(crate) second_bins: Vec<Bin>,
    pub(crate) rows: Vec<Row>,
    pub(crate) interrupted: bool,
    /// Feeds of a scenario whose rows did not last.
    pub(crate) feeds_used_up: Vec<String>,
    /// For how long no connection stood, where that has ended the load before its count.
    pub(crate) unconnected_for: Option<Duration>,
    /// What the CPUs did in the measured time; `None`: not known.
    pub(crate) cpus: Option<MachineInfo>,
    /// Whether loops were to keep them awake, and whether these had ended before the load did.
    pub(crate) kept_awake: bool,
    pub(crate) loops_ended: bool,
}

/// One value of each series that is tested for steadiness.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bin {
    pub(crate) seconds: f64,
    pub(crate) throughput: f64,
    /// Not a number without a sample.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Bin {
    fn of(gathered: &Gathered) -> Self {
        let row = gathered.row(Phase::Measured);
        let or_nan = |value: Option<u64>| value.map_or(f64::NAN, super::gather::as_f64);
        Self {
            seconds: row.seconds,
            throughput: row.rate_per_s,
            p50: or_nan(row.response_p50_us),
            p99: or_nan(row.response_p99_us),
        }
    }
}

impl Watched {
    fn new(records_per_request: u32) -> Self {
        Self {
            started: SystemTime::now(),
            records_per_request,
            measured: Measured::new(),
            all: Measured::new(),
            totals: Counts::default(),
            ran_for: Duration::ZERO,
            in_flight_at_start: 0,
            in_flight: 0,
            response_time: histogram(),
            service_time_measured: histogram(),
            service_time: histogram(),
            failed_time: histogram(),
            connect_time: histogram(),
            handshake_time: histogram(),
            steps: Steps::default(),
            connections_open: Vec::new(),
            answers: Vec::new(),
            served: Vec::new(),
            bins_from_s: 0.0,
            bins: Vec::new(),
            second_bins: Vec::new(),
            rows: Vec::new(),
            interrupted: false,
            feeds_used_up: Vec::new(),
            unconnected_for: None,
            cpus: None,
            kept_awake: false,
            loops_ended: false,
        }
    }

    /// The whole run as a row.
    pub(crate) fn totals_row(&self) -> CountsRow {
        let records = self.totals.succeeded * u64::from(self.records_per_request);
        row(&self.totals, self.ran_for, 0, records)
    }

    /// Not one connection came about, because the server's certificate is not taken.
    pub(crate) fn certificate_is_refused(&self) -> bool {
        let is_refusal = |failure: &Failure| {
            let Failure::Handshake(failure) = failure else {
                return false;
            };
            matches!(
                failure,
                HandshakeFailure::UnknownIssuer
                    | HandshakeFailure::Expired
                    | HandshakeFailure::WrongName
                    | HandshakeFailure::Certificate
            )
        };
        let totals = &self.totals;
        let mut kinds = totals.failures.0.iter().map(|(kind, _)| kind);
        totals.handshakes == 0 && totals.sent == 0 && kinds.any(is_refusal)
    }

    fn add(&mut self, interval: &Interval, phase: Phase) {
        let counts = &interval.counts;
        self.totals.follow(counts);
        self.ran_for = interval.start + interval.length;
        for (sum, part) in [
            (&mut self.connect_time, &interval.connect_time),
            (&mut self.handshake_time, &interval.handshake_time),
        ] {
            sum.add(part).expect("all histograms have the same bounds");
        }
        let before = std::mem::replace(&mut self.in_flight, counts.in_flight);
        if phase == Phase::WarmUp {
            self.in_flight_at_start = counts.in_flight;
            return;
        }
        let carried = Carried::ByEach(self.records_per_request);
        let row = interval_row(interval, before, &carried);
        self.all.add(interval, &row.counts);
        self.steps.add(&interval.steps);
        for (sum, part) in [
            (&mut self.response_time, &interval.response_time),
            (&mut self.service_time, &interval.service_time),
            (&mut self.failed_time, &interval.failed_time),
        ] {
            sum.add(part).expect("all histograms have the same bounds");
        }
        if phase == Phase::Measured {
            self.measured(interval, &row);
        }
    }

    fn measured(&mut self, interval: &Interval, row: &IntervalRow) {
        self.served.push(served(row));
        let row = &row.counts;
        self.measured.add(interval, row);
        self.service_time_measured
            .add(&interval.service_time)
            .expect("all histograms have the same bounds");
        self.connections_open.push(interval.counts.connections_open);
        let (_, due, done) = self.answers.last().copied().unwrap_or_default();
        self.answers.push((
            (interval.start + interval.length).as_secs_f64(),
            due + row.due,
            done + row.succeeded + row.failed,
        ));
    }
}

/// Counts the wishes to end, and passes the first on to the load that runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupts {
    count: Arc<AtomicU32>,
    running: Arc<Mutex<Option<Stop>>>,
}

impl Interrupts {
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// One that comes before the next load has started ends that one.
    fn follow(&self, stop: Stop) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if self.count() > 0 {
            stop.stop();
        }
        *running = Some(stop);
    }

    /// One more wish to end, by signal or key. The third ends the program.
    pub(crate) fn came(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stop) = &*running {
            stop.stop();
        }
        if self.count.fetch_add(1, Ordering::Relaxed) >= 2 {
            live::give_back();
            std::process::exit(INTERRUPTED);
        }
    }
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
    watching.watched.kept_awake = clocks.loops.is_some();
    let running = waggle_load::start(planned.job.clone())?;
    watching.cpus = Cpus::started(clocks);
    let since = Instant::now();
    watching.watched.started = SystemTime::now();
    watching.series.begin(watching.watched.started)?;
    interrupts.follow(running.stop_handle());
    watching.view.begin(planned, interrupts)?;
    let mut interrupted_at = None;
    loop {
        let asked = interrupts.count();
        if asked > 0 && interrupted_at.is_none() {
            interrupted_at = Some(since.elapsed());
            watching.watched.interrupted = true;
        }
        match running.next_interval(WAIT) {
            Some(interval) => {
                watching.take(&interval, interrupted_at)?;
                if watching.watched.certificate_is_refused() {
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
    watching.watched.loops_ended = !clocks.loops_run();
    watching.watched.totals = outcome.totals;
    watching.watched.ran_for = outcome.ran_for;
    watching.watched.feeds_used_up = outcome.feeds_used_up;
    watching.watched.unconnected_for = outcome.unconnected_for;
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
    seconds: Gather,
    fine: Gather,
    phase: Phase,
    opening: Opening,
    cpus: Cpus,
}

/// The start, in which connections are opened.
#[derive(Debug, Clone, Copy)]
enum Opening {
    /// So many were open at the end of the interval before; `None`: there was none.
    Since(Option<u64>),
    Over,
}

impl<'a> Watching<'a> {
    fn new(planned: &'a Planned, series: &'a mut Series, view: &'a mut View) -> Self {
        Self {
            planned,
            series,
            view,
            watched: Watched::new(planned.records_per_request),
            rows: Gather::new(planned.row),
            seconds: Gather::new(Duration::from_secs(1)),
            fine: Gather::new(Duration::ZERO),
            phase: Phase::WarmUp,
            opening: Opening::Since(None),
            cpus: Cpus::default(),
        }
    }

    fn take(&mut self, interval: &Interval, interrupted_at: Option<Duration>) -> Result<()> {
        let phase = self.phase_of(interval, interrupted_at);
        if phase != self.phase {
            self.close_row()?;
            self.phase = phase;
        }
        self.watched.add(interval, phase);
        self.watched.cpus = self.cpus.interval(phase).or(self.watched.cpus);
        // A load that ends by a count ends within an interval, which says nothing about its level.
        let is_whole = interval.length >= self.planned.job.interval;
        let is_opening = self.is_opening(interval.counts.connections_open);
        if phase == Phase::Measured && is_opening {
            // A start and no level.
            self.watched.bins_from_s += interval.length.as_secs_f64();
        } else if phase == Phase::Measured && is_whole {
            let fine = self.fine.add(interval);
            self.watched.bins.extend(fine.as_ref().map(Bin::of));
            let second = self.seconds.add(interval);
            self.watched
                .second_bins
                .extend(second.as_ref().map(Bin::of));
        }
        self.view
            .interval(interval, phase, self.planned, &self.watched);
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
            interrupted_at.is_some_and(|at| at < whole) && !self.watched.answers.is_empty();
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

    /// Whether connections were being opened in an interval at whose end so many are: until all are, or as many as there
    /// will be.
    fn is_opening(&mut self, open: u64) -> bool {
        let Opening::Since(before) = self.opening else {
            return false;
        };
        let (_, asked) = judge::workers_and_connections(self.planned);
        let is_over = before.is_some_and(|before| before >= asked || open <= before);
        self.opening = if is_over {
            Opening::Over
        } else {
            Opening::Since(Some(open))
        };
        !is_over
    }

    fn close_row(&mut self) -> Result<()> {
        match self.rows.rest() {
            Some(gathered) => self.row(&gathered),
            None => Ok(()),
        }
    }

    fn row(&mut self, gathered: &Gathered) -> Result<()> {
        let row = gathered.row(self.phase);
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

/// Listens to the signals by which people and machines ask a program to end; the first stops the load that runs.
///
/// # Errors
/// Signals cannot be listened to.
pub(crate) fn listen() -> Result<Interrupts> {
    let interrupts = Interrupts::default();
    let heard = interrupts.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let mut streams = {
        let _inside = runtime.enter();
        kinds
            .map(signal)
            .into_iter()
            .collect::<Result<Vec<_>, _>>()
            .context("cannot listen to signals")?
    };
    let wait = async move {
        loop {
            let [interrupt, terminate, hangup] = streams.as_mut_slice() else {
                return;
            };
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            heard.came();
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(wait))
        .context("cannot start the thread that listens to signals")?;
    Ok(interrupts)
}

/// The code of a program that was ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

//! The delivery of records to one probe: polls while load runs, the drain, and the cost of polling for the store.

use std::{cell::RefCell, time::Duration};

use tokio::time::{Instant, sleep, sleep_until, timeout};
use waggle_load::RequestOutcomes;
use waggle_results::{
    BacklogRow, DelayHistograms, DeliveryInfo, LedgerInfo, ProbeInfo, SampleInfo, TrialWriter,
    WriteError,
};
use waggle_system::{
    components::driver::{Driver, Failure},
    http::client::Connection,
};

use crate::{
    clock::Clock,
    event::Event,
    number::{as_f64, share},
    probe::{Depth, ProbeConfig, ProbeLog, ProbeReader, SeenSet},
    trial::{
        Trial,
        beside::{
            faults::Restarts,
            ledger,
            ledger::{count_accepted, has_open, is_complete},
        },
        phases::Abort,
    },
};

/// Bytes that are read again to measure the cost of reading.
const COST_AT_LEAST_BYTES: u64 = 2 * 1024 * 1024;
/// Time for reading again, and the additional timeout of its last answer.
const COST_AT_MOST: Duration = Duration::from_millis(500);
const COST_END_AT_MOST: Duration = Duration::from_secs(1);
/// Timeout of the last poll of a drain, which applies even if the drain's time is over.
const LAST_POLL_AT_MOST: Duration = Duration::from_secs(10);
/// Interval between two live events.
const LIVE_EVERY: Duration = Duration::from_secs(1);

/// Which of the probes along the path of the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbePosition {
    /// One before the last, counted from 0.
    Intermediate(usize),
    /// The probe at the destination.
    Last,
}

impl ProbePosition {
    /// Of a probe by its number, counted from 0, among so many on the records' way.
    pub(crate) fn new(number: usize, probes: usize) -> Self {
        if number + 1 == probes {
            Self::Last
        } else {
            Self::Intermediate(number)
        }
    }

    fn write_delays(
        self,
        delays: &DelayHistograms<'_>,
        writer: &mut TrialWriter,
    ) -> Result<(), WriteError> {
        match self {
            Self::Last => writer.delays(delays),
            Self::Intermediate(index) => writer.intermediate_delays(index, delays),
        }
    }
}

/// What one probe shows in one trial.
pub(crate) struct Delivery<'a, N> {
    probe: &'a waggle_study::Probe,
    pub(crate) position: ProbePosition,
    poll: Duration,
    reader: ProbeReader<N>,
    clock: Clock,
    /// Why the last poll failed, if it did.
    problem: Option<String>,
    problems: u64,
    /// Bytes read until the load had ended.
    read_under_load: u64,
    drained_after: Option<Duration>,
    /// The drain timed out before everything was read.
    unread: bool,
    probe_cpu_s: Option<f64>,
    restarts: Restarts,
    /// The components whose restart made the probe read its store again, one entry for each restart.
    restarted_for: Vec<String>,
    /// The store is being read again, and its end is not reached yet.
    is_behind_itself: bool,
}

impl<'a, N: Connection> Delivery<'a, N> {
    pub(crate) fn new(
        config: &ProbeConfig<'a>,
        position: ProbePosition,
        restarts: &Restarts,
        reader: ProbeReader<N>,
    ) -> Self {
        Self {
            probe: config.probe,
            position,
            poll: config.delivery.poll_interval,
            reader,
            clock: config.clock,
            problem: None,
            problems: 0,
            read_under_load: 0,
            drained_after: None,
            unread: false,
            probe_cpu_s: None,
            restarts: restarts.clone(),
            restarted_for: Vec::new(),
            is_behind_itself: false,
        }
    }

    /// Polls repeatedly; returns only if writing to disk fails.
    pub(crate) async fn follow(&mut self, writer: &RefCell<TrialWriter>) -> Abort {
        loop {
            let next = Instant::now() + self.poll;
            match self.poll(Depth::Turn, writer).await {
                Ok(true) => {}
                Ok(false) => self.pause(next).await,
                Err(abort) => return abort,
            }
        }
    }

    /// Polls until every accepted record was seen and the store shows no more, or until the timeout. If records that were not
    /// accepted may still come, waits until none has come for the quiet period. A store that cannot be read fails the trial,
    /// because its content is unknown.
    pub(super) async fn drain(&mut self, trial: &Trial<'_>, sent: Sent<'_>) -> Result<(), Abort> {
        let schedule = &trial.context.cell.schedule;
        let (at_most, quiet) = (schedule.drain_timeout, schedule.drain_quiet_period);
        let start = Instant::now();
        self.reader.end_load();
        let mut arrivals =
            ArrivalState::new(count_accepted(sent.accounts, sent.records_per_request));
        self.read_under_load = self.reader.pace().bytes_read;
        let mut live_at = start + LIVE_EVERY;
        loop {
            let next = Instant::now() + self.poll;
            let look_at_most = at_most
                .saturating_sub(start.elapsed())
                .max(LAST_POLL_AT_MOST);
            let is_quiet = arrivals.is_complete && arrivals.since.elapsed() >= quiet;
            let is_last = is_quiet || start.elapsed() + self.poll >= at_most;
            let has_more = self.drain_poll(is_last, look_at_most, trial.writer).await?;
            let is_new = self.reader.log(|log| arrivals.update(sent, &log.seen));
            if arrivals.is_complete {
                let last_row = self.reader.last_row().unwrap_or_else(Instant::now);
                self.drained_after
                    .get_or_insert(last_row.saturating_duration_since(start));
                let ends = !arrivals.is_open || (is_quiet && !is_new && self.problem.is_none());
                // The rest in the store are copies, and records whose outcome is unknown.
                if ends && !has_more {
                    return Ok(());
                }
            }
            if start.elapsed() >= at_most {
                self.unread = has_more;
                break;
            }
            if self.position == ProbePosition::Last && Instant::now() >= live_at {
                trial.events.show(Event::Draining {
                    visible: arrivals.visible,
                    accepted: arrivals.accepted,
                });
                live_at += LIVE_EVERY;
            }
            if !has_more {
                self.pause(next.min(start + at_most)).await;
            }
        }
        match self.problem.take() {
            Some(problem) => Err(Failure::new(format!(
                "the store cannot be read by probe \"{}\": {problem}",
                self.probe.name
            ))
            .into()),
            None => Ok(()),
        }
    }

    /// Reads once more after the load, and measures the store's CPU time meanwhile.
    pub(crate) async fn measure_cost(&mut self, driver: &impl Driver) {
        // If the store does not answer in time, the cost is unknown.
        timeout(COST_AT_MOST + COST_END_AT_MOST, self.read_again(driver))
            .await
            .ok();
    }

    async fn read_again(&mut self, driver: &impl Driver) {
        if self.read_under_load == 0 {
            return;
        }
        let Some(before) = self.store_cpu(driver) else {
            return;
        };
        let (mut bytes, start) = (0, Instant::now());
        while bytes < COST_AT_LEAST_BYTES && start.elapsed() < COST_AT_MOST {
            if self.reader.ask_again(&mut bytes).await.is_none() {
                return;
            }
            // An empty answer would repeat at once; the store has rows, or nothing would have been read.
            if bytes == 0 {
                return;
            }
            sleep(Duration::ZERO).await;
        }
        let Some(after) = self.store_cpu(driver) else {
            return;
        };
        let per_byte = share(after.saturating_sub(before).as_secs_f64(), as_f64(bytes));
        self.probe_cpu_s = Some(per_byte * as_f64(self.read_under_load));
    }

    /// The CPU time of the store. A topic is spread over all brokers; another store has one replica.
    fn store_cpu(&self, driver: &impl Driver) -> Option<Duration> {
        let is_probed = |replica: &str| {
            let (component, _) = replica.rsplit_once('-').unwrap_or((replica, ""));
            component == self.probe.component
        };
        let usage = driver.usage().into_iter();
        usage
            .filter(|usage| is_probed(&usage.replica))
            .map(|usage| usage.cpu)
            .reduce(|sum, cpu| sum + cpu)
    }

    /// Writes the delays and returns the ledger.
    pub(crate) fn collect(
        &self,
        sent: Sent<'_>,
        writer: &RefCell<TrialWriter>,
    ) -> Result<ProbeInfo, Abort> {
        let mut writer = writer.borrow_mut();
        self.reader.log(|log| {
            let delays = log.delay_histograms(sent.skipped_under_load);
            self.position.write_delays(&delays, &mut writer)
        })?;
        Ok(ProbeInfo {
            ledger: self.ledger(sent),
            delivery: self.info(),
        })
    }

    fn ledger(&self, sent: Sent<'_>) -> LedgerInfo {
        self.reader
            .log(|log| ledger::ledger(sent.accounts, sent.records_per_request, &log.seen, log.late))
    }

    fn info(&self) -> DeliveryInfo {
        let (pace, is_sample) = (self.reader.pace(), self.reader.is_sample());
        // The resolution of a reader that does not poll is not bound to the poll interval.
        let poll = self.reader.poll_interval(self.poll);
        DeliveryInfo {
            probe: self.probe.name.clone(),
            resolution_ms: pace.longest_gap.max(poll).as_secs_f64() * 1e3,
            probe_lag_s: pace.longest_behind.as_secs_f64(),
            measured_resolution_ms: pace
                .has_measured()
                .then(|| pace.measured_gap.max(poll).as_secs_f64() * 1e3),
            measured_probe_lag_s: pace
                .has_measured()
                .then_some(pace.measured_behind.as_secs_f64()),
            sample: is_sample.then(|| {
                self.reader.log(|log| SampleInfo {
                    followed: log.followed,
                    of: log.seen.distinct,
                })
            }),
            measured: self.reader.log(|log| log.measured_records(is_sample)),
            instants: self.reader.log(ProbeLog::instants),
            unread: self.unread,
            negative_delays: self.reader.log(|log| log.negative_delays),
            drain_time_s: self.drained_after.map(|after| after.as_secs_f64()),
            polls: pace.polls,
            bytes_read: pace.bytes_read,
            probe_cpu_s: self.probe_cpu_s,
        }
    }

    /// Remarks for the report.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.problems > 0 {
            remarks.push(format!(
                "{} polls of the store failed and were repeated",
                self.problems
            ));
        }
        for (index, restart) in self.restarted_for.iter().enumerate() {
            if !self.restarted_for[..index].contains(restart) {
                remarks.push(format!(
                    "{restart}, and its records were read again when it was ready: only records that are still there count as delivered"
                ));
            }
        }
        if self.unread {
            remarks.push(
                "the drain ended before the store was read to its end; records that were not read count as missing"
                    .to_owned(),
            );
        }
        remarks.extend(self.reader.remark());
        if self.position != ProbePosition::Last {
            let line = |remark| format!("at {}: {remark}", self.probe.name);
            remarks = remarks.into_iter().map(line).collect();
        }
        remarks
    }

    async fn pause(&self, next: Instant) {
        sleep_until(next.max(Instant::now() + self.reader.min_pause())).await;
    }

    /// One poll of the drain; the last one goes back to all missing records, as far as its time allows.
    async fn drain_poll(
        &mut self,
        is_last: bool,
        at_most: Duration,
        writer: &RefCell<TrialWriter>,
    ) -> Result<bool, Abort> {
        if !is_last {
            return self.poll_within(Depth::Turn, at_most, writer).await;
        }
        let deadline = Instant::now() + at_most;
        self.reader.restart();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let has_more = self.poll_within(Depth::Whole, left, writer).await?;
            let goes_on = self.reader.shows_all_in_parts() && self.problem.is_none();
            if !has_more || !goes_on || Instant::now() >= deadline {
                return Ok(has_more);
            }
        }
    }

    /// One poll with a timeout; rows that were read by then count.
    async fn poll_within(
        &mut self,
        depth: Depth,
        at_most: Duration,
        writer: &RefCell<TrialWriter>,
    ) -> Result<bool, Abort> {
        let (start, rows) = (Instant::now(), self.reader.pace().rows_read);
        if let Ok(polled) = timeout(at_most, self.poll(depth, writer)).await {
            return polled;
        }
        if self.reader.abandon(start, rows) {
            return Ok(true);
        }
        self.problem = Some(format!("no answer within {} s", at_most.as_secs_f64()));
        self.problems += 1;
        Ok(false)
    }

    /// A component that was restarted may have lost records that were seen.
    fn begin_again_after_restart(&mut self) {
        let restarts = self.restarts.restarts_behind(self.probe);
        if restarts.len() > self.restarted_for.len() {
            self.restarted_for = restarts;
            self.is_behind_itself = true;
            self.reader.forget();
        }
    }

    /// One poll; a failed one is repeated at the next interval.
    async fn poll(&mut self, depth: Depth, writer: &RefCell<TrialWriter>) -> Result<bool, Abort> {
        self.begin_again_after_restart();
        match self.reader.poll(depth).await {
            Ok(has_more) => {
                self.problem = None;
                self.is_behind_itself &= has_more;
                if self.is_behind_itself || !self.reader.has_looked() {
                    // The backlog is not known before the store was read to its end.
                    return Ok(has_more);
                }
                let row = BacklogRow {
                    at_s: self.clock.elapsed().as_secs_f64(),
                    visible: self.reader.visible(),
                };
                let mut writer = writer.borrow_mut();
                match self.position {
                    ProbePosition::Last => writer.backlog(&row)?,
                    ProbePosition::Intermediate(index) => {
                        writer.intermediate_backlog(index, &row)?
                    }
                }
                Ok(has_more)
            }
            Err(problem) => {
                self.problem = Some(problem.to_string());
                self.problems += 1;
                Ok(false)
            }
        }
    }
}

/// The records that have arrived so far.
#[derive(Debug)]
struct ArrivalState {
    accepted: u64,
    visible: u64,
    /// Records and copies of them; `None` before the first poll.
    arrived: Option<u64>,
    /// Time of the last arrival.
    since: Instant,
    is_complete: bool,
    /// Records that were not accepted may still come.
    is_open: bool,
}

impl ArrivalState {
    fn new(accepted: u64) -> Self {
        Self {
            accepted,
            visible: 0,
            arrived: None,
            since: Instant::now(),
            is_complete: false,
            is_open: false,
        }
    }

    /// Takes over what was seen; true if there is more than before.
    fn update(&mut self, sent: Sent<'_>, seen: &SeenSet) -> bool {
        let arrived = Some(seen.distinct + seen.duplicates);
        if arrived == self.arrived {
            return false;
        }
        (self.arrived, self.since) = (arrived, Instant::now());
        self.visible = seen.distinct;
        let Sent {
            accounts,
            records_per_request,
            ..
        } = sent;
        // Counting is cheap and comparing is not, so the count comes first.
        self.is_complete =
            seen.distinct >= self.accepted && is_complete(accounts, records_per_request, seen);
        self.is_open = self.is_complete && has_open(accounts, records_per_request, seen);
        true
    }
}

/// What the load sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent<'a> {
    pub(crate) accounts: &'a [RequestOutcomes],
    pub(crate) records_per_request: u32,
    /// Requests were skipped and later ones sent, so that it is not known which of them fell due when.
    pub(crate) skipped_under_load: bool,
}

//! *Where it is recorded*: histograms and counts of one worker, per interval.
//!
//! At the end of an interval its slice is handed over through a bounded channel, and a returned slice is reused. If the receiver
//! is too slow, the slice continues into the next interval and shows that: the worker never waits, and only the boundary between
//! the two intervals is lost.

use std::{
    sync::mpsc::{Receiver, SyncSender, TrySendError},
    time::Duration,
};

use hdrhistogram::Histogram;
use waggle_spec::{TimeKind, Times};

use super::{
    histogram::{clear_times, empty_times, record_growing},
    outcome::{Counts, InspectedCounts, SessionCounts, StepCounts, StepInterval},
};
use crate::{
    failure::Failure,
    inspection::Inspected,
    job::partition::{Due, Partition},
    machine::{clock::microseconds, thread_time::ThreadTime},
};

/// Measurements of one worker in one interval, or in several if it could not be handed over.
#[derive(Debug)]
pub(crate) struct Slice {
    /// Its number among those whose slices are merged.
    pub(crate) worker: usize,
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Its end, in nanoseconds since the start of the run.
    pub(crate) end: u64,
    /// The last slice of this worker.
    pub(crate) is_final: bool,
    pub(crate) counts: Counts,
    /// The service time is empty in a closed load, in which it equals the response time.
    pub(crate) times: Times<Histogram<u64>>,
    /// Of each step of a scenario.
    pub(crate) steps: Vec<StepInterval>,
}

impl StepInterval {
    fn clear(&mut self) {
        self.counts = StepCounts::default();
        clear_times(&mut self.times);
    }
}

impl Slice {
    /// An empty slice of a worker, for `steps` steps.
    pub(crate) fn new(worker: usize, steps: usize) -> Box<Self> {
        Box::new(Self {
            worker,
            first: 0,
            last: 0,
            end: 0,
            is_final: false,
            counts: Counts::default(),
            times: empty_times(),
            steps: std::iter::repeat_with(StepInterval::new)
                .take(steps)
                .collect(),
        })
    }

    fn step_counts(&self) -> Vec<StepCounts> {
        self.steps.iter().map(|step| step.counts.clone()).collect()
    }

    /// Resets it for another interval.
    pub(crate) fn clear(&mut self) {
        self.counts = Counts::default();
        clear_times(&mut self.times);
        for step in &mut self.steps {
            step.clear();
        }
    }
}

/// The channels for full and for emptied slices.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The number of the worker among those whose slices are merged.
    pub(crate) source: usize,
    pub(crate) filled: SyncSender<Box<Slice>>,
    pub(crate) emptied: Receiver<Box<Slice>>,
}

/// The three instants of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instants {
    pub(crate) due: u64,
    pub(crate) sent: u64,
    pub(crate) done: u64,
}

/// A value that occurred several times in a row, and how often. The answers of a pipeline arrive together, so one histogram entry
/// is usually enough for all of them.
#[derive(Debug, Default)]
struct Repeated {
    microseconds: u64,
    times: u64,
}

impl Repeated {
    #[inline]
    fn record(&mut self, histogram: &mut Histogram<u64>, ns: u64) {
        let microseconds = microseconds(ns);
        if microseconds != self.microseconds {
            self.note(histogram);
            self.microseconds = microseconds;
        }
        self.times += 1;
    }

    #[inline]
    fn note(&mut self, histogram: &mut Histogram<u64>) {
        if self.times > 0 {
            histogram.saturating_record_n(self.microseconds, std::mem::take(&mut self.times));
        }
    }
}

#[derive(Debug)]
pub(crate) struct Recorder {
    slice: Box<Slice>,
    response: Repeated,
    service: Repeated,
    lag: Repeated,
    exchange: Exchange,
    interval: u64,
    boundary: u64,
    due: Due,
    in_flight: u64,
    in_flight_since: u64,
    in_flight_time: u64,
    /// Sum of the sending instants of all requests in flight; `in_flight × now` less this sum is their total age. Wraps, as the
    /// product does.
    sent_instants: u64,
    /// That total age at the start of the interval.
    age_at_start: u64,
    /// Of requests that failed in this interval.
    failed_time_in_flight: u64,
    connections_open: u64,
    thread: ThreadTime,
    totals: Totals,
}

/// Counts of a worker's whole run.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) counts: Counts,
    /// Of each step of a scenario.
    pub(crate) steps: Vec<StepCounts>,
}

impl Totals {
    fn follow(&mut self, counts: &Counts, steps: &[StepCounts]) {
        self.counts.follow(counts);
        for (sum, step) in self.steps.iter_mut().zip(steps) {
            sum.join(step);
        }
    }
}

impl Recorder {
    pub(crate) fn new(partition: &Partition, exchange: Exchange, interval: u64) -> Self {
        let due = partition.due;
        Self {
            slice: Slice::new(exchange.source, partition.steps),
            response: Repeated::default(),
            service: Repeated::default(),
            lag: Repeated::default(),
            exchange,
            interval,
            boundary: interval,
            due,
            in_flight: 0,
            in_flight_since: 0,
            in_flight_time: 0,
            sent_instants: 0,
            age_at_start: 0,
            failed_time_in_flight: 0,
            connections_open: 0,
            thread: ThreadTime::for_this_thread(),
            totals: Totals {
                counts: Counts::default(),
                steps: vec![StepCounts::default(); partition.steps],
            },
        }
    }

    /// Advances the time to `now`. Called before anything else is recorded at that instant.
    #[inline]
    pub(crate) fn advance(&mut self, now: u64) {
        while now >= self.boundary {
            self.flow_to(self.boundary);
            self.close_interval();
        }
        self.flow_to(now);
    }

    /// Little's law needs the number in flight over time, counted independently of the latencies that it checks.
    #[inline]
    fn flow_to(&mut self, now: u64) {
        self.in_flight_time += self.in_flight * now.saturating_sub(self.in_flight_since);
        self.in_flight_since = self.in_flight_since.max(now);
    }

    #[inline]
    pub(crate) fn fell_due(&mut self, counts: u64, skipped: u64) {
        self.slice.counts.due += counts;
        self.slice.counts.skipped += skipped;
    }

    /// `requests` are sent at `now`.
    #[inline]
    pub(crate) fn record_sent(&mut self, requests: u64, now: u64) {
        self.sent_instants = self.sent_instants.wrapping_add(requests.wrapping_mul(now));
        self.slice.counts.sent += requests;
        self.in_flight += requests;
    }

    /// Counts a due request that is never sent, of a load with a schedule.
    pub(crate) fn skip_of_schedule(&mut self) {
        if self.due() == Due::BySchedule {
            self.fell_due(0, 1);
        }
    }

    /// Requests in flight were sent again.
    pub(crate) fn record_resent(&mut self, requests: usize) {
        self.slice.counts.resent += requests as u64;
    }

    #[inline]
    pub(crate) fn sent_bytes(&mut self, bytes: usize) {
        self.slice.counts.bytes_sent += bytes as u64;
    }

    /// Records how late a request was sent, relative to the instant at which it was possible.
    #[inline]
    pub(crate) fn lag(&mut self, lag: u64) {
        self.lag.record(&mut self.slice.times[TimeKind::Lag], lag);
    }

    #[inline]
    pub(crate) fn record_received(&mut self, bytes: usize) {
        self.slice.counts.bytes_received += bytes as u64;
    }

    #[inline]
    pub(crate) fn record_success(&mut self, instants: Instants) {
        self.in_flight -= 1;
        self.sent_instants = self.sent_instants.wrapping_sub(instants.sent);
        self.slice.counts.succeeded += 1;
        self.response.record(
            &mut self.slice.times[TimeKind::Response],
            instants.done.saturating_sub(instants.due),
        );
        if self.due != Due::AtSending {
            self.service.record(
                &mut self.slice.times[TimeKind::Service],
                instants.done.saturating_sub(instants.sent),
            );
        }
    }

    /// What was measured of an answer, if it succeeded and anything was; the worker also records it as a request, sent at `sent`.
    pub(crate) fn record_inspection(
        &mut self,
        judged: Result<Option<Inspected>, Failure>,
        sent: u64,
    ) -> Result<(), Failure> {
        let Some(inspected) = judged? else {
            return Ok(());
        };
        self.slice.counts.inspected.join(&InspectedCounts {
            answers: 1,
            body_bytes: inspected.body_bytes,
            decoded_bytes: inspected.decoded_bytes,
            items: inspected.items,
        });
        let first_byte_time = inspected.first_byte.saturating_sub(sent);
        record_growing(&mut self.slice.times[TimeKind::FirstByte], first_byte_time);
        Ok(())
    }

    /// A request failed. A reset has no time: it is unknown when the answer would have arrived.
    #[cold]
    pub(crate) fn record_failure(&mut self, failure: Failure, instants: Instants) {
        self.in_flight -= 1;
        self.sent_instants = self.sent_instants.wrapping_sub(instants.sent);
        self.failed_time_in_flight += instants.done.saturating_sub(instants.sent);
        self.slice.counts.failed += 1;
        self.slice.counts.failures.add(failure, 1);
        if failure != Failure::Reset {
            self.slice.times[TimeKind::Failed]
                .saturating_record(microseconds(instants.done.saturating_sub(instants.due)));
        }
    }

    /// A failure that is none of a request: of an attempt to connect, of a connection without requests, or of a session.
    #[cold]
    pub(crate) fn record_other_failure(&mut self, failure: Failure) {
        self.slice.counts.other_failures.add(failure, 1);
    }

    /// A connection was established, `took` nanoseconds after the attempt began.
    pub(crate) fn record_connect(&mut self, took: u64) {
        self.slice.counts.connects += 1;
        self.slice.times[TimeKind::Connect].saturating_record(microseconds(took));
    }

    /// TLS was established on a connection, `took` nanoseconds after the connection.
    pub(crate) fn record_handshake(&mut self, took: u64, is_resumed: bool) {
        self.slice.counts.handshakes += 1;
        self.slice.counts.handshakes_resumed += u64::from(is_resumed);
        self.slice.times[TimeKind::Handshake].saturating_record(microseconds(took));
    }

    /// A connection can be used from now on. `is_narrow`: for fewer requests at once than the load may send.
    pub(crate) fn record_open(&mut self, is_http2: bool, is_narrow: bool) {
        self.connections_open += 1;
        self.slice.counts.http2_connections += u64::from(is_http2);
        self.slice.counts.narrow_connections += u64::from(is_narrow);
    }

    #[inline]
    pub(crate) fn connections_open(&self) -> u64 {
        self.connections_open
    }

    /// A connection that could be used has ended.
    pub(crate) fn record_disconnect(&mut self) {
        self.connections_open -= 1;
    }

    /// A request of a step was sent; the worker also records it as a request.
    pub(crate) fn step_sent(&mut self, step: usize) {
        self.slice.steps[step].counts.sent += 1;
    }

    /// A request of a step has ended; the worker also records it as a request.
    pub(crate) fn step_ended(
        &mut self,
        step: usize,
        judged: Result<(), Failure>,
        instants: Instants,
    ) {
        let step = &mut self.slice.steps[step];
        let response_time = instants.done.saturating_sub(instants.due);
        match judged {
            Ok(()) => {
                step.counts.succeeded += 1;
                record_growing(&mut step.times[TimeKind::Response], response_time);
                let service = instants.done.saturating_sub(instants.sent);
                record_growing(&mut step.times[TimeKind::Service], service);
            }
            Err(failure) => {
                step.counts.failed += 1;
                step.counts.failures.add(failure, 1);
                if failure != Failure::Reset {
                    record_growing(&mut step.times[TimeKind::Failed], response_time);
                }
            }
        }
    }

    /// A session has completed its flow, `took` nanoseconds after it fell due.
    pub(crate) fn record_session(&mut self, took: u64) {
        self.slice.counts.sessions.completed += 1;
        record_growing(&mut self.slice.times[TimeKind::Session], took);
    }

    pub(crate) fn sessions(&mut self) -> &mut SessionCounts {
        &mut self.slice.counts.sessions
    }

    #[inline]
    pub(crate) fn due(&self) -> Due {
        self.due
    }

    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Ends the last interval at `now`, hands it over and returns the totals. Blocks until it is taken.
    pub(crate) fn finish(mut self, now: u64) -> Totals {
        self.advance(now);
        self.settle();
        self.slice.end = now;
        self.slice.is_final = true;
        let steps = self.slice.step_counts();
        self.totals.follow(&self.slice.counts, &steps);
        let counts = &mut self.totals.counts;
        counts.engine_cpu_busiest = counts.engine_cpu;
        // An error means that the receiver is gone.
        let _ = self.exchange.filled.send(self.slice);
        self.totals
    }

    #[cold]
    fn close_interval(&mut self) {
        self.settle();
        self.slice.end = self.boundary;
        self.boundary += self.interval;
        let next = self.slice.last + 1;
        let (worker, counts) = (self.slice.worker, self.slice.counts.clone());
        let steps = self.slice.step_counts();
        let fresh = self
            .exchange
            .emptied
            .try_recv()
            .unwrap_or_else(|_| Slice::new(worker, steps.len()));
        match self
            .exchange
            .filled
            .try_send(std::mem::replace(&mut self.slice, fresh))
        {
            Ok(()) => {
                self.totals.follow(&counts, &steps);
                self.slice.first = next;
            }
            Err(TrySendError::Full(kept) | TrySendError::Disconnected(kept)) => self.slice = kept,
        }
        self.slice.last = next;
    }

    /// Updates the counts of the slice from the recorder's own state.
    fn settle(&mut self) {
        self.response
            .note(&mut self.slice.times[TimeKind::Response]);
        self.service.note(&mut self.slice.times[TimeKind::Service]);
        self.lag.note(&mut self.slice.times[TimeKind::Lag]);
        let had = self.thread.since_last();
        let unexplained = self.in_flight_unexplained();
        let counts = &mut self.slice.counts;
        counts.engine_cpu += had.used;
        counts.engine_cpu_busiest = counts.engine_cpu;
        counts.engine_cpu_wanted_busiest += had.used + had.waited;
        counts.engine_run_queue_wait += had.waited;
        counts.engine_time_slices += had.time_slices;
        counts.in_flight_unexplained_ns += unexplained;
        counts.in_flight = self.in_flight;
        counts.connections_open = self.connections_open;
        counts.in_flight_time += Duration::from_nanos(std::mem::take(&mut self.in_flight_time));
        if self.due != Due::BySchedule {
            counts.due = counts.sent;
        }
    }

    /// Time in flight since the last call that is in no service time.
    fn in_flight_unexplained(&mut self) -> i64 {
        let age = self
            .in_flight
            .wrapping_mul(self.in_flight_since)
            .wrapping_sub(self.sent_instants);
        let grown = age.wrapping_sub(std::mem::replace(&mut self.age_at_start, age));
        let failed = std::mem::take(&mut self.failed_time_in_flight);
        grown.wrapping_add(failed).cast_signed()
    }
}

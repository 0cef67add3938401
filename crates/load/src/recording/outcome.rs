//! Results of a load run: intervals while it runs, totals at its end.

use std::{iter, time::Duration};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use waggle_spec::{StepTimes, Times};

use super::{
    counters::counters,
    histogram::{add_times, empty_times, growing_histogram},
    request_outcomes::RequestOutcomes,
};
use crate::{
    failure::{Failure, Failures},
    scenario::{
        kept::KeptRows,
        mismatch::{Mismatch, merge as merge_mismatches},
        rows::FeedRow,
    },
};

counters! {
    /// Counts of one interval or of a whole run. `sent = succeeded + failed + in flight`.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Counts {
        /// Open load: requests that fell due (closed and users: the same as sent).
        pub due: u64 => sum,
        pub sent: u64 => sum,
        pub succeeded: u64 => sum,
        /// Sent requests that failed, of any kind.
        pub failed: u64 => sum,
        /// Those by kind; they add up to `failed`.
        pub failures: Failures => sum,
        /// Failures that are none of a request: of attempts to connect, of connections with nothing in flight, and of sessions
        /// ([`Failure::TooManyRounds`]).
        pub other_failures: Failures => sum,
        /// Open load: fell due and were never sent, because too many were waiting or the run ended.
        pub skipped: u64 => sum,
        /// Sent and not answered at the end of the interval.
        pub in_flight: u64 => last,
        /// Open at the end of the interval.
        pub connections_open: u64 => last,
        /// Sent once more over a new connection, because the server closed the old one with an answer before theirs; each is in `sent` once.
        pub resent: u64 => sum,
        /// Connections established, before their handshakes.
        pub connects: u64 => sum,
        /// TLS handshakes that succeeded.
        pub handshakes: u64 => sum,
        /// Those that resumed an earlier session.
        pub handshakes_resumed: u64 => sum,
        /// Connections over which requests went by HTTP/2.
        pub http2_connections: u64 => sum,
        /// Those whose server takes fewer requests at once than the load may send.
        pub narrow_connections: u64 => sum,
        /// HTTP bytes with framing; without the overhead of TLS.
        pub bytes_sent: u64 => sum,
        pub bytes_received: u64 => sum,
        /// CPU time of the worker threads.
        pub engine_cpu: Duration => sum,
        /// CPU time of the busiest worker thread.
        pub engine_cpu_busiest: Duration => busiest,
        /// CPU time of a worker thread plus its time in the run queue, of the worker with most of it. The CPU time alone if the
        /// kernel does not report run queue times.
        pub engine_cpu_wanted_busiest: Duration => busiest,
        /// Time of the worker threads in the run queue, and their number of time slices.
        pub engine_run_queue_wait: Duration => sum,
        pub engine_time_slices: u64 => sum,
        /// Sum of the time that requests were in flight, for Little's law: mean concurrency = this ÷ length.
        pub in_flight_time: Duration => sum,
        /// The part of it that belongs to no success: the times of failed requests, and the growth of the total age of requests in
        /// flight from start to end. The rest is the sum of the service times.
        pub in_flight_unexplained_ns: i64 => sum,
        pub sessions: SessionCounts => sum,
        pub inspected: InspectedCounts => sum,
    }
}

counters! {
    /// Sums over the succeeded answers that were inspected ([`crate::Inspect`]).
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct InspectedCounts {
        pub answers: u64 => sum,
        /// Of their bodies, without the framing of HTTP.
        pub body_bytes: u64 => sum,
        /// The same after decompression.
        pub decoded_bytes: u64 => sum,
        /// Elements of the counted array; `None`: none is counted, or there was no answer.
        pub items: Option<u64> => sum,
    }
}

counters! {
    /// Sessions of a scenario. `started = completed + failed + running`.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct SessionCounts {
        pub started: u64 => sum,
        /// Completed their flow.
        pub completed: u64 => sum,
        /// Ended early by a failed request, or with their connection.
        pub failed: u64 => sum,
        /// Requests that were sent again after a failure.
        pub retries: u64 => sum,
    }
}

counters! {
    /// Requests of one step of a scenario. `sent = succeeded + failed + in flight`.
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct StepCounts {
        pub sent: u64 => sum,
        pub succeeded: u64 => sum,
        pub failed: u64 => sum,
        pub failures: Failures => sum,
    }
}

/// One interval of all workers together; longer than [`crate::Job::interval`] if intervals were not taken for a while. Histograms
/// are in microseconds, 1 µs to 1 h, three significant digits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Interval {
    /// Counted from 0; interval n covers `n × length ..` since the start of the run.
    pub index: u64,
    /// Since the start of the run.
    pub start: Duration,
    pub length: Duration,
    pub counts: Counts,
    /// Connect times and handshakes are empty without them, as are the first bytes if no answer is inspected, and the sessions without
    /// a scenario.
    #[serde(with = "super::histogram::of_times")]
    pub times: Times<Histogram<u64>>,
    /// One for each of [`crate::Running::step_names`]; empty without a scenario.
    pub steps: Vec<StepInterval>,
    /// What limited each generator, if several made the load; empty if it was one.
    pub generators: Vec<GeneratorInterval>,
}

counters! {
    /// One of several generators in an interval: what shows whether it was the limit.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct GeneratorInterval {
        pub sent: u64 => sum,
        /// As in [`Counts`], of this generator's workers.
        pub engine_cpu_busiest: Duration => busiest,
        pub engine_cpu_wanted_busiest: Duration => busiest,
        pub engine_run_queue_wait: Duration => sum,
        pub engine_time_slices: u64 => sum,
        #[serde(with = "super::histogram")]
        pub lag: Histogram<u64> => sum,
    }
}

impl GeneratorInterval {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            sent: 0,
            engine_cpu_busiest: Duration::ZERO,
            engine_cpu_wanted_busiest: Duration::ZERO,
            engine_run_queue_wait: Duration::ZERO,
            engine_time_slices: 0,
            lag: growing_histogram(),
        }
    }
}

impl Default for GeneratorInterval {
    fn default() -> Self {
        Self::new()
    }
}

impl Interval {
    /// Nothing yet, of a load with so many steps.
    #[must_use]
    pub fn new(index: u64, start: Duration, steps: usize) -> Self {
        Self {
            index,
            start,
            length: Duration::ZERO,
            counts: Counts::default(),
            times: empty_times(),
            steps: iter::repeat_with(StepInterval::new).take(steps).collect(),
            generators: Vec::new(),
        }
    }

    /// Merges the next interval into this one.
    pub fn follow(&mut self, next: &Self) {
        self.length = (next.start + next.length).saturating_sub(self.start);
        self.counts.follow(&next.counts);
        add_times(&mut self.times, &next.times);
        for (sum, part) in self.steps.iter_mut().zip(&next.steps) {
            sum.add(part);
        }
        for (sum, part) in self.generators.iter_mut().zip(&next.generators) {
            sum.follow(part);
        }
    }
}

/// One step of a scenario in an interval; histograms as those of [`Interval`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StepInterval {
    pub counts: StepCounts,
    #[serde(with = "super::histogram::of_times")]
    pub times: StepTimes<Histogram<u64>>,
}

impl StepInterval {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            counts: StepCounts::default(),
            times: Times::from_fn(|_| growing_histogram()),
        }
    }

    /// Adds another worker's, or a later interval of the step.
    pub fn add(&mut self, part: &Self) {
        self.counts.join(&part.counts);
        add_times(&mut self.times, &part.times);
    }
}

impl Default for StepInterval {
    fn default() -> Self {
        Self::new()
    }
}

/// The end of a run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The whole run, warm-up included.
    pub totals: Counts,
    /// Nanoseconds since 1970 at the start of the run (interval 0).
    pub started_unix_ns: u64,
    pub ran_for: Duration,
    /// From the start to the first request, of the worker that sent it first; `None`: none was sent. Workers note it once in each
    /// cycle of their loop.
    pub first_sent: Option<Duration>,
    /// The same of each generator, in their order; empty if there is one, in this process.
    #[serde(skip)]
    pub first_sent_by_each: Vec<Option<Duration>>,
    /// Connections (or users) of the job.
    pub connections_asked: u64,
    /// One per worker if the job tracks request outcomes.
    #[serde(skip)]
    pub request_outcomes: Vec<RequestOutcomes>,
    /// Counts of each step of a scenario over the whole run, in the order of [`crate::Running::step_names`].
    pub steps: Vec<StepCounts>,
    /// Names of the scenario's feeds that were used up; the workers that used them up have ended.
    pub feeds_used_up: Vec<String>,
    /// Of a load of clients, in their order.
    pub clients: Vec<ClientOutcome>,
    /// What sessions kept, if [`crate::Preparation::keeps`] is not empty.
    #[serde(skip)]
    pub kept: KeptRows,
    /// Of each step an answer that failed a check or a capture, the first one of a worker; by step.
    pub mismatches: Vec<Mismatch>,
    /// Of each kind of failure, and of each step, an example; by step and kind.
    pub examples: Vec<Example>,
    /// True if a worker reached [`crate::Job::max_tracked_requests`], which also ends the run.
    pub request_outcomes_full: bool,
    /// True if a worker skipped requests while later ones were still sent: more were due than may wait.
    pub skipped_under_load: bool,
    /// How long no connection was open if that ended a run that should have ended by its number of requests: attempts to connect
    /// are not requests, so the number would never be reached.
    pub unconnected_for: Option<Duration>,
}

impl Outcome {
    /// Adds another share of the same run, of workers that come after those of this one.
    pub fn join(&mut self, next: Self) {
        self.totals.join(&next.totals);
        self.ran_for = self.ran_for.max(next.ran_for);
        self.first_sent = first_of(self.first_sent, next.first_sent);
        self.connections_asked = self.connections_asked.max(next.connections_asked);
        self.request_outcomes.extend(next.request_outcomes);
        for (sum, step) in self.steps.iter_mut().zip(&next.steps) {
            sum.join(step);
        }
        for feed in next.feeds_used_up {
            if !self.feeds_used_up.contains(&feed) {
                self.feeds_used_up.push(feed);
            }
        }
        merge_mismatches(&mut self.mismatches, next.mismatches);
        merge_examples(&mut self.examples, next.examples);
        self.clients.extend(next.clients);
        self.clients.sort_by_key(|client| client.number);
        self.request_outcomes_full |= next.request_outcomes_full;
        self.skipped_under_load |= next.skipped_under_load;
        self.unconnected_for = self.unconnected_for.max(next.unconnected_for);
    }
}

/// The earlier one of two instants, as far as there are any.
pub(crate) fn first_of(first: Option<Duration>, second: Option<Duration>) -> Option<Duration> {
    first.into_iter().chain(second).min()
}

/// The results of one client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientOutcome {
    /// Counted from 0 over all clients of the load.
    pub number: usize,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests with a complete answer, an expected one or not.
    pub completed: u64,
    /// Requests that were answered as expected.
    pub succeeded: u64,
    /// From the start of the load until its last answer, or until it ended early.
    pub lasted: Duration,
    pub end: ClientEnd,
}

/// How a client ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientEnd {
    /// It has sent all of its requests, and each of them was answered or counted as failed.
    Finished,
    /// At its first error of a socket, or timeout.
    Failed(Failure),
    /// The load ended before.
    Stopped,
}

/// Most examples of one load: a server may have hundreds of statuses.
pub(crate) const EXAMPLES_MAX: usize = 64;

/// The first failure of its kind, of one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    pub failure: Failure,
    /// The index of the step that it belongs to; `None`: there are no steps, or it belongs to a connection.
    pub step: Option<usize>,
    /// Those of the session.
    pub rows: Vec<FeedRow>,
    /// One line of text, without control characters.
    pub text: String,
}

pub(crate) fn is_in(examples: &[Example], failure: Failure, step: Option<usize>) -> bool {
    let mut all = examples.iter();
    all.any(|known| known.failure == failure && known.step == step)
}

/// Adds those of other workers, one for each kind and step.
pub(crate) fn merge_examples(into: &mut Vec<Example>, others: Vec<Example>) {
    for other in others {
        if !is_in(into, other.failure, other.step) && into.len() < EXAMPLES_MAX {
            into.push(other);
        }
    }
    into.sort_by_key(|example| (example.step, example.failure));
}

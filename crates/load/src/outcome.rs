//! What a load run says of itself: intervals while it runs, totals at its end.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::Account;

/// Why a request, or the opening of a connection, failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Failure {
    /// The connection was refused.
    Refused,
    /// The connection could not be opened within its time, or for another reason.
    ConnectFailed,
    /// This machine had no local port left for the connection, or no address that leads there.
    NoPort,
    /// The connection was reset or closed before the answer was whole.
    Reset,
    /// The answer was not whole in time.
    TimedOut,
    /// The answer was whole, with an unexpected status.
    Status(u16),
    /// The answer was not HTTP, or beyond a limit.
    Malformed,
    /// The answer had the expected status and another body than expected.
    WrongBody,
    /// The connection stood, but TLS did not come about, or not with the protocol that was asked for.
    Handshake(HandshakeFailure),
    /// The other side does not keep to HTTP/2, or says that we do not.
    Protocol,
    /// A step of a scenario: a check of the answer did not hold.
    CheckFailed,
    /// A step of a scenario: what was to be captured was not in the answer.
    NotCaptured,
    /// A step of a scenario: checks or captures need a body that is longer than [`crate::Limits::body_kept_max_bytes`].
    BodyNotKept,
}

/// What went wrong in a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HandshakeFailure {
    /// None of the authorities that are trusted stands for the server's certificate.
    UnknownIssuer,
    /// The server's certificate is no longer valid, or not yet.
    Expired,
    /// The server's certificate is for other names.
    WrongName,
    /// The server's certificate is not taken for another reason.
    Certificate,
    /// The server does not speak the protocol that was asked for.
    NoProtocol,
    /// The server refused, with an alert.
    Refused,
    /// The connection ended in the middle.
    Cut,
    /// It was not done within the time to connect.
    TimedOut,
    /// The server's messages are no TLS, or there is nothing that both sides can do.
    Malformed,
}

/// Failures by kind; few kinds, so a sorted list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures(pub Vec<(Failure, u64)>);

impl Failures {
    /// Adds `count` failures of one kind.
    pub fn add(&mut self, failure: Failure, count: u64) {
        match self.0.binary_search_by_key(&failure, |(kind, _)| *kind) {
            Ok(place) => self.0[place].1 += count,
            Err(place) => self.0.insert(place, (failure, count)),
        }
    }
}

/// Counts of one interval or of a whole run. `sent = succeeded + failed + in flight`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    /// Open load: requests that fell due (closed and users: the same as sent).
    pub due: u64,
    pub sent: u64,
    pub succeeded: u64,
    /// Requests that were sent and failed, whatever the kind.
    pub failed: u64,
    /// By kind; `Refused`, `ConnectFailed`, `NoPort` and `Handshake` count attempts to connect, which are not requests, and
    /// `Malformed` and `Protocol` also what came while nothing was in flight.
    pub failures: Failures,
    /// Open load: fell due and were never sent, because too many were waiting or the run ended.
    pub skipped: u64,
    /// Sent and not answered at the end of the interval.
    pub in_flight: u64,
    /// Open at the end of the interval.
    pub connections_open: u64,
    /// Connections made, with their handshakes still to come.
    pub connects: u64,
    /// TLS handshakes that succeeded.
    pub handshakes: u64,
    /// Those of them that went on with an earlier session.
    pub handshakes_resumed: u64,
    /// Of HTTP, its own framing included; what TLS adds is not in it.
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// CPU time of the worker threads.
    pub engine_cpu: Duration,
    /// CPU time of the busiest worker thread.
    pub engine_cpu_busiest: Duration,
    /// CPU time that a worker thread used or stood in the run queue for, of the worker with most of it. The same as
    /// used where the kernel does not tell of its queue.
    pub engine_wanted_busiest: Duration,
    /// Time that the worker threads stood in the run queue, and how often they got onto a CPU.
    pub engine_waited: Duration,
    pub engine_turns: u64,
    /// Sum of the time that requests were in flight, for Little's law: mean concurrency = this ÷ length.
    pub in_flight_time: Duration,
    /// What of it belongs to no success here: the times of requests that failed, and by how much those in flight at the
    /// end had been so for longer than those at the start. The rest is the sum of the service times.
    pub in_flight_beside_ns: i64,
    pub sessions: SessionCounts,
}

/// Sessions of a scenario. `started = completed + failed + under way`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionCounts {
    pub started: u64,
    /// Went through their flow to its end.
    pub completed: u64,
    /// Ended early by a request that failed, or with their connection.
    pub failed: u64,
}

impl SessionCounts {
    fn join(&mut self, other: Self) {
        self.started += other.started;
        self.completed += other.completed;
        self.failed += other.failed;
    }
}

/// Requests of one step of a scenario. `sent = succeeded + failed + in flight`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepCounts {
    pub sent: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub failures: Failures,
}

impl StepCounts {
    /// Adds what was counted elsewhere or later.
    pub fn join(&mut self, other: &Self) {
        self.sent += other.sent;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        for &(failure, count) in &other.failures.0 {
            self.failures.add(failure, count);
        }
    }
}

impl Counts {
    /// Adds what the same workers counted next: numbers add up, states are the later ones.
    pub fn follow(&mut self, next: &Self) {
        let cpu_busiest = self.engine_cpu_busiest + next.engine_cpu_busiest;
        let wanted_busiest = self.engine_wanted_busiest + next.engine_wanted_busiest;
        self.join(next);
        self.in_flight = next.in_flight;
        self.connections_open = next.connections_open;
        self.engine_cpu_busiest = cpu_busiest;
        self.engine_wanted_busiest = wanted_busiest;
    }

    /// Adds what other workers counted in the same time.
    pub fn join(&mut self, other: &Self) {
        self.due += other.due;
        self.sent += other.sent;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        for &(failure, count) in &other.failures.0 {
            self.failures.add(failure, count);
        }
        self.skipped += other.skipped;
        self.in_flight += other.in_flight;
        self.connections_open += other.connections_open;
        self.connects += other.connects;
        self.handshakes += other.handshakes;
        self.handshakes_resumed += other.handshakes_resumed;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.engine_cpu += other.engine_cpu;
        self.engine_cpu_busiest = self.engine_cpu_busiest.max(other.engine_cpu_busiest);
        self.engine_wanted_busiest = self.engine_wanted_busiest.max(other.engine_wanted_busiest);
        self.engine_waited += other.engine_waited;
        self.engine_turns += other.engine_turns;
        self.in_flight_time += other.in_flight_time;
        self.in_flight_beside_ns += other.in_flight_beside_ns;
        self.sessions.join(other.sessions);
    }
}

/// One interval of all workers together; longer than asked where nobody took intervals for a while. Histograms are in microseconds, 1 µs to 1 h, three significant digits.
#[derive(Debug, Clone)]
pub struct Interval {
    /// Counted from 0; interval n covers `n × length ..` since the start of the run.
    pub index: u64,
    /// Since the start of the run.
    pub start: Duration,
    pub length: Duration,
    pub counts: Counts,
    /// done − due of succeeded requests.
    pub response_time: Histogram<u64>,
    /// done − sent of succeeded requests.
    pub service_time: Histogram<u64>,
    /// done − due of requests that failed with an answer or a timeout.
    pub failed_time: Histogram<u64>,
    /// How late the engine itself was: sending instant − the instant at which sending was possible.
    pub lag: Histogram<u64>,
    /// One for each of [`crate::Running::step_names`]; empty without a scenario.
    pub steps: Vec<StepInterval>,
    /// From the beginning of an attempt to connect until the connection stood.
    pub connect_time: Histogram<u64>,
    /// From then on until TLS stood; empty without TLS.
    pub handshake_time: Histogram<u64>,
}

impl Interval {
    /// Adds the interval that came next, so that the two are one.
    pub fn follow(&mut self, next: &Self) {
        self.length = (next.start + next.length).saturating_sub(self.start);
        self.counts.follow(&next.counts);
        for (sum, part) in [
            (&mut self.response_time, &next.response_time),
            (&mut self.service_time, &next.service_time),
            (&mut self.failed_time, &next.failed_time),
            (&mut self.lag, &next.lag),
            (&mut self.connect_time, &next.connect_time),
            (&mut self.handshake_time, &next.handshake_time),
        ] {
            add(sum, part);
        }
        for (sum, part) in self.steps.iter_mut().zip(&next.steps) {
            sum.counts.join(&part.counts);
            add(&mut sum.response_time, &part.response_time);
            add(&mut sum.service_time, &part.service_time);
            add(&mut sum.failed_time, &part.failed_time);
        }
    }
}

fn add(sum: &mut Histogram<u64>, part: &Histogram<u64>) {
    sum.add(part).expect("all histograms have the same bounds");
}

/// What one step of a scenario did in an interval; histograms as those of [`Interval`].
#[derive(Debug, Clone)]
pub struct StepInterval {
    pub counts: StepCounts,
    pub response_time: Histogram<u64>,
    pub service_time: Histogram<u64>,
    pub failed_time: Histogram<u64>,
}

/// The end of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The whole run, warm-up included.
    pub totals: Counts,
    /// Nanoseconds since 1970 at the start of the run (interval 0).
    pub started_unix_ns: u64,
    pub ran_for: Duration,
    /// Connections (or users) the job asked for.
    pub connections_asked: u64,
    /// One per worker, where the job asked for accounts.
    pub accounts: Vec<Account>,
    /// Counts of each step of a scenario over the whole run, in the order of [`crate::Running::step_names`].
    pub steps: Vec<StepCounts>,
    /// Names of the scenario's feeds that were used up, which ends the run of the workers that used them up.
    pub feeds_used_up: Vec<String>,
    /// True where an account reached its limit, which also ends the run.
    pub account_full: bool,
    /// For how long no connection was open, where that has ended a run that should have ended by its count: attempts to
    /// connect are no requests, and so the count would never be reached.
    pub unconnected_for: Option<Duration>,
}

//! Shared by the engine's tests: a basic job, and invariants after every run.

pub(crate) mod child;
pub(crate) mod cutter;
pub(crate) mod scenarios;
pub(crate) mod shop;
pub(crate) mod stamped;
pub(crate) mod stream_shop;

use std::{net::SocketAddr, time::Duration};

use hdrhistogram::Histogram;
use waggle_load::{
    BodyCheck, Counts, Expect, Failure, Interval, Job, Limits, Outcome, Prepared, Running,
    StepCounts, Target, Transport, What, start,
};
use waggle_spec::{LoadModel, TimeKind};
pub(crate) use waggle_testkit::http::{Reply, Request, Server};

pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

pub(crate) fn get() -> Prepared {
    Prepared {
        bytes: b"GET / HTTP/1.1\r\nHost: test\r\n\r\n".to_vec(),
        slots: Vec::new(),
        records: 0,
        is_head: false,
    }
}

/// A job of GETs that ends after ten minutes at the latest.
pub(crate) fn job(address: SocketAddr, model: LoadModel) -> Job {
    Job {
        name: "get".to_owned(),
        targets: vec![Target { address }],
        transport: Transport::default(),
        model,
        stages: Vec::new(),
        what: What::Requests {
            requests: vec![get()],
            expect: Expect {
                status: Vec::new(),
                body: BodyCheck::Any,
            },
            inspect: None,
        },
        limits: Limits::default(),
        workers: vec![None],
        interval: Duration::from_millis(50),
        max_duration: Duration::from_secs(600),
        max_requests: None,
        max_tracked_requests: None,
        seed: 7,
    }
}

/// The prepared requests of a job.
pub(crate) fn requests(job: &mut Job) -> &mut Vec<Prepared> {
    match &mut job.what {
        What::Requests { requests, .. } => requests,
        What::Scenario(_) => panic!("a scenario has no requests made ahead"),
    }
}

/// The expectation of such a job.
pub(crate) fn expect(job: &mut Job) -> &mut Expect {
    match &mut job.what {
        What::Requests { expect, .. } => expect,
        What::Scenario(_) => panic!("a scenario expects by step"),
    }
}

pub(crate) fn closed_model(connections: usize, pipelining: usize) -> LoadModel {
    LoadModel::Closed {
        connections: u32::try_from(connections).unwrap(),
        pipelining: u32::try_from(pipelining).unwrap(),
    }
}

/// A run that has ended.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) intervals: Vec<Interval>,
}

pub(crate) fn run(job: Job) -> Ended {
    take_all(start(job).unwrap())
}

pub(crate) fn take_all(running: Running) -> Ended {
    let mut intervals = Vec::new();
    while !running.has_ended() {
        intervals.extend(running.next_interval(Duration::from_millis(100)));
    }
    Ended {
        outcome: running.join(),
        intervals,
    }
}

/// Failures of all kinds, those to connect among them.
pub(crate) fn count_failures(counts: &Counts) -> u64 {
    let all = counts.failures.0.iter().chain(&counts.other_failures.0);
    all.map(|(_, count)| count).sum()
}

/// Stops a run as soon as its counts fulfil `is_enough`; it may also end by itself.
pub(crate) fn run_until(job: Job, is_enough: impl FnMut(&Counts) -> bool) -> Ended {
    stop_when(start(job).unwrap(), is_enough)
}

/// The same, for a started run.
pub(crate) fn stop_when(running: Running, mut is_enough: impl FnMut(&Counts) -> bool) -> Ended {
    let (mut counted, mut intervals) = (Counts::default(), Vec::new());
    while !running.has_ended() {
        let Some(interval) = running.next_interval(Duration::from_millis(100)) else {
            continue;
        };
        counted.follow(&interval.counts);
        if is_enough(&counted) {
            running.stop();
        }
        intervals.push(interval);
    }
    Ended {
        outcome: running.join(),
        intervals,
    }
}

impl Ended {
    pub(crate) fn counts(&self) -> &Counts {
        &self.outcome.totals
    }

    /// Of connections and sessions.
    pub(crate) fn other_failures(&self) -> Vec<(Failure, u64)> {
        self.outcome.totals.other_failures.0.clone()
    }

    pub(crate) fn failures(&self) -> Vec<(Failure, u64)> {
        self.outcome.totals.failures.0.clone()
    }

    pub(crate) fn merge(&self, histogram: impl Fn(&Interval) -> &Histogram<u64>) -> Histogram<u64> {
        let mut sum = histogram(&self.intervals[0]).clone();
        for interval in &self.intervals[1..] {
            sum.add(histogram(interval)).unwrap();
        }
        sum
    }

    /// Invariants of every run.
    pub(crate) fn check_sums(&self) {
        self.check_sums_of_streams(1);
    }

    /// The same with this many sessions at once on each connection.
    pub(crate) fn check_sums_of_streams(&self, lanes: u64) {
        let totals = self.counts();
        assert_eq!(
            totals.sent,
            totals.succeeded + totals.failed + totals.in_flight,
            "{totals:?}"
        );
        assert_eq!(totals.due, totals.sent + totals.skipped, "{totals:?}");
        check_kinds(totals);
        let mut sum = Counts::default();
        for (index, interval) in self.intervals.iter().enumerate() {
            check_kinds(&interval.counts);
            sum.follow(&interval.counts);
            let start = self.intervals[..index]
                .last()
                .map_or(Duration::ZERO, |last| last.start + last.length);
            assert_eq!(interval.start, start, "intervals must follow each other");
            check_littles_law(interval);
        }
        sum.engine_cpu_busiest = totals.engine_cpu_busiest;
        sum.engine_cpu_wanted_busiest = totals.engine_cpu_wanted_busiest;
        assert_eq!(&sum, totals, "the intervals must add up to the totals");
        assert_eq!(
            self.merge(|interval| &interval.times[TimeKind::Response])
                .len(),
            totals.succeeded
        );
        assert_eq!(
            self.merge(|interval| &interval.times[TimeKind::Service])
                .len(),
            totals.succeeded
        );
        assert_eq!(
            self.merge(|interval| &interval.times[TimeKind::Lag]).len(),
            totals.sent
        );
        self.check_steps(lanes);
    }

    /// The steps of a scenario add up to the whole.
    fn check_steps(&self, lanes: u64) {
        let totals = self.counts();
        let mut all = StepCounts::default();
        for (number, step) in self.outcome.steps.iter().enumerate() {
            all.join(step);
            let mut sum = StepCounts::default();
            for interval in &self.intervals {
                sum.join(&interval.steps[number].counts);
            }
            assert_eq!(&sum, step, "the intervals of step {number} must add up");
            let response_time =
                self.merge(|interval| &interval.steps[number].times[TimeKind::Response]);
            let service_time =
                self.merge(|interval| &interval.steps[number].times[TimeKind::Service]);
            assert_eq!(response_time.len(), step.succeeded, "step {number}");
            assert_eq!(service_time.len(), step.succeeded, "step {number}");
        }
        if !self.outcome.steps.is_empty() {
            let sums = (all.sent, all.succeeded, all.failed);
            assert_eq!(sums, (totals.sent, totals.succeeded, totals.failed));
        }
        let sessions = totals.sessions;
        let under_way = sessions.started - sessions.completed - sessions.failed;
        let most = self.outcome.connections_asked * lanes;
        assert!(under_way <= most, "{sessions:?}");
    }
}

/// Failed requests and their kinds are the same number.
fn check_kinds(counts: &Counts) {
    let of_kinds = counts.failures.0.iter().map(|(_, count)| count);
    assert_eq!(counts.failed, of_kinds.sum::<u64>(), "{counts:?}");
}

/// The time in flight is the sum of the service times and the unexplained part, for any interval: the tolerance is half a
/// microsecond per request and the three digits of a histogram.
fn check_littles_law(interval: &Interval) {
    let counts = &interval.counts;
    let succeeded = counts.succeeded as f64;
    let service_time = &interval.times[TimeKind::Service];
    let served_us = if service_time.is_empty() {
        0.0
    } else {
        service_time.mean() * succeeded
    };
    let in_flight_us = counts.in_flight_time.as_secs_f64() * 1e6;
    let landed_us = served_us + counts.in_flight_unexplained_ns as f64 / 1e3;
    let allowed_us = succeeded + served_us / 1e3 + 1.0;
    assert!(
        (in_flight_us - landed_us).abs() <= allowed_us,
        "{in_flight_us} µs in flight, {landed_us} µs landed: {counts:?}"
    );
}

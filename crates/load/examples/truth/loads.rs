//! The loads whose latencies are compared, and the true response times.

use std::{collections::HashMap, time::Duration};

use hdrhistogram::Histogram;
use waggle_load::{
    BodyCheck, Expect, Job, Limits, Target, Transport, What, start, worker_and_sequence,
};
use waggle_spec::{Arrivals, LoadModel, Think, TimeKind};

use crate::{
    Least, Pair,
    delays::{DelayServer, Note},
    micros_between,
    stamped::stamped_request,
};

const REQUESTS: u64 = 6_000;
const RATE_PER_S: f64 = 1_500.0;
const THINK: Duration = Duration::from_millis(4);

/// One load.
pub(crate) struct Load {
    pub(crate) name: &'static str,
    model: LoadModel,
    workers: usize,
    since: Since,
}

/// What the response time begins with.
enum Since {
    /// With sending, as the service time.
    Sent,
    /// Not compared for pipelines: it begins with sending, so its truth is that of the service time.
    Pipelined,
    /// With the instants of the schedule.
    Schedule,
    /// With the end of a pause, which begins when an answer is noticed.
    Pause,
}

/// Measurements of engine and server.
pub(crate) struct Measured {
    pub(crate) notes: Vec<Note>,
    pub(crate) service_time: Histogram<u64>,
    pub(crate) lag: Histogram<u64>,
    response_time: Histogram<u64>,
    started_unix_ns: u64,
}

pub(crate) fn loads() -> Vec<Load> {
    let closed = |connections, pipelining| LoadModel::Closed {
        connections,
        pipelining,
    };
    let open = |connections| LoadModel::Open {
        rate_per_s: RATE_PER_S,
        arrivals: Arrivals::Uniform,
        connections,
        pipelining: 1,
    };
    let users = LoadModel::Users {
        users: 40,
        think_time: Think::Fixed(THINK),
    };
    let load = |name, model, workers, since| Load {
        name,
        model,
        workers,
        since,
    };
    vec![
        load("32 connections", closed(32, 1), 1, Since::Sent),
        load("10 × 4 in a pipeline", closed(10, 4), 2, Since::Pipelined),
        load("1,500/s on 100", open(100), 1, Since::Schedule),
        load("1,500/s on 11", open(11), 2, Since::Schedule),
        load("40 users", users, 1, Since::Pause),
    ]
}

impl Load {
    /// Runs it once, against a server whose delays are drawn from `seed`.
    pub(crate) fn measure(&self, seed: u64) -> Measured {
        let server = DelayServer::start(seed);
        let running = start(self.job(&server)).unwrap();
        let mut all = running.next_interval(Duration::from_secs(30)).unwrap();
        while !running.has_ended() {
            if let Some(next) = running.next_interval(Duration::from_millis(100)) {
                all.follow(&next);
            }
        }
        let outcome = running.join();
        let notes = server.stop();
        let counted = (outcome.totals.succeeded, notes.len() as u64);
        assert_eq!(counted, (REQUESTS, REQUESTS), "{}", self.name);
        Measured {
            notes,
            service_time: all.times[TimeKind::Service].clone(),
            response_time: all.times[TimeKind::Response].clone(),
            lag: all.times[TimeKind::Lag].clone(),
            started_unix_ns: outcome.started_unix_ns,
        }
    }

    fn job(&self, server: &DelayServer) -> Job {
        Job {
            name: "truth".to_owned(),
            targets: vec![Target {
                address: server.address,
            }],
            transport: Transport::default(),
            model: self.model.clone(),
            stages: Vec::new(),
            what: What::Requests {
                requests: vec![stamped_request()],
                expect: Expect {
                    status: Vec::new(),
                    body: BodyCheck::Any,
                },
                inspect: None,
            },
            limits: Limits::default(),
            workers: vec![None; self.workers],
            interval: Duration::from_millis(50),
            max_duration: Duration::from_secs(30),
            max_requests: Some(REQUESTS),
            max_tracked_requests: None,
            seed: 7,
        }
    }

    /// True and reported response time.
    pub(crate) fn response_time(&self, measured: &Measured) -> Option<Pair> {
        let notes = measured.notes.iter();
        let (truth, least) = match self.since {
            Since::Pipelined => return None,
            Since::Sent => (
                notes
                    .map(|note| micros_between(note.sent, note.written))
                    .collect(),
                Least::Truth,
            ),
            Since::Schedule => (
                notes
                    .map(|note| micros_between(self.due(note, measured), note.written))
                    .collect(),
                Least::Truth,
            ),
            Since::Pause => (after_pauses(&measured.notes), Least::AsFarAsAbove),
        };
        Some(Pair {
            name: "response time",
            truth,
            reported: measured.response_time.clone(),
            least,
        })
    }

    /// When a request of the open load was due.
    fn due(&self, note: &Note, measured: &Measured) -> u64 {
        let (worker, sequence) = worker_and_sequence(note.key).unwrap();
        let number = sequence * self.workers as u64 + worker as u64;
        measured.started_unix_ns + (number as f64 / RATE_PER_S * 1e9) as u64
    }
}

/// Since the end of each user's pause. The first request has no pause before it.
fn after_pauses(notes: &[Note]) -> Vec<f64> {
    let think_us = THINK.as_secs_f64() * 1e6;
    let mut before = HashMap::new();
    notes
        .iter()
        .map(|note| match before.insert(note.connection, note.written) {
            Some(before) => micros_between(before, note.written) - think_us,
            None => micros_between(note.sent, note.written),
        })
        .collect()
}

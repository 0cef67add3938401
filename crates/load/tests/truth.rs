//! Latency against truth: what the engine reports is what the server knows it took.
//!
//! The truth of a request lies between two instants on one clock: the sending instant that the engine has stamped into
//! it, which the server holds against the instant at which it had read it, and the instant at which the server began to
//! write the answer. The engine can only notice an answer later, so its percentiles are never below the truth. They may
//! be above it by 1 % or 50 µs, and by what the machine at this moment needs to wake a thread: the server's own answers
//! went out later than it meant them to by just that, and how far such delays move a percentile is computed from them.

#![allow(clippy::unwrap_used, reason = "a test file")]

mod support;

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use hdrhistogram::Histogram;
use support::{
    Ended, closed,
    delays::{DelayServer, Note, stamped},
    job, requests, run,
};
use waggle_load::{Arrivals, Model, Rate, Think, worker_and_sequence};

const REQUESTS: u64 = 6_000;
const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];
/// A machine that is busy with other things may spoil an attempt; a fault of the engine spoils them all.
const ATTEMPTS: u64 = 8;
/// Server and engine each tie the two clocks together, the engine within this.
const CLOCKS_APART_US: f64 = 20.0;
static ALONE: Mutex<()> = Mutex::new(());
const THINK: Duration = Duration::from_millis(4);

/// Truth and report of one of the two times.
struct Pair {
    name: &'static str,
    /// In microseconds, of every request in the order of the answers.
    truth: Vec<f64>,
    reported: Histogram<u64>,
    /// Whether what the engine cannot know, its own delay in noticing, can also make its figure smaller.
    is_two_sided: bool,
}

fn check(model: &Model, workers: usize, pairs: impl Fn(&Ended, &[Note]) -> Vec<Pair>) {
    // One at a time: two of these tests beside each other would be each other's noise.
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut misses = Vec::new();
    for attempt in 0..ATTEMPTS {
        let server = DelayServer::start(attempt);
        let mut job = job(server.address, model.clone());
        *requests(&mut job) = vec![stamped()];
        job.workers = vec![None; workers];
        job.requests_at_most = Some(REQUESTS);
        let ended = run(job);
        let notes = server.stop();
        ended.check_sums();
        assert_eq!(ended.counts().succeeded, REQUESTS);
        assert_eq!(notes.len() as u64, REQUESTS);
        let late: Vec<f64> = notes
            .iter()
            .map(|note| us(note.meant, note.written))
            .collect();
        misses = pairs(&ended, &notes)
            .iter()
            .flat_map(|pair| missed(pair, &late))
            .chain(stamped_too_soon(&notes, &late))
            .chain(sent_too_late(&ended, &late))
            .collect();
        if misses.is_empty() {
            return;
        }
    }
    panic!("{model:?}, the last of {ATTEMPTS} attempts: {misses:#?}");
}

/// Microseconds from one instant to another; below 0 where the other is the earlier one.
fn us(from: u64, to: u64) -> f64 {
    to.wrapping_sub(from).cast_signed() as f64 / 1e3
}

fn quantile(mut values: Vec<f64>, quantile: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[(quantile * values.len() as f64).ceil() as usize - 1]
}

/// The percentiles that are too large; one that is too small fails the test at once, since no machine explains it.
fn missed(pair: &Pair, late: &[f64]) -> Vec<String> {
    // Who was woken late when has nothing to do with who waited how long: another request's lateness is as good.
    let shift = late.len() / 2;
    let delayed: Vec<f64> = (0..late.len())
        .map(|place| pair.truth[place] + late[(place + shift) % late.len()])
        .collect();
    let mut misses = Vec::new();
    for q in QUANTILES {
        let truth = quantile(pair.truth.clone(), q);
        let moved = quantile(delayed.clone(), q) - truth;
        let reported = pair.reported.value_at_quantile(q) as f64;
        let allowed = (truth * 0.01).max(50.0) + moved;
        let text = format!(
            "{} at {q}: {reported} µs, in truth {truth} µs, {allowed} µs more allowed, of it {moved} µs by the machine",
            pair.name
        );
        let below = if pair.is_two_sided {
            allowed
        } else {
            CLOCKS_APART_US
        };
        assert!(reported + below >= truth, "{text}");
        if reported > truth + allowed {
            misses.push(text);
        }
    }
    misses
}

/// The stamp that the truth begins with is itself held against the server's clock.
fn stamped_too_soon(notes: &[Note], late: &[f64]) -> Option<String> {
    for note in notes {
        let age = us(note.sent, note.read);
        assert!(
            age + CLOCKS_APART_US >= 0.0,
            "sent after it was read: {note:?}"
        );
    }
    let age = quantile(
        notes.iter().map(|note| us(note.sent, note.read)).collect(),
        0.5,
    );
    let allowed = 50.0 + 2.0 * quantile(late.to_vec(), 0.5);
    (age > allowed).then(|| {
        format!("half of the stamps are older than {age} µs when read, allowed {allowed} µs")
    })
}

/// Sending in time: half of all requests go as soon as a thread can be woken. The rest is a matter of the machine, and
/// stands in the response time.
fn sent_too_late(ended: &Ended, late: &[f64]) -> Option<String> {
    let lag = ended
        .merged(|interval| &interval.lag)
        .value_at_quantile(0.5) as f64;
    let allowed = 50.0 + 2.0 * quantile(late.to_vec(), 0.5);
    (lag > allowed).then(|| {
        format!("half of the requests were sent more than {lag} µs late, allowed {allowed} µs")
    })
}

fn service_time(ended: &Ended, notes: &[Note]) -> Pair {
    Pair {
        name: "service time",
        truth: notes
            .iter()
            .map(|note| us(note.sent, note.written))
            .collect(),
        reported: ended.merged(|interval| &interval.service_time),
        is_two_sided: false,
    }
}

#[test]
fn closed_load_reports_what_the_server_took() {
    check(&closed(32, 1), 1, |ended, notes| {
        let service = service_time(ended, notes);
        let response = Pair {
            name: "response time",
            truth: service.truth.clone(),
            reported: ended.merged(|interval| &interval.response_time),
            is_two_sided: false,
        };
        vec![service, response]
    });
}

#[test]
fn pipelined_load_reports_what_the_server_took() {
    check(&closed(10, 4), 2, |ended, notes| {
        vec![service_time(ended, notes)]
    });
}

/// A thousand and a half in a second, evenly; response time runs from the schedule's own instants.
fn check_open(connections: usize, workers: usize) {
    const RATE: f64 = 1_500.0;
    let model = Model::Open {
        rate: Rate::Constant(RATE),
        arrivals: Arrivals::Uniform,
        connections,
        pipelining: 1,
    };
    check(&model, workers, |ended, notes| {
        let due = |note: &Note| {
            let (worker, sequence) = worker_and_sequence(note.key).unwrap();
            let number = sequence * workers as u64 + worker as u64;
            ended.outcome.started_unix_ns + (number as f64 / RATE * 1e9) as u64
        };
        let response = Pair {
            name: "response time",
            truth: notes
                .iter()
                .map(|note| us(due(note), note.written))
                .collect(),
            reported: ended.merged(|interval| &interval.response_time),
            is_two_sided: false,
        };
        vec![service_time(ended, notes), response]
    });
}

#[test]
fn open_load_reports_what_passed_since_due() {
    check_open(100, 1);
}

#[test]
fn open_load_with_few_connections_reports_the_queue_as_well() {
    check_open(11, 2);
}

#[test]
fn users_report_what_passed_since_their_pause() {
    let model = Model::Users {
        users: 40,
        think: Think::Fixed(THINK),
        stages: Vec::new(),
    };
    check(&model, 1, |ended, notes| {
        let think_us = THINK.as_secs_f64() * 1e6;
        // A pause begins with an answer, as soon as it is noticed. The first request has none before it.
        let mut before = HashMap::new();
        let truth = notes
            .iter()
            .map(|note| match before.insert(note.connection, note.written) {
                Some(before) => us(before, note.written) - think_us,
                None => us(note.sent, note.written),
            })
            .collect();
        let response = Pair {
            name: "response time",
            truth,
            reported: ended.merged(|interval| &interval.response_time),
            is_two_sided: true,
        };
        vec![service_time(ended, notes), response]
    });
}

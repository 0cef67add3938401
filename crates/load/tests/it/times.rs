//! The three instants: due, sent, done. These assertions hold on any machine: they follow from which request waits for which, or
//! from counts. `bench/engine/truth` measures how close the figures are to the truth; the arithmetic is tested in `pacer`.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use waggle_load::{Interval, start};
use waggle_spec::{Arrivals, LoadModel, Think, TimeKind};
use waggle_testkit::{DEADLINE, random::fraction, wait_until};

use crate::support::{Ended, OK, Reply, Server, closed_model, job, run, take_all};

/// A thousand requests per second, uniform: number n is due n milliseconds after the start.
fn thousand_per_s(connections: u32, pipelining: u32) -> LoadModel {
    LoadModel::Open {
        rate_per_s: 1_000.0,
        arrivals: Arrivals::Uniform,
        connections,
        pipelining,
    }
}

fn service_time(ended: &Ended) -> Histogram<u64> {
    ended.merge(|interval| &interval.times[TimeKind::Service])
}

fn response_time(ended: &Ended) -> Histogram<u64> {
    ended.merge(|interval| &interval.times[TimeKind::Response])
}

/// Each of these histograms has one value for each request; none of `larger` is below that of the same rank of `smaller`.
fn check_not_below(larger: &Histogram<u64>, smaller: &[u64], what: &str) {
    assert_eq!(larger.len(), smaller.len() as u64, "{what}");
    let mut smaller = smaller.to_vec();
    smaller.sort_unstable();
    let mut rank = 0;
    for step in larger.iter_recorded() {
        for _ in 0..step.count_since_last_iteration() {
            let time = larger.highest_equivalent(step.value_iterated_to());
            assert!(
                time >= smaller[rank],
                "{what}, rank {rank}: {time} µs, {} µs",
                smaller[rank]
            );
            rank += 1;
        }
    }
}

fn values(histogram: &Histogram<u64>) -> Vec<u64> {
    let steps = histogram.iter_recorded();
    steps
        .flat_map(|step| {
            let count = usize::try_from(step.count_since_last_iteration()).unwrap();
            let lowest = histogram.lowest_equivalent(step.value_iterated_to());
            std::iter::repeat_n(lowest, count)
        })
        .collect()
}

/// A run whose server keeps each request for a time drawn by its number: the service time is never below what the server knows to
/// have passed, and the response time never below the service time.
fn check_times(model: LoadModel) {
    const REQUESTS: u64 = 300;
    let held = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&held);
    let server = Server::start(move |request| {
        let read = Instant::now();
        let pause = Duration::from_millis(5).mul_f64(fraction(1, request.number));
        std::thread::sleep(pause);
        let passed = u64::try_from(read.elapsed().as_micros()).unwrap();
        notes.lock().unwrap().push(passed);
        Reply::Answer(OK.to_vec())
    });
    let what = format!("{model:?}");
    let mut job = job(server.address, model);
    job.max_requests = Some(REQUESTS);
    let ended = run(job);
    ended.check_sums();
    assert_eq!(ended.counts().succeeded, REQUESTS, "{what}");
    let (service, response) = (service_time(&ended), response_time(&ended));
    check_not_below(&service, &held.lock().unwrap(), &what);
    check_not_below(&response, &values(&service), &what);
}

#[test]
fn no_time_is_below_what_the_server_took() {
    check_times(closed_model(4, 1));
    check_times(closed_model(2, 3));
    check_times(thousand_per_s(4, 1));
    check_times(LoadModel::Users {
        users: 4,
        think_time: Think::Fixed(Duration::from_millis(1)),
    });
}

#[test]
fn a_stall_shows_in_the_response_time_of_all_that_fell_due_in_it() {
    const DUE: u64 = 1_000;
    const STALL_MS: u64 = 500;
    let server = Server::start(|request| match request.number {
        100 => Reply::After(Duration::from_millis(STALL_MS), OK.to_vec()),
        _ => Reply::Answer(OK.to_vec()),
    });
    let mut job = job(server.address, thousand_per_s(1, 1_000));
    job.max_requests = Some(DUE);
    let ended = run(job);
    ended.check_sums();
    assert_eq!((ended.counts().succeeded, ended.counts().skipped), (DUE, 0));
    // The stall begins when the request is there, which is not before it was due, and all others wait behind it: a request that
    // fell due at x within the stall waits at least for the rest of it.
    let response = response_time(&ended);
    for ms in [0, 100, 200, 300, 400, 499] {
        let longer = response.count_between(ms * 1_000, u64::MAX);
        assert!(longer >= STALL_MS - ms, "{longer} of {ms} ms or longer");
    }
}

#[test]
fn a_server_slower_than_the_rate_shows_in_response_time_and_not_in_service_time() {
    const ANSWER_MS: u64 = 10;
    let server = Server::start(|_| Reply::After(Duration::from_millis(ANSWER_MS), OK.to_vec()));
    let mut job = job(server.address, thousand_per_s(1, 1));
    job.max_duration = Duration::from_secs(1);
    let begun = Instant::now();
    let ended = run(job);
    let passed = begun.elapsed();
    ended.check_sums();
    let counts = ended.counts();
    assert_eq!(
        counts.due, 1_000,
        "the instants before the end, and no other"
    );
    assert!(counts.sent <= 101 && counts.skipped >= 899, "{counts:?}");
    // Answer n comes after n + 1 times what an answer takes, and request n was due after n milliseconds.
    let least: Vec<u64> = (0..counts.succeeded)
        .map(|n| ((n + 1) * ANSWER_MS - n) * 1_000)
        .collect();
    check_not_below(&response_time(&ended), &least, "response time");
    let service = service_time(&ended);
    assert!(service.min() >= ANSWER_MS * 1_000, "{} µs", service.min());
    // One is in flight at a time, so that all service times together fit into the run; the histogram has three digits.
    let served = service.mean() * service.len() as f64 / 1e6;
    assert!(
        served <= passed.as_secs_f64() * 1.001,
        "{served} s of {passed:?}"
    );
}

#[test]
fn nothing_is_sent_after_the_end() {
    let server = Server::start(|_| Reply::Answer(OK.to_vec()));
    let users = LoadModel::Users {
        users: 4,
        think_time: Think::Fixed(Duration::ZERO),
    };
    let open = LoadModel::Open {
        rate_per_s: 10_000.0,
        arrivals: Arrivals::Poisson,
        connections: 4,
        pipelining: 1,
    };
    for model in [closed_model(4, 2), users, open] {
        let mut job = job(server.address, model.clone());
        job.max_duration = Duration::from_millis(205);
        job.interval = Duration::from_millis(205);
        let max_duration = job.max_duration;
        let ended = run(job);
        ended.check_sums();
        let late = |interval: &&Interval| interval.start >= max_duration;
        let late = ended.intervals.iter().filter(late);
        let sent: u64 = late.map(|interval| interval.counts.sent).sum();
        assert_eq!(sent, 0, "{model:?}");
    }
}

#[test]
fn too_many_waiting_requests_are_skipped_and_counted() {
    let server = Server::start(|_| Reply::After(Duration::from_millis(20), OK.to_vec()));
    let model = LoadModel::Open {
        rate_per_s: 2_000.0,
        arrivals: Arrivals::Poisson,
        connections: 1,
        pipelining: 1,
    };
    let mut job = job(server.address, model);
    job.max_requests = Some(400);
    job.limits.due_max = 5;
    let ended = run(job);
    ended.check_sums();
    let counts = ended.counts();
    assert_eq!(counts.due, 400);
    assert!(counts.skipped > 300, "{counts:?}");
    assert_eq!(server.received_count(), counts.sent);
}

#[test]
fn each_request_of_a_pipeline_has_its_own_times() {
    let is_open = Arc::new(AtomicBool::new(false));
    let held_us = Arc::new(AtomicU64::new(0));
    let (gate, held) = (Arc::clone(&is_open), Arc::clone(&held_us));
    let server = Server::start(move |request| {
        if request.number == 1 {
            let read = Instant::now();
            wait_until("the first answer is counted", || {
                gate.load(Ordering::SeqCst)
            });
            let passed = u64::try_from(read.elapsed().as_micros()).unwrap();
            held.store(passed, Ordering::SeqCst);
        }
        Reply::Answer(OK.to_vec())
    });
    let mut job = job(server.address, closed_model(1, 3));
    job.max_requests = Some(3);
    let running = start(job).unwrap();
    let mut intervals = Vec::new();
    while !is_open.load(Ordering::SeqCst) {
        let Some(interval) = running.next_interval(DEADLINE) else {
            panic!("no answer is counted");
        };
        is_open.store(interval.counts.succeeded > 0, Ordering::SeqCst);
        intervals.push(interval);
    }
    let first = intervals.last().unwrap();
    assert_eq!(first.times[TimeKind::Service].len(), 1);
    let end = (first.start + first.length).as_micros();
    assert!(
        u128::from(first.times[TimeKind::Service].max()) <= end,
        "of the first"
    );
    let number = intervals.len();
    let mut ended = take_all(running);
    ended.intervals.splice(0..0, intervals);
    ended.check_sums();
    ended.intervals.drain(..number);
    let others = service_time(&ended);
    let held = held_us.load(Ordering::SeqCst);
    check_not_below(&others, &[held, held], "the others");
}

#[test]
fn a_closed_load_always_has_a_request_in_flight_on_each_connection() {
    const CONNECTIONS: u64 = 4;
    const REQUESTS: u64 = 30 * CONNECTIONS;
    let arrived = AtomicU64::new(0);
    // No request is answered before as many have arrived as there are connections.
    let server = Server::start(move |_| {
        let number = arrived.fetch_add(1, Ordering::SeqCst);
        let round = number / CONNECTIONS + 1;
        wait_until("every connection has its request", || {
            arrived.load(Ordering::SeqCst) >= round * CONNECTIONS
        });
        Reply::Answer(OK.to_vec())
    });
    let mut job = job(server.address, closed_model(4, 1));
    job.max_requests = Some(REQUESTS);
    let ended = run(job);
    ended.check_sums();
    assert_eq!(ended.counts().succeeded, REQUESTS);
}

//! The three instants: due, sent, done.

#![allow(clippy::unwrap_used, reason = "a test file")]

mod support;

use std::{
    sync::{Arc, Mutex, RwLock},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use support::{OK, Reply, Server, closed, job, requests, run};
use waggle_load::{
    Arrivals, KEY_DIGITS, Model, Prepared, Rate, Slot, Stamp, Think, worker_and_sequence,
};

/// A request that tells the server its number.
fn numbered() -> Prepared {
    let head = format!("POST / HTTP/1.1\r\nContent-Length: {KEY_DIGITS}\r\n\r\n");
    let slots = vec![Slot {
        at: head.len(),
        stamp: Stamp::Key { record: 0 },
    }];
    Prepared {
        bytes: (head + &"0".repeat(KEY_DIGITS)).into_bytes(),
        slots,
        records: 1,
        is_head: false,
    }
}

fn unix_ns() -> u64 {
    u64::try_from(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_nanos(),
    )
    .unwrap()
}

#[test]
fn a_stall_shows_in_the_response_time_of_all_that_fell_due_in_it() {
    const DUE: u64 = 10_000;
    const GAP_NS: u64 = 1_000_000;
    let gate = Arc::new(RwLock::new(()));
    let answered = Arc::new(Mutex::new(Vec::new()));
    let (stall, note) = (Arc::clone(&gate), Arc::clone(&answered));
    let server = Server::start(move |request| {
        drop(gate.read().unwrap());
        let (_, number) = worker_and_sequence(request.body.parse().unwrap()).unwrap();
        note.lock().unwrap().push((number, unix_ns()));
        Reply::Answer(OK.to_vec())
    });
    let stalling = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(4));
        let guard = stall.write().unwrap();
        std::thread::sleep(Duration::from_secs(1));
        drop(guard);
    });
    let model = Model::Open {
        rate: Rate::Constant(1_000.0),
        arrivals: Arrivals::Uniform,
        connections: 50,
        pipelining: 40,
    };
    let mut job = job(server.address, model);
    *requests(&mut job) = vec![numbered()];
    job.requests_at_most = Some(DUE);
    let ended = run(job);
    stalling.join().unwrap();
    ended.check_sums();
    assert_eq!((ended.counts().succeeded, ended.counts().skipped), (DUE, 0));
    // The truth is the server's: when it answered each request, against the instant at which that fell due. What fell
    // due x into the stall waited 1 s − x, and one in a hundred longer than 0.9 s.
    let start = ended.outcome.started_unix_ns;
    let mut truth: Vec<u64> = answered
        .lock()
        .unwrap()
        .iter()
        .map(|(number, at)| at - start - number * GAP_NS)
        .collect();
    truth.sort_unstable();
    let response_time = ended.merged(|interval| &interval.response_time);
    let true_p99 = truth[truth.len() * 99 / 100 - 1] as f64 / 1e9;
    let p99 = response_time.value_at_quantile(0.99) as f64 / 1e6;
    assert!(
        (0.88..1.5).contains(&true_p99),
        "the server stalled for {true_p99} s and a tenth"
    );
    assert!(
        (p99 / true_p99 - 1.0).abs() < 0.02,
        "p99 {p99} s, in truth {true_p99} s"
    );
    let true_p50 = truth[truth.len() / 2 - 1] as f64 / 1e9;
    let p50 = response_time.value_at_quantile(0.5) as f64 / 1e6;
    assert!(
        true_p50 < 0.05 && p50 < true_p50 + 0.05,
        "p50 {p50} s, in truth {true_p50} s"
    );
}

#[test]
fn a_server_slower_than_the_rate_shows_in_response_time_and_not_in_service_time() {
    let server = Server::start(|_| Reply::After(Duration::from_millis(10), OK.to_vec()));
    let model = Model::Open {
        rate: Rate::Constant(1_000.0),
        arrivals: Arrivals::Uniform,
        connections: 1,
        pipelining: 1,
    };
    let mut job = job(server.address, model);
    job.at_most = Duration::from_secs(1);
    let ended = run(job);
    ended.check_sums();
    let counts = ended.counts();
    assert_eq!(
        counts.due, 1_000,
        "the instants before the end, and no other"
    );
    assert!(counts.sent <= 101 && counts.skipped >= 899, "{counts:?}");
    // The last one sent fell due about when a tenth of the time had passed.
    let (response, service) = (
        ended.merged(|interval| &interval.response_time),
        ended.merged(|interval| &interval.service_time),
    );
    assert!(
        response.max() > 800_000,
        "response time up to {} µs",
        response.max()
    );
    assert!(
        response.max() > 3 * service.max(),
        "service time up to {} µs",
        service.max()
    );
    assert!(
        service.min() >= 10_000,
        "service time from {} µs",
        service.min()
    );
}

#[test]
fn nothing_is_sent_after_the_end() {
    let server = Server::start(|_| Reply::Answer(OK.to_vec()));
    let users = Model::Users {
        users: 4,
        think: Think::Fixed(Duration::ZERO),
        stages: Vec::new(),
    };
    let open = Model::Open {
        rate: Rate::Constant(10_000.0),
        arrivals: Arrivals::Poisson,
        connections: 4,
        pipelining: 1,
    };
    for model in [closed(4, 2), users, open] {
        let mut job = job(server.address, model.clone());
        job.at_most = Duration::from_millis(205);
        job.interval = Duration::from_millis(205);
        let at_most = job.at_most;
        let ended = run(job);
        ended.check_sums();
        let late = ended.intervals.iter();
        let late: u64 = late
            .filter(|interval| interval.start >= at_most)
            .map(|interval| interval.counts.sent)
            .sum();
        assert_eq!(late, 0, "{model:?}");
    }
}

#[test]
fn too_many_waiting_are_given_up_and_counted() {
    let server = Server::start(|_| Reply::After(Duration::from_millis(20), OK.to_vec()));
    let model = Model::Open {
        rate: Rate::Constant(2_000.0),
        arrivals: Arrivals::Poisson,
        connections: 1,
        pipelining: 1,
    };
    let mut job = job(server.address, model);
    job.requests_at_most = Some(400);
    job.limits.due_max = 5;
    let ended = run(job);
    ended.check_sums();
    let counts = ended.counts();
    assert_eq!(counts.due, 400);
    assert!(counts.skipped > 300, "{counts:?}");
    assert_eq!(server.received(), counts.sent);
}

#[test]
fn each_request_of_a_pipeline_has_its_own_times() {
    let server = Server::start(|request| match request.number {
        1 => Reply::After(Duration::from_millis(400), OK.to_vec()),
        _ => Reply::Answer(OK.to_vec()),
    });
    let mut job = job(server.address, closed(1, 3));
    job.requests_at_most = Some(3);
    let ended = run(job);
    ended.check_sums();
    let times = ended.merged(|interval| &interval.service_time);
    assert!(
        times.min() < 400_000,
        "the first is answered before the pause: {} µs",
        times.min()
    );
    assert_eq!(
        times.count_between(400_000, u64::MAX),
        2,
        "the others behind it"
    );
}

#[test]
fn concurrency_is_rate_times_time() {
    for (model, connections) in [(closed(4, 1), 4.0), (closed(3, 5), 15.0)] {
        let server = Server::start(|_| Reply::After(Duration::from_millis(1), OK.to_vec()));
        let mut job = job(server.address, model);
        job.at_most = Duration::from_millis(500);
        let ended = run(job);
        ended.check_sums();
        let times = ended.merged(|interval| &interval.service_time);
        let by_latency = times.mean() * times.len() as f64 / 1e6;
        let by_counting = ended.counts().in_flight_time.as_secs_f64();
        assert!(
            (by_latency / by_counting - 1.0).abs() < 0.01,
            "{by_latency} s and {by_counting} s"
        );
        let mean = by_counting / ended.outcome.ran_for.as_secs_f64();
        assert!(
            mean <= connections && mean > 0.8 * connections,
            "{mean} of {connections}"
        );
    }
}

//! The three instants: due, sent, done.

mod support;

use std::{
    sync::{Arc, Mutex, RwLock},
    time::{Duration, Instant},
};

use support::{OK, Reply, Server, closed, job, run};
use waggle_load::{Arrivals, Model};

#[test]
fn a_stall_shows_in_the_response_time_of_all_that_fell_due_in_it() {
    const RATE: f64 = 1_000.0;
    const DUE: u64 = 10_000;
    let stall = Arc::new(RwLock::new(()));
    let (gate, stalled) = (Arc::clone(&stall), Arc::new(Mutex::new(Duration::ZERO)));
    let server = Server::start(move |_| {
        drop(gate.read().unwrap());
        Reply::Answer(OK.to_vec())
    });
    let note = Arc::clone(&stalled);
    let stalling = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(4));
        let guard = stall.write().unwrap();
        let start = Instant::now();
        std::thread::sleep(Duration::from_secs(1));
        *note.lock().unwrap() = start.elapsed();
        drop(guard);
    });
    let model = Model::Open {
        rate_per_s: RATE,
        arrivals: Arrivals::Uniform,
        connections: 50,
        pipelining: 40,
    };
    let mut job = job(server.address, model);
    job.requests_at_most = Some(DUE);
    let ended = run(job);
    stalling.join().unwrap();
    ended.check_sums();
    assert_eq!((ended.counts().succeeded, ended.counts().skipped), (DUE, 0));
    // What falls due x into a stall of length L waits L − x. One in a hundred waits longer than the 99th percentile,
    // and those are the ones that fell due first.
    let length = stalled.lock().unwrap().as_secs_f64();
    let expected = length - DUE as f64 / 100.0 / RATE;
    let response_time = ended.merged(|interval| &interval.response_time);
    let found = response_time.value_at_quantile(0.99) as f64 / 1e6;
    assert!(
        (found / expected - 1.0).abs() < 0.02,
        "p99 {found} s, must be {expected} s"
    );
    assert!(
        response_time.value_at_quantile(0.5) < 50_000,
        "p50 {} µs",
        response_time.value_at_quantile(0.5)
    );
}

#[test]
fn a_server_slower_than_the_rate_shows_in_response_time_and_not_in_service_time() {
    let server = Server::start(|_| Reply::After(Duration::from_millis(10), OK.to_vec()));
    let model = Model::Open {
        rate_per_s: 1_000.0,
        arrivals: Arrivals::Uniform,
        connections: 1,
        pipelining: 1,
    };
    let mut job = job(server.address, model);
    job.at_most = Duration::from_secs(1);
    let ended = run(job);
    ended.check_sums();
    let counts = ended.counts();
    assert!((1_000..1_100).contains(&counts.due), "{counts:?}");
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
fn too_many_waiting_are_given_up_and_counted() {
    let server = Server::start(|_| Reply::After(Duration::from_millis(20), OK.to_vec()));
    let model = Model::Open {
        rate_per_s: 2_000.0,
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

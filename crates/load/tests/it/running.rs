//! Starting, taking intervals, stopping.

use std::time::Duration;

use waggle_load::{Job, NullServer, Prepared, Slot, Stamp, start};
use waggle_spec::{Arrivals, LoadModel, LoadStage, Protocol, Think};
use waggle_testkit::{DEADLINE, wait_until};

use crate::support::{
    OK, Reply, Server, closed_model, expect, get, job, requests, run_until, take_all,
};

/// A valid job with one change, and the error.
fn check(change: impl Fn(&mut Job), expected: &str) {
    let mut job = job("127.0.0.1:9".parse().unwrap(), closed_model(1, 1));
    change(&mut job);
    let message = start(job).map(|_| ()).unwrap_err().to_string();
    assert!(
        message.contains(expected),
        "{message}\ninstead of {expected}"
    );
}

#[test]
fn impossible_jobs_are_refused() {
    let open = |rate_per_s| LoadModel::Open {
        rate_per_s,
        arrivals: Arrivals::Uniform,
        connections: 1,
        pipelining: 1,
    };
    check(|job| job.targets.clear(), "the load has no target address");
    check(
        |job| job.workers.clear(),
        "the load needs between 1 and 10000 workers, not 0",
    );
    check(
        |job| job.workers = vec![None; 10_001],
        "the load needs between 1 and 10000 workers, not 10001",
    );
    check(
        |job| job.model = closed_model(0, 1),
        "the load needs at least one connection",
    );
    check(
        |job| job.model = closed_model(1, 0),
        "pipelining must be at least 1",
    );
    check(
        |job| job.model = open(0.0),
        "the rate must be a number above 0, not 0",
    );
    check(
        |job| job.model = open(f64::NAN),
        "the rate must be a number above 0, not NaN",
    );
    check(
        |job| job.model = open(1e10),
        "the rate must be at most 10000000 per second, not 10000000000",
    );
    check(
        |job| job.interval = Duration::from_millis(9),
        "an interval must last at least 10 ms",
    );
    check(
        |job| job.workers = vec![Some(100_000)],
        "pinning a worker to cpu 100000: Invalid argument",
    );
    check(
        |job| job.model = closed_model(1_000_000_000, 1),
        "open files and the limit is",
    );
    let think_time = Think::Uniform {
        from: Duration::from_secs(2),
        to: Duration::from_secs(1),
    };
    check(
        |job| {
            job.model = LoadModel::Users {
                users: 1,
                think_time,
            }
        },
        "the longest think time is shorter than the shortest",
    );
}

#[test]
fn impossible_stages_are_refused() {
    let check = |model: &LoadModel, stages: &[(f64, u64)], expected| {
        let stage = |&(target, seconds): &(f64, u64)| LoadStage {
            target,
            duration: Duration::from_secs(seconds),
        };
        check(
            |job| {
                job.model = model.clone();
                job.stages = stages.iter().map(stage).collect();
            },
            expected,
        );
    };
    let open = LoadModel::Open {
        rate_per_s: 5.0,
        arrivals: Arrivals::Poisson,
        connections: 1,
        pipelining: 1,
    };
    let rate = |stages: &[(f64, u64)], expected| check(&open, stages, expected);
    rate(
        &[(1.0, 1), (-1.0, 1)],
        "the rate at the end of stage 1 must be a number from 0 to 10000000, not -1",
    );
    rate(&[(f64::INFINITY, 1)], "end of stage 0 must be a number");
    rate(&[(f64::NAN, 1)], "end of stage 0 must be a number");
    rate(&[(5.0, 0)], "the stages of the load have no length");
    rate(
        &[(5.0, 0), (0.0, 0), (0.0, 9)],
        "the stages of the load have no requests",
    );
    let five = LoadModel::Users {
        users: 5,
        think_time: Think::Fixed(Duration::ZERO),
    };
    let users = |stages: &[(f64, u64)], expected| check(&five, stages, expected);
    users(
        &[(5.0, 1), (6.0, 1)],
        "stage 1 needs 6 users, but there are at most 5",
    );
    users(&[(5.0, 0)], "the stages of the load have no length");
    users(&[(0.0, 9)], "the stages of the load have no requests");
    let none = "a load of the model closed has no stages";
    check(&closed_model(1, 1), &[(1.0, 1)], none);
}

#[test]
fn impossible_requests_are_refused() {
    let time = |offset| {
        vec![Slot {
            at: offset,
            stamp: Stamp::Time,
        }]
    };
    let key = |record| {
        vec![Slot {
            at: 0,
            stamp: Stamp::Key { record },
        }]
    };
    check(
        |job| requests(job).clear(),
        "the load has no request to send",
    );
    check(|job| requests(job)[0].bytes.clear(), "request 0 is empty");
    let tunnel = b"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n";
    for protocol in [Protocol::Http1, Protocol::Http2, Protocol::Auto] {
        let change = |job: &mut Job| {
            job.transport.protocol = protocol;
            requests(job)[0].bytes = tunnel.to_vec();
        };
        check(change, "request 0: CONNECT opens a tunnel");
    }
    check(
        |job| requests(job)[0].slots = time(20),
        "slot at byte 20 of request 0 does not fit into its 30 bytes",
    );
    check(
        |job| requests(job)[0].slots = time(usize::MAX),
        "does not fit into its 30 bytes",
    );
    check(
        |job| requests(job)[0].slots = key(0),
        "record 0 of request 0 is beyond the 0 records it carries",
    );
    let unequal = |job: &mut Job| {
        let request = Prepared {
            records: 1,
            slots: key(0),
            ..get()
        };
        *requests(job) = vec![
            request,
            Prepared {
                records: 2,
                slots: key(1),
                ..get()
            },
        ];
    };
    check(
        unequal,
        "requests carry 1 and 2 records; with key stamps all must carry the same number",
    );
}

#[test]
fn a_run_stops_on_request_and_awaits_its_answers() {
    let server = Server::start(|_| Reply::Answer(OK.to_vec()));
    let running = start(job(server.address, closed_model(3, 2))).unwrap();
    let stop = running.stop_handle();
    let first = running.next_interval(DEADLINE).unwrap();
    assert_eq!(
        (first.index, first.start, first.length),
        (0, Duration::ZERO, Duration::from_millis(50))
    );
    stop.stop();
    let mut ended = take_all(running);
    ended.intervals.insert(0, first);
    ended.check_sums();
    assert_eq!(ended.counts().in_flight, 0);
    assert_eq!(ended.counts().sent, server.received_count());
}

#[test]
fn intervals_that_are_not_taken_are_merged_and_not_lost() {
    let server = Server::start(|_| Reply::After(Duration::from_millis(1), OK.to_vec()));
    let mut job = job(server.address, closed_model(2, 1));
    job.workers = vec![None; 2];
    job.interval = Duration::from_millis(10);
    let running = start(job).unwrap();
    // No interval is taken until there were more than the channel holds; the server's count shows when.
    wait_until("600 requests have come", || server.received_count() >= 600);
    running.stop();
    let ended = take_all(running);
    ended.check_sums();
    let lengths: Vec<Duration> = ended
        .intervals
        .iter()
        .map(|interval| interval.length)
        .collect();
    assert!(
        lengths
            .iter()
            .any(|length| *length > Duration::from_millis(10)),
        "{lengths:?}"
    );
}

#[test]
fn totals_need_no_reader_of_intervals() {
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), OK).unwrap();
    let mut job = job(server.address(), closed_model(4, 10));
    job.interval = Duration::from_millis(10);
    job.max_duration = Duration::from_millis(500);
    let outcome = start(job).unwrap().join();
    assert_eq!(outcome.totals.succeeded, outcome.totals.sent);
    assert_eq!(server.stop(), outcome.totals.sent);
}

#[test]
fn large_requests_and_answers_go_through_small_buffers() {
    let body = "x".repeat(3_000_000);
    let whole = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let server = Server::start(move |_| Reply::Answer(whole.clone().into_bytes()));
    let mut job = job(server.address, closed_model(2, 3));
    let mut request = get();
    request.bytes = format!(
        "POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes();
    *requests(&mut job) = vec![request];
    expect(&mut job).body = waggle_load::BodyCheck::Equals(body.into_bytes());
    job.max_requests = Some(20);
    let ended = crate::support::run(job);
    ended.check_sums();
    assert_eq!(
        (ended.counts().succeeded, server.received_count()),
        (20, 20)
    );
}

#[test]
fn a_thousand_connections_are_all_opened() {
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), OK).unwrap();
    let job = job(server.address(), closed_model(1_000, 1));
    let ended = run_until(job, |counts| counts.connections_open == 1_000);
    ended.check_sums();
    assert_eq!(
        (ended.counts().connects, ended.counts().connections_open),
        (1_000, 1_000)
    );
    assert_eq!(server.stop(), ended.counts().succeeded);
}

//! Request by request, the engine's outcomes agree with the server's records, for all kinds of cuts and ends of the run.

use std::{collections::BTreeMap, time::Duration};

use waggle_load::{Failure, Interval, RequestOutcome, key_of, start};
use waggle_spec::{Arrivals, LoadModel, Think};
use waggle_testkit::DEADLINE;

use crate::support::{
    Ended, closed_model,
    cutter::{Close, Cutter, Done},
    job, requests,
    stamped::stamped_request,
    take_all,
};

const WORKERS: usize = 2;

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Count,
    Time,
    Hand,
}

fn models() -> Vec<LoadModel> {
    let open = |arrivals, connections, pipelining| LoadModel::Open {
        rate_per_s: 5_000.0,
        arrivals,
        connections,
        pipelining,
    };
    vec![
        closed_model(6, 1),
        closed_model(3, 16),
        open(Arrivals::Uniform, 8, 1),
        open(Arrivals::Poisson, 3, 8),
        LoadModel::Users {
            users: 8,
            think_time: Think::Exponential(Duration::from_micros(500)),
        },
    ]
}

fn has_failures(interval: &Interval) -> bool {
    interval.counts.failed > 0
}

fn run(server: &Cutter, model: LoadModel, end: End) -> Ended {
    let mut job = job(server.address, model);
    *requests(&mut job) = vec![stamped_request()];
    job.workers = vec![None; WORKERS];
    job.limits.reconnect_first = Duration::from_micros(100);
    job.limits.reconnect_max = Duration::from_millis(2);
    job.max_tracked_requests = Some(10_000_000);
    match end {
        End::Count => job.max_requests = Some(1_500),
        End::Time => job.max_duration = Duration::from_secs(1),
        End::Hand => {}
    }
    let running = start(job).unwrap();
    let mut taken = Vec::new();
    if end == End::Hand {
        // The first interval has no answers if connections are still being opened, and a machine may pause.
        while taken.len() < 4 || !taken.iter().any(has_failures) && taken.len() < 400 {
            taken.push(running.next_interval(DEADLINE).unwrap());
        }
        running.stop();
    }
    let mut ended = take_all(running);
    ended.intervals.splice(0..0, taken);
    ended
}

fn check(close: Close) {
    for (seed, model) in (0..).zip(models()) {
        for end in [End::Count, End::Time, End::Hand] {
            let server = Cutter::start(close, seed);
            let ended = run(&server, model.clone(), end);
            ended.check_sums();
            let what = format!("{model:?}, {close:?}, {end:?}");
            check_keys(&ended, &server.stop(), close, &what);
        }
    }
}

fn check_keys(ended: &Ended, done: &BTreeMap<u64, Done>, close: Close, what: &str) {
    let counts = ended.counts();
    assert_eq!(counts.in_flight, 0, "{what}: every request came to an end");
    let failures = [ended.failures(), ended.other_failures()].concat();
    // A reset may arrive before the engine has seen that it is connected.
    let is_cut = |kind: Failure| {
        kind == Failure::Reset || kind == Failure::ConnectFailed && close != Close::Fin
    };
    assert!(
        failures.iter().all(|(kind, _)| is_cut(*kind)),
        "{what}: {failures:?}"
    );
    let (mut sent, mut accepted) = (0, 0);
    for (worker, account) in ended.outcome.request_outcomes.iter().enumerate() {
        sent += account.sent_count();
        for index in 0..account.sent_count() {
            let key = key_of(worker, index);
            let theirs = done.get(&key);
            match account.state(index).unwrap() {
                RequestOutcome::Accepted => {
                    accepted += 1;
                    assert_eq!(theirs, Some(&Done::Answered), "{what}: {key} was accepted");
                }
                // A reset may discard what was written before.
                RequestOutcome::Unknown if close != Close::Fin => {}
                RequestOutcome::Unknown => assert_ne!(
                    theirs,
                    Some(&Done::Answered),
                    "{what}: {key}'s answer is lost"
                ),
                RequestOutcome::Rejected => panic!("{what}: {key} was rejected"),
            }
        }
    }
    assert_eq!((counts.sent, counts.succeeded), (sent, accepted), "{what}");
    assert_eq!(counts.failed, sent - accepted, "{what}");
    assert!(
        done.len() as u64 <= sent,
        "{what}: the server has {} of {sent}",
        done.len()
    );
    let is_ours = |key: &u64| {
        let (worker, index) = waggle_load::worker_and_sequence(*key).unwrap();
        index < ended.outcome.request_outcomes[worker].sent_count()
    };
    assert!(
        done.keys().all(is_ours),
        "{what}: the server has what was never sent"
    );
    assert!(counts.failed > 0, "{what}: nothing was cut");
}

#[test]
fn connections_closed_in_order_lose_no_answer() {
    check(Close::Fin);
}

#[test]
fn connections_that_are_reset_invent_no_answer() {
    check(Close::Rst);
}

#[test]
fn connections_closed_either_way_agree_request_by_request() {
    check(Close::Either);
}

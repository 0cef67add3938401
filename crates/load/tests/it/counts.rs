//! The engine's counts are the server's counts, in every model, also if connections are cut.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use waggle_load::{Failure, KEY_DIGITS};
use waggle_spec::{Arrivals, LoadModel, LoadStage, Think};
use waggle_testkit::wait_until;

use crate::support::{
    OK, Reply, Server, closed_model, job, requests, run, run_until, stamped::stamped_request,
};

const REQUESTS: u64 = 2_000;

fn models() -> Vec<LoadModel> {
    let open = |arrivals, connections, pipelining| LoadModel::Open {
        rate_per_s: 10_000.0,
        arrivals,
        connections,
        pipelining,
    };
    let pause = Duration::from_micros(200);
    vec![
        closed_model(1, 1),
        closed_model(7, 1),
        closed_model(3, 16),
        open(Arrivals::Uniform, 8, 1),
        open(Arrivals::Poisson, 8, 4),
        LoadModel::Users {
            users: 5,
            think_time: Think::Fixed(pause),
        },
        LoadModel::Users {
            users: 5,
            think_time: Think::Exponential(pause),
        },
        LoadModel::Users {
            users: 5,
            think_time: Think::Uniform {
                from: Duration::ZERO,
                to: pause,
            },
        },
    ]
}

fn check(
    model: LoadModel,
    workers: usize,
    reply: fn(u64) -> Reply,
) -> (Server, crate::support::Ended) {
    let server = Server::start(move |request| reply(request.number));
    let mut job = job(server.address, model);
    job.workers = vec![None; workers];
    job.max_requests = Some(REQUESTS);
    job.limits.reconnect_first = Duration::from_micros(100);
    job.max_tracked_requests = Some(REQUESTS);
    let ended = run(job);
    ended.check_sums();
    (server, ended)
}

#[test]
fn every_request_is_sent_once_and_answered_in_every_model() {
    for model in models() {
        for workers in [1, 2] {
            let (server, ended) = check(model.clone(), workers, |_| Reply::Answer(OK.to_vec()));
            let counts = ended.counts();
            let totals = (
                counts.sent,
                counts.succeeded,
                server.received_count(),
                server.answered_count(),
            );
            assert_eq!(
                totals,
                (REQUESTS, REQUESTS, REQUESTS, REQUESTS),
                "{model:?}, {workers} workers"
            );
            assert_eq!(counts.skipped, 0, "{model:?}");
            assert_eq!(
                counts.bytes_received,
                REQUESTS * OK.len() as u64,
                "{model:?}"
            );
        }
    }
}

#[test]
fn cut_connections_lose_no_count() {
    for model in models() {
        let (server, ended) = check(model.clone(), 2, |number| {
            // A hash of the number decides, so that every run is cut at the same requests.
            match number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58 {
                0 => Reply::Cut(Vec::new()),
                1 => Reply::Cut(OK[..30].to_vec()),
                2 => Reply::Last(OK.to_vec()),
                _ => Reply::Answer(OK.to_vec()),
            }
        });
        let counts = ended.counts();
        assert_eq!(counts.sent, REQUESTS, "{model:?}");
        assert_eq!(counts.succeeded, server.answered_count(), "{model:?}");
        assert!(
            server.received_count() <= counts.sent && server.received_count() >= counts.succeeded,
            "{model:?}"
        );
        assert!(counts.failed > 0, "{model:?}: nothing was cut");
        assert_eq!(
            ended.failures(),
            [(Failure::Reset, counts.failed)],
            "{model:?}"
        );
        // The server counts a connection in a thread of the connection's own.
        wait_until("the server has seen every connection", || {
            counts.connects == server.connections()
        });
    }
}

#[test]
fn reset_connections_lose_no_count() {
    for model in models() {
        let (server, ended) = check(model.clone(), 2, |number| match number % 40 {
            39 => Reply::Abort,
            _ => Reply::Answer(OK.to_vec()),
        });
        let counts = ended.counts();
        assert_eq!(counts.sent, REQUESTS, "{model:?}");
        assert!(
            counts.failed > 0 && counts.succeeded <= server.answered_count(),
            "{model:?}: {counts:?}"
        );
        assert_eq!(
            ended.failures(),
            [(Failure::Reset, counts.failed)],
            "{model:?}"
        );
    }
}

#[test]
fn load_goes_evenly_to_every_target() {
    let servers: Vec<Server> = (0..3)
        .map(|_| Server::start(|_| Reply::Answer(OK.to_vec())))
        .collect();
    let mut job = job(servers[0].address, closed_model(9, 1));
    job.targets = servers
        .iter()
        .map(|server| waggle_load::Target {
            address: server.address,
        })
        .collect();
    job.workers = vec![None; 2];
    job.max_requests = Some(REQUESTS);
    run(job).check_sums();
    wait_until("three connections to each", || {
        servers.iter().all(|server| server.connections() == 3)
    });
}

#[test]
fn every_request_of_the_stages_is_sent_and_their_end_is_the_end() {
    // Up to 4,000/s, held, a spike of 20,000/s, nothing, a little, nothing.
    let stages = [
        (4_000.0, 100),
        (4_000.0, 100),
        (20_000.0, 0),
        (20_000.0, 50),
        (0.0, 0),
        (0.0, 100),
        (500.0, 0),
        (500.0, 100),
        (0.0, 0),
        (0.0, 10),
    ];
    let due = 200 + 400 + 1_000 + 50;
    for workers in [1, 2] {
        let server = Server::start(|_| Reply::Answer(OK.to_vec()));
        let stages = stages.map(|(target, ms)| LoadStage {
            target,
            duration: Duration::from_millis(ms),
        });
        let stages_of = |rest| [&stages[..], &[rest]].concat();
        let model = LoadModel::Open {
            rate_per_s: 20_000.0,
            arrivals: Arrivals::Uniform,
            connections: 8,
            // Room for all, for any speed of the server: what is due is sent.
            pipelining: 1_000,
        };
        let rest = |seconds| LoadStage {
            target: 0.0,
            duration: Duration::from_secs(seconds),
        };
        // A last stage that is long enough for any machine to send what is due.
        let mut job = job(server.address, model);
        job.stages = stages_of(rest(3_600));
        job.workers = vec![None; workers];
        let ended = run_until(job.clone(), |counts| counts.succeeded == due);
        ended.check_sums();
        let counts = ended.counts();
        let totals = (counts.due, counts.succeeded, counts.skipped);
        assert_eq!(totals, (due, due, 0), "{workers} workers");
        assert_eq!(server.received_count(), due, "{workers} workers");
        // Without that stage, requests that are due at the end are skipped.
        job.stages = stages_of(rest(0));
        let ended = run(job);
        ended.check_sums();
        let counts = ended.counts();
        assert_eq!(counts.due, due, "{workers} workers");
        assert_eq!(
            server.received_count() - due,
            counts.succeeded,
            "{workers} workers"
        );
        assert!(ended.outcome.ran_for >= Duration::from_millis(460));
    }
}

#[test]
fn users_start_and_stop_by_stages() {
    const SECOND_STAGE: Duration = Duration::from_millis(200);
    const LAST_STAGE: Duration = Duration::from_millis(400);
    // Each user has its own connection, so that the server sees who sent; the request contains its sending instant.
    for workers in [1, 2] {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&sent);
        let server = Server::start(move |request| {
            let time: u64 = request.text()[KEY_DIGITS..].parse().unwrap();
            notes.lock().unwrap().push((request.connection, time));
            Reply::Answer(OK.to_vec())
        });
        let stage = |target, ms| LoadStage {
            target,
            duration: Duration::from_millis(ms),
        };
        let model = LoadModel::Users {
            users: 6,
            think_time: Think::Fixed(Duration::from_millis(10)),
        };
        let mut job = job(server.address, model);
        job.stages = vec![
            stage(2.0, 0),
            stage(2.0, 200),
            stage(6.0, 0),
            stage(6.0, 200),
            stage(0.0, 0),
            stage(0.0, 3_600_000),
        ];
        *requests(&mut job) = vec![stamped_request()];
        job.workers = vec![None; workers];
        let users = || -> BTreeSet<u64> {
            let sent = sent.lock().unwrap();
            sent.iter().map(|(connection, _)| *connection).collect()
        };
        let mut intervals = 0;
        let ended = run_until(job, |_| {
            intervals += 1;
            // Intervals of 50 ms: some of the last stage, which has no users.
            intervals > 12 && users().len() == 6
        });
        ended.check_sums();
        let start = ended.outcome.started_unix_ns;
        let sent = sent.lock().unwrap();
        let since = |from: Duration| -> Vec<u64> {
            let from = start + u64::try_from(from.as_nanos()).unwrap();
            let late = sent.iter().filter(|(_, time)| *time >= from);
            late.map(|(connection, _)| *connection).collect()
        };
        let early = sent.len() - since(SECOND_STAGE).len();
        let early: BTreeSet<u64> = {
            let mut times = sent.clone();
            times.sort_unstable_by_key(|(_, time)| *time);
            times[..early].iter().map(|(user, _)| *user).collect()
        };
        assert!(early.len() <= 2, "{workers} workers: {early:?} came first");
        // Requests that were due before the last stage may be sent late; after that users are idle.
        let late = since(LAST_STAGE);
        let users: BTreeSet<&u64> = late.iter().collect();
        assert_eq!(late.len(), users.len(), "{workers} workers: {late:?}");
    }
}

#[test]
fn users_end_with_their_stages() {
    let server = Server::start(|_| Reply::Answer(OK.to_vec()));
    let model = LoadModel::Users {
        users: 2,
        think_time: Think::Fixed(Duration::from_millis(10)),
    };
    let mut job = job(server.address, model);
    job.stages = vec![LoadStage {
        target: 2.0,
        duration: Duration::from_millis(100),
    }];
    let ended = run(job);
    ended.check_sums();
    assert!(ended.outcome.ran_for >= Duration::from_millis(100));
}

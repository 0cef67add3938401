//! Records that steps of a scenario carry: keys and times that no two requests share, and the outcome of each.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use waggle_load::{
    BodyCheck, Condition, Extractor, Failure, Job, RequestOutcome, Roots, Scenario, StepRequest,
    Subject, Tls, TlsOptions, Transport, worker_and_sequence,
};
use waggle_spec::{LoadModel, Protocol, Think};
use waggle_testkit::{http::answer, tls::Authority};

use crate::support::{
    Ended, Reply, Request, Server, closed_model, run,
    scenarios::{capture, check_of, flow, job, json, plain, request, scenario, step, text},
};

const WORKERS: usize = 2;
const REQUESTS: u64 = 2_000;
/// Number of ways in which the server answers an order, in turn.
const WAYS: u64 = 7;

/// Orders with a record, which are answered with its key, and then a request without one.
fn ordering_scenario() -> Scenario {
    let mut order = StepRequest {
        headers: vec![("X-Order".to_owned(), text("{{record.run}}-{{record.key}}"))],
        body: text("{{record.key}} {{record.time}} {{record.run}}"),
        checks: vec![check_of(
            Subject::Value(json("$.key")),
            Condition::Equals(text("{{record.key}}")),
        )],
        captures: vec![capture("id", Extractor::Header("x-id".to_owned()))],
        ..step(0, "PUT /orders/{{record.key}}")
    };
    order.expect.body = BodyCheck::Contains(vec![b"key".to_vec()]);
    let actions = vec![request(order), plain(1, "GET /look/{{record.time}}/{{id}}")];
    scenario(2, vec![flow("order", 1, actions)], Vec::new())
}

/// How the order with this number is answered, and the outcome that must be recorded then.
fn way(sequence: u64, key: u64) -> (Reply, RequestOutcome) {
    let body = format!(r#"{{"key": {key}}}"#);
    let good = answer(200, "X-Id: i1\r\n", &body);
    match sequence % WAYS {
        0 => (Reply::Answer(good), RequestOutcome::Accepted),
        1 => (
            Reply::Answer(answer(500, "", &body)),
            RequestOutcome::Rejected,
        ),
        2 => (Reply::Cut(Vec::new()), RequestOutcome::Unknown),
        3 => (
            Reply::Cut(good[..good.len() - 1].to_vec()),
            RequestOutcome::Unknown,
        ),
        4 => (
            Reply::Answer(answer(200, "X-Id: i1\r\n", r#"{"key": 1}"#)),
            RequestOutcome::Accepted,
        ),
        5 => (
            Reply::Answer(answer(200, "", &body)),
            RequestOutcome::Accepted,
        ),
        _ => (
            Reply::Answer(answer(200, "X-Id: i1\r\n", "nothing")),
            RequestOutcome::Unknown,
        ),
    }
}

fn reply(request: &Request) -> Reply {
    if request.head.starts_with("GET /look/") {
        return Reply::Answer(answer(200, "", ""));
    }
    let key = request.text().split(' ').next().unwrap();
    let lines: Vec<&str> = request.head.lines().collect();
    assert_eq!(lines[0], format!("PUT /orders/{key} HTTP/1.1"));
    assert!(lines.contains(&format!("X-Order: r1-{key}").as_str()));
    let key = key.parse().unwrap();
    let (_, sequence) = worker_and_sequence(key).unwrap();
    way(sequence, key).0
}

fn run_and_account(mut job: Job, requests: u64) -> Ended {
    job.max_requests = Some(requests);
    job.max_tracked_requests = Some(10_000);
    job.limits.reconnect_first = Duration::from_micros(100);
    let ended = run(job);
    ended.check_sums();
    ended
}

/// The outcomes of a worker.
fn states(ended: &Ended, worker: usize) -> Vec<RequestOutcome> {
    let account = &ended.outcome.request_outcomes[worker];
    (0..account.sent_count())
        .map(|index| account.state(index).unwrap())
        .collect()
}

fn check_model(model: LoadModel) {
    let server = Server::start(reply);
    let mut job = job(server.address, model.clone(), ordering_scenario());
    job.workers = vec![None; WORKERS];
    let ended = run_and_account(job, REQUESTS);
    let mut keys: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    let mut times = BTreeSet::new();
    for body in server.bodies() {
        let [key, time, mark] = body.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{body}")
        };
        let (worker, sequence) = worker_and_sequence(key.parse().unwrap()).unwrap();
        assert!(keys.entry(worker).or_default().insert(sequence), "{body}");
        let time: u64 = time.parse().unwrap();
        assert!(times.insert(time), "{body}");
        assert_eq!((time % WORKERS as u64, mark), (worker as u64, "r1"));
        let ran_for = u64::try_from(ended.outcome.ran_for.as_nanos()).unwrap();
        let start = ended.outcome.started_unix_ns;
        assert!((start..=start + ran_for).contains(&time), "{body}");
    }
    let mut sent = 0;
    for worker in 0..WORKERS {
        let states = states(&ended, worker);
        sent += states.len() as u64;
        // Only orders are tracked, numbered without gaps.
        assert_eq!(
            keys[&worker],
            (0..states.len() as u64).collect(),
            "{model:?}"
        );
        for (sequence, state) in states.iter().enumerate() {
            let expected = way(sequence as u64, 0).1;
            assert_eq!(*state, expected, "{model:?} {worker} {sequence}");
        }
    }
    assert_eq!(sent, ended.outcome.steps[0].sent);
    assert!(ended.outcome.steps[1].sent > 0);
    let kinds: Vec<Failure> = ended.failures().iter().map(|(kind, _)| *kind).collect();
    for kind in [
        Failure::Status(500),
        Failure::Reset,
        Failure::CheckFailed,
        Failure::NotCaptured,
        Failure::WrongBody,
    ] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
}

#[test]
fn each_record_has_its_own_key_and_the_outcome_of_its_answer() {
    check_model(closed_model(4, 1));
    check_model(LoadModel::Users {
        users: 4,
        think_time: Think::Exponential(Duration::from_micros(200)),
    });
}

#[test]
fn a_missing_answer_leaves_the_outcome_unknown() {
    let server = Server::start(|_| Reply::Silence);
    let hasty = StepRequest {
        timeout: Some(Duration::from_millis(20)),
        ..step(0, "PUT /{{record.key}}")
    };
    let scenario = scenario(1, vec![flow("one", 1, vec![request(hasty)])], Vec::new());
    let ended = run_and_account(job(server.address, closed_model(1, 1), scenario), 3);
    assert_eq!(ended.failures(), [(Failure::TimedOut, 3)]);
    assert_eq!(states(&ended, 0), [RequestOutcome::Unknown; 3]);
}

#[test]
fn a_body_that_was_not_kept_was_accepted() {
    let server = Server::start(|_| Reply::Answer(answer(201, "", r#"{"key": 12345678901234}"#)));
    let checking = StepRequest {
        checks: vec![check_of(Subject::Value(json("$.key")), Condition::Exists)],
        ..step(0, "PUT /{{record.key}}")
    };
    let scenario = scenario(1, vec![flow("one", 1, vec![request(checking)])], Vec::new());
    let mut job = job(server.address, closed_model(1, 1), scenario);
    job.limits.body_kept_max_bytes = 10;
    let ended = run_and_account(job, 3);
    assert_eq!(ended.failures(), [(Failure::BodyNotKept, 3)]);
    assert_eq!(states(&ended, 0), [RequestOutcome::Accepted; 3]);
}

#[test]
fn over_tls_it_is_the_same() {
    let authority = Authority::new("ours");
    let config = authority.server();
    let server = Server::start_secure(config, |request| match request.number % 3 {
        0 => Reply::Answer(answer(200, "", "")),
        1 => Reply::Answer(answer(503, "", "")),
        _ => Reply::Cut(Vec::new()),
    });
    let scenario = scenario(
        1,
        vec![flow("one", 1, vec![plain(0, "PUT /{{record.key}}")])],
        Vec::new(),
    );
    let mut job = job(server.address, closed_model(1, 1), scenario);
    let options = TlsOptions {
        server_name: "localhost".to_owned(),
        roots: Roots::Pem(authority.pem.clone().into_bytes()),
        ..TlsOptions::default()
    };
    job.transport = Transport {
        protocol: Protocol::Http1,
        tls: Some(Tls::new(options).unwrap()),
        ..Transport::default()
    };
    let ended = run_and_account(job, 9);
    let expected = [
        RequestOutcome::Accepted,
        RequestOutcome::Rejected,
        RequestOutcome::Unknown,
    ]
    .repeat(3);
    assert_eq!(states(&ended, 0), expected);
}

#[test]
fn without_tracking_the_stamps_are_the_same() {
    let server = Server::start(|_| Reply::Answer(answer(200, "", "")));
    let scenario = scenario(
        1,
        vec![flow(
            "one",
            1,
            vec![request(StepRequest {
                body: text("{{record.key}}"),
                ..step(0, "PUT /")
            })],
        )],
        Vec::new(),
    );
    let mut job = job(server.address, closed_model(1, 1), scenario);
    job.max_requests = Some(3);
    let ended = run(job);
    assert!(ended.outcome.request_outcomes.is_empty());
    let first = waggle_load::key_of(0, 0);
    let expected: Vec<String> = (first..first + 3).map(|key| key.to_string()).collect();
    assert_eq!(server.bodies(), expected);
}

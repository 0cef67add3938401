//! Sessions over HTTP/2, one on each stream of a connection: nothing of a session reaches another one.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

use h2::Reason;
use waggle_load::{
    Action, Condition, Job, Preparation, RequestOutcome, Retries, Scenario, StepRequest, Subject,
    worker_and_sequence,
};
use waggle_spec::{Arrivals, FeedOrder, LoadModel, Think};
use waggle_testkit::streams::Reply;

use crate::support::{
    Ended, closed_model, run,
    scenarios::{
        capture, check_of, feed, flow, job, json, plain, request, scenario, shopping_scenario,
        step, text,
    },
    stream_shop::{StreamShop, answer},
};

const REQUESTS: u64 = 1_200;

fn one_flow(steps: usize, actions: Vec<Action>) -> Scenario {
    scenario(steps, vec![flow("one", 1, actions)], Vec::new())
}

fn run_on(
    shop: &StreamShop,
    model: LoadModel,
    scenario: Scenario,
    change: impl Fn(&mut Job),
) -> Ended {
    let lanes = u64::from(model.pipelining());
    let mut job = shop.job(|address| job(address, model, scenario));
    job.max_requests = Some(REQUESTS);
    change(&mut job);
    let ended = run(job);
    ended.check_sums_of_streams(lanes);
    ended
}

/// Streams at once on the server.
fn most_under_way(shop: &StreamShop) -> u64 {
    shop.server.get(|counted| &counted.most_under_way)
}

#[test]
fn each_session_has_its_own_variables_and_cookies() {
    let open = LoadModel::Open {
        rate_per_s: 2_000.0,
        arrivals: Arrivals::Poisson,
        connections: 2,
        pipelining: 8,
    };
    let users = LoadModel::Users {
        users: 6,
        think_time: Think::Fixed(Duration::from_micros(200)),
    };
    for model in [
        closed_model(1, 1),
        closed_model(2, 5),
        closed_model(1, 50),
        open,
        users,
    ] {
        let shop = StreamShop::start(|_| None);
        let ended = run_on(&shop, model.clone(), shopping_scenario(), |job| {
            job.workers = vec![None; 2];
        });
        let counts = ended.counts();
        assert_eq!(
            (counts.sent, counts.succeeded),
            (REQUESTS, REQUESTS),
            "{model:?}: {counts:?}"
        );
        assert_eq!(counts.sessions.failed, 0, "{model:?}");
        let connections = shop.server.get(|counted| &counted.connections);
        assert_eq!(
            (counts.connects, counts.http2_connections),
            (connections, connections),
            "{model:?}"
        );
        let most = u64::from(model.connections() * model.pipelining());
        assert!(most_under_way(&shop) <= most, "{model:?}");
        assert_eq!(shop.paths()["/login"], counts.sessions.started, "{model:?}");
    }
}

#[test]
fn a_connection_has_as_many_sessions_at_once_as_streams() {
    let shop = StreamShop::start(|_| {
        let pause = Duration::from_millis(20);
        Some(Reply::After(pause, bytes::Bytes::new()))
    });
    let scenario = one_flow(1, vec![plain(0, "GET /open")]);
    run_on(&shop, closed_model(1, 7), scenario, |job| {
        job.max_requests = Some(70);
    });
    assert_eq!(most_under_way(&shop), 7);
}

#[test]
fn a_failed_check_ends_its_own_session_alone() {
    let shop = StreamShop::start(|_| None);
    let checked = StepRequest {
        checks: vec![check_of(
            Subject::Body,
            Condition::Equals(text("/open/{{session}}")),
        )],
        ..step(0, "GET /open/{{rows.name}}")
    };
    let mut scenario = one_flow(2, vec![request(checked), plain(1, "GET /open/end")]);
    let mut rows = feed("rows", 0, FeedOrder::Cycle);
    // Of four sessions after another, one gets what it expects: those of the first four.
    rows.rows = (1..=4).map(|row| vec![row.to_string()]).collect();
    scenario.feeds = vec![rows];
    let ended = run_on(&shop, closed_model(1, 5), scenario, |job| {
        job.max_requests = Some(104);
    });
    let [checked, end] = &ended.outcome.steps[..] else {
        panic!("two steps")
    };
    assert_eq!(
        (checked.sent, checked.succeeded, checked.failed),
        (100, 4, 96)
    );
    assert_eq!((end.sent, end.succeeded), (4, 4));
    assert_eq!(ended.counts().connects, 1);
}

#[test]
fn a_stream_that_is_reset_fails_its_session_alone() {
    let shop = StreamShop::start(|request| {
        (request.number % 10 == 9).then_some(Reply::Reset(Reason::INTERNAL_ERROR))
    });
    let ended = run_on(&shop, closed_model(1, 6), shopping_scenario(), |_| {});
    let counts = ended.counts();
    assert_eq!(counts.failed, REQUESTS / 10, "{counts:?}");
    assert_eq!(counts.sessions.failed, REQUESTS / 10, "{counts:?}");
    assert_eq!(
        (counts.connects, counts.succeeded),
        (1, REQUESTS - REQUESTS / 10)
    );
}

#[test]
fn sessions_of_a_lost_connection_fail_and_others_begin_on_the_next_one() {
    let shop = StreamShop::start(|request| (request.number == 600).then_some(Reply::Drop));
    let ended = run_on(&shop, closed_model(1, 6), shopping_scenario(), |_| {});
    let counts = ended.counts();
    assert!((1..=6).contains(&counts.failed), "{counts:?}");
    assert_eq!(counts.sessions.failed, counts.failed, "{counts:?}");
    assert_eq!((counts.connects, counts.http2_connections), (2, 2));
}

#[test]
fn sessions_outlive_a_connection_that_the_server_ends_with_goaway() {
    let shop = StreamShop::start(|request| {
        (request.head.uri().path() == "/open/away")
            .then(|| Reply::GoAway(bytes::Bytes::from_static(b"/open/away")))
    });
    let actions = vec![
        plain(0, "GET /open/{{session}}"),
        plain(1, "GET /open/away"),
        plain(2, "GET /open/{{session}}"),
    ];
    let ended = run_on(&shop, closed_model(1, 4), one_flow(3, actions), |job| {
        job.max_requests = Some(300);
    });
    let counts = ended.counts();
    assert_eq!((counts.succeeded, counts.failed), (300, 0), "{counts:?}");
    assert_eq!(counts.sessions.failed, 0);
    assert!(counts.connects > 1, "{counts:?}");
}

#[test]
fn pauses_and_retries_hold_up_their_own_session() {
    const SESSIONS: u64 = 40;
    let tries = Mutex::new(HashMap::new());
    let shop = StreamShop::start(move |request| {
        let path = request.head.uri().path().to_owned();
        let session = path.strip_prefix("/objects/")?.to_owned();
        let mut tries = tries.lock().unwrap();
        let tries = tries.entry(session.clone()).or_insert(0);
        *tries += 1;
        Some(match *tries {
            1 => answer(503, Vec::new(), String::new()),
            _ => answer(200, Vec::new(), format!(r#"{{"id": "id-{session}"}}"#)),
        })
    });
    let making = StepRequest {
        captures: vec![capture("id", json("$.id"))],
        ..step(0, "POST /objects/{{session}}")
    };
    let actions = vec![
        request(making),
        Action::Pause(Think::Fixed(Duration::from_millis(3))),
        plain(1, "GET /open/{{id}}"),
    ];
    let mut scenario = one_flow(2, actions);
    scenario.preparation = Some(Preparation {
        done: 0,
        sessions: SESSIONS,
        retries: Retries {
            max: 3,
            pause: Duration::from_millis(1),
            pause_max: Duration::from_millis(20),
            any_answer: false,
        },
        keeps: vec!["id".to_owned()],
    });
    let ended = run_on(&shop, closed_model(2, 4), scenario, |job| {
        job.max_requests = None;
        job.workers = vec![None; 2];
    });
    let sessions = ended.counts().sessions;
    assert_eq!(
        (sessions.started, sessions.completed, sessions.retries),
        (SESSIONS, SESSIONS, SESSIONS),
        "{sessions:?}"
    );
    let paths = shop.paths();
    for session in 1..=SESSIONS {
        assert_eq!(paths[&format!("/objects/{session}")], 2, "{paths:?}");
        assert_eq!(paths[&format!("/open/id-{session}")], 1, "{paths:?}");
    }
}

#[test]
fn each_row_is_taken_once() {
    const ROWS: usize = 300;
    let shop = StreamShop::start(|_| None);
    let mut scenario = one_flow(1, vec![plain(0, "GET /open/{{rows.name}}")]);
    scenario.feeds = vec![feed("rows", ROWS, FeedOrder::Once)];
    run_on(&shop, closed_model(2, 9), scenario, |job| {
        job.max_requests = None;
        job.workers = vec![None; 2];
    });
    let paths = shop.paths();
    assert_eq!(paths.len(), ROWS);
    assert!(paths.values().all(|times| *times == 1), "{paths:?}");
}

#[test]
fn records_of_streams_are_accounted_for() {
    const WORKERS: usize = 2;
    let keys = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&keys);
    let shop = StreamShop::start(move |request| {
        let key = request.head.uri().path().strip_prefix("/records/")?;
        let key: u64 = key.parse().unwrap();
        seen.lock().unwrap().push(key);
        let (_, sequence) = worker_and_sequence(key).unwrap();
        Some(match sequence % 5 {
            0 => answer(500, Vec::new(), String::new()),
            1 => Reply::Reset(Reason::INTERNAL_ERROR),
            _ => answer(200, Vec::new(), key.to_string()),
        })
    });
    let writing = StepRequest {
        body: text("{{record.key}} {{record.time}}"),
        checks: vec![check_of(
            Subject::Body,
            Condition::Equals(text("{{record.key}}")),
        )],
        ..step(0, "PUT /records/{{record.key}}")
    };
    let scenario = one_flow(2, vec![request(writing), plain(1, "GET /open")]);
    let ended = run_on(&shop, closed_model(3, 6), scenario, |job| {
        job.workers = vec![None; WORKERS];
        job.max_tracked_requests = Some(10_000);
    });
    let mut sent: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    for key in keys.lock().unwrap().iter() {
        let (worker, sequence) = worker_and_sequence(*key).unwrap();
        let is_new = sent.entry(worker).or_default().insert(sequence);
        assert!(is_new, "key {key} was sent twice");
    }
    assert_eq!(sent.len(), WORKERS);
    for (worker, sequences) in sent {
        let account = &ended.outcome.request_outcomes[worker];
        assert_eq!(account.sent_count(), sequences.len() as u64);
        for sequence in 0..account.sent_count() {
            assert!(sequences.contains(&sequence), "{worker}: {sequence}");
            let expected = match sequence % 5 {
                0 => RequestOutcome::Rejected,
                1 => RequestOutcome::Unknown,
                _ => RequestOutcome::Accepted,
            };
            assert_eq!(account.state(sequence).unwrap(), expected, "{sequence}");
        }
    }
}

#[test]
fn each_session_of_a_connection_has_its_own_row() {
    const LANES: usize = 4;
    let rows = Arc::new(Mutex::new(BTreeMap::<String, BTreeSet<String>>::new()));
    let seen = Arc::clone(&rows);
    let shop = StreamShop::start(move |request| {
        let path = request.head.uri().path().strip_prefix("/open/")?;
        let (row, user) = path.split_once('/')?;
        let mut seen = seen.lock().unwrap();
        seen.entry(row.to_owned())
            .or_default()
            .insert(user.to_owned());
        None
    });
    let mut scenario = one_flow(1, vec![plain(0, "GET /open/{{rows.name}}/{{user}}")]);
    // Three connections of two workers: one of them has more than the other.
    scenario.feeds = vec![feed("rows", 3 * LANES, FeedOrder::PerUser)];
    run_on(&shop, closed_model(3, LANES), scenario, |job| {
        job.workers = vec![None; 2];
    });
    let rows = rows.lock().unwrap();
    assert_eq!(rows.len(), 3 * LANES, "{rows:?}");
    assert!(rows.values().all(|users| users.len() == 1), "{rows:?}");
}

//! Replacing what a running load sends: each connection sends the old texts, then the new ones, and nothing else changes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use waggle_load::{
    BodyCheck, Counts, Interval, Job, Prepared, ReplaceError, Running, Scenario, Slot, Stamp,
    StepRequest, What, start,
};
use waggle_spec::{LoadModel, Protocol, Think};
use waggle_testkit::streams::{self, Settings, StreamServer};

use crate::{
    generators,
    support::{
        OK, Reply, Server, closed_model, job,
        scenarios::{self, capture, flow, json, repeat, request, scenario, step, text},
    },
};

/// Requests that a run must have had before and after it is replaced.
const ENOUGH: u64 = 50;
const WAIT: Duration = Duration::from_millis(100);

/// The values of `Authorization` that a server saw, by connection, in their order.
#[derive(Debug, Clone, Default)]
struct Seen(Arc<Mutex<BTreeMap<u64, Vec<String>>>>);

impl Seen {
    fn note(&self, connection: u64, value: &str) {
        let mut seen = self.0.lock().unwrap();
        seen.entry(connection).or_default().push(value.to_owned());
    }

    fn count(&self, value: &str) -> u64 {
        let seen = self.0.lock().unwrap();
        let all = seen.values().flatten().filter(|entry| *entry == value);
        all.count() as u64
    }

    /// On each connection, the new value comes after the old one and is the only one from there on.
    fn check(&self) {
        for (connection, values) in &*self.0.lock().unwrap() {
            let mut values = values.clone();
            values.dedup();
            let is_right = values == ["old"] || values == ["new"] || values == ["old", "new"];
            assert!(is_right, "connection {connection}: {values:?}");
        }
    }
}

fn server(seen: &Seen) -> Server {
    let seen = seen.clone();
    Server::start(move |request| {
        seen.note(request.connection, request.header("authorization").unwrap());
        Reply::Answer(OK.to_vec())
    })
}

/// Two requests with slots, as far as they are sent to HTTP/1.1.
fn requests(token: &str) -> Vec<Prepared> {
    let paths = ["/a", "/b"];
    let prepared = paths.map(|path| {
        let head = format!("GET {path} HTTP/1.1\r\nHost: test\r\nAuthorization: {token}\r\nX-Id: ");
        let offset = head.len();
        let stamp = Stamp::Uuid;
        let bytes = head + &"0".repeat(stamp.length()) + "\r\n\r\n";
        Prepared {
            bytes: bytes.into_bytes(),
            slots: vec![Slot { at: offset, stamp }],
            records: 0,
            is_head: false,
        }
    });
    prepared.to_vec()
}

fn requests_what(token: &str) -> What {
    What::Requests {
        requests: requests(token),
        expect: Default::default(),
        inspect: None,
    }
}

/// Sessions that log in, and use what they captured in a loop.
fn sessions(token: &str) -> Scenario {
    let with_token = |request: StepRequest| StepRequest {
        headers: vec![("Authorization".to_owned(), text(token))],
        ..request
    };
    let login = StepRequest {
        captures: vec![capture("id", json("$.id"))],
        ..with_token(step(0, "GET /login"))
    };
    let read = with_token(step(1, "GET /of/{{id}}"));
    let actions = vec![request(login), repeat(20, vec![request(read)])];
    scenario(2, vec![flow("read", 1, actions)], Vec::new())
}

/// Runs until the server has seen enough of the old value, replaces it, and until it has seen enough of the new one.
fn run_and_replace(
    seen: &Seen,
    mut next: impl FnMut() -> Option<Interval>,
    replace: impl FnOnce(),
    stop: impl FnOnce(),
) {
    let mut replace = Some(replace);
    while seen.count("new") < ENOUGH {
        next();
        if seen.count("old") >= ENOUGH
            && let Some(replace) = replace.take()
        {
            replace();
        }
    }
    stop();
}

fn run_here(seen: &Seen, job: Job, what: &What) -> Counts {
    let running = start(job).unwrap();
    run_and_replace(
        seen,
        || running.next_interval(WAIT),
        || running.replace(what).unwrap(),
        || running.stop(),
    );
    seen.check();
    join(running)
}

fn join(running: Running) -> Counts {
    let counts = running.join().totals;
    assert_eq!(counts.sent, counts.succeeded, "{counts:?}");
    counts
}

fn users() -> LoadModel {
    LoadModel::Users {
        users: 4,
        think_time: Think::Fixed(Duration::from_millis(1)),
    }
}

#[test]
fn requests_that_are_replaced_are_sent_no_more() {
    for (model, workers) in [(closed_model(4, 3), 2), (users(), 3)] {
        let seen = Seen::default();
        let server = server(&seen);
        let mut job = job(server.address, model);
        job.workers = vec![None; workers];
        job.what = requests_what("old");
        run_here(&seen, job, &requests_what("new"));
    }
}

#[test]
fn requests_of_http2_are_replaced() {
    let seen = Seen::default();
    let theirs = seen.clone();
    let server = StreamServer::start(Settings::default(), move |request| {
        let value = request.head.headers().get("authorization").unwrap();
        // There is one connection.
        theirs.note(0, value.to_str().unwrap());
        streams::Reply::Answer {
            status: 200,
            body: Bytes::from_static(b"ok"),
        }
    });
    let mut job = job(server.address, closed_model(1, 1));
    job.transport.protocol = Protocol::Http2;
    job.what = requests_what("old");
    run_here(&seen, job, &requests_what("new"));
}

fn shop(seen: &Seen) -> Server {
    let seen = seen.clone();
    Server::start(move |request| {
        seen.note(request.connection, request.header("authorization").unwrap());
        let known = ["/login", "/of/7"].contains(&&*request.path);
        let status = if known { 200 } else { 404 };
        Reply::Answer(waggle_testkit::http::answer(status, "", r#"{"id": 7}"#))
    })
}

#[test]
fn sessions_under_way_go_on_with_the_new_texts() {
    let seen = Seen::default();
    let server = shop(&seen);
    let mut job = scenarios::job(server.address, users(), sessions("old"));
    job.workers = vec![None; 2];
    let counts = run_here(&seen, job, &What::Scenario(Arc::new(sessions("new"))));
    assert_eq!(counts.sessions.failed, 0, "{counts:?}");
}

#[test]
fn every_generator_replaces_what_it_sends() {
    for is_scenario in [false, true] {
        let seen = Seen::default();
        let server = shop(&seen);
        let what = |token| match is_scenario {
            true => What::Scenario(Arc::new(sessions(token))),
            false => What::Requests {
                requests: requests(token),
                expect: waggle_load::Expect {
                    status: vec![404],
                    body: BodyCheck::Any,
                },
                inspect: None,
            },
        };
        let mut job = job(server.address, closed_model(4, 1));
        job.workers = vec![None; 2];
        job.what = what("old");
        let (mut running, served) = generators::start(&job, 2);
        let (stop, handle) = (running.stop_handle(), running.replace_handle());
        let refused = handle.replace(&requests_what("new"));
        assert!(
            matches!(refused, Err(ReplaceError::Shape(_))),
            "{refused:?}"
        );
        run_and_replace(
            &seen,
            || running.next_interval(WAIT).unwrap(),
            || handle.replace(&what("new")).unwrap(),
            || stop.stop(),
        );
        let ended = generators::take_all(running, served);
        seen.check();
        let counts = ended.counts();
        assert_eq!(counts.sent, counts.succeeded, "{counts:?}");
    }
}

#[test]
fn another_shape_is_refused_and_changes_nothing() {
    let check = |before: What, after: What, expected: &str| {
        let seen = Seen::default();
        let server = shop(&seen);
        let mut job = job(server.address, closed_model(1, 1));
        job.what = before;
        let running = start(job).unwrap();
        let why = running.replace(&after).unwrap_err().to_string();
        assert!(why.contains(expected), "{why}");
        while seen.count("old") < ENOUGH {
            running.next_interval(WAIT);
        }
        running.stop();
        assert_eq!(seen.count("new"), 0);
    };
    let changed = |change: fn(&mut Vec<Prepared>)| {
        let mut requests = requests("new");
        change(&mut requests);
        What::Requests {
            requests,
            expect: Default::default(),
            inspect: None,
        }
    };
    let old = || requests_what("old");
    check(
        old(),
        changed(|all| all.truncate(1)),
        "1 requests in place of 2",
    );
    check(
        old(),
        changed(|all| all[1].slots.clear()),
        "request 1 has other slots",
    );
    check(
        old(),
        changed(|all| all[0].records = 3),
        "request 0 has other slots",
    );
    check(
        old(),
        changed(|all| all[0].bytes.clear()),
        "request 0 is empty",
    );
    let scenario = |change: fn(&mut Scenario)| {
        let mut scenario = sessions("new");
        change(&mut scenario);
        What::Scenario(Arc::new(scenario))
    };
    check(old(), scenario(|_| {}), "a scenario in place of requests");
    let old = || What::Scenario(Arc::new(sessions("old")));
    check(
        old(),
        requests_what("new"),
        "requests in place of a scenario",
    );
    check(old(), scenario(|all| all.steps[1].push('x')), "other steps");
    check(old(), scenario(|all| all.run.push('x')), "another run");
    let fewer = scenario(|all| {
        all.flows[0].actions.pop();
    });
    check(old(), fewer, "other answers are expected");
    let longer = scenario(|all| all.flows[0].weight = 2);
    check(old(), longer, "other flows");
}

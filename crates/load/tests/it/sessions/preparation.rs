//! Loads that prepare a system: a number of sessions, retries, and values that are kept.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use waggle_load::{KeptRows, Preparation, Retries, Rows, Scenario, SessionCounts, StepRequest};
use waggle_spec::{FeedOrder, GeneratedRows, RowValue};

use crate::support::{
    Ended, Reply, closed_model, run,
    scenarios::{capture, feed, flow, job, json, plain, request, scenario, step, text},
    shop::Shop,
};

const OBJECTS: u64 = 40;

fn preparation(sessions: u64) -> Preparation {
    Preparation {
        done: 0,
        sessions,
        retries: Retries {
            max: 3,
            pause: Duration::from_millis(1),
            pause_max: Duration::from_millis(20),
            any_answer: false,
        },
        keeps: vec!["id".to_owned()],
    }
}

/// Each session makes the object that its number names and keeps the id that the server gives it.
fn making(preparation: Preparation) -> Scenario {
    let making = StepRequest {
        captures: vec![capture("id", json("$.id"))],
        ..step(0, "POST /objects/{{session}}/{{all.id}}")
    };
    let mut scenario = scenario(1, vec![flow("make", 1, vec![request(making)])], Vec::new());
    scenario.feeds = vec![waggle_load::Feed {
        name: "all".to_owned(),
        columns: vec!["id".to_owned()],
        rows: Rows::Generated(GeneratedRows {
            count: 1_000,
            seed: 1,
            columns: vec![(
                "id".to_owned(),
                RowValue::Numbered(vec!["o".to_owned(), String::new()]),
            )],
        }),
        order: FeedOrder::Once,
    }];
    scenario.preparation = Some(preparation);
    scenario
}

/// What a server does with the n-th request for an object, both counted from 1; `None`: it makes it.
type Behaviour = fn(u64, u32) -> Option<Reply>;

/// A server with that behaviour; objects that were made, with how often.
fn server(behaviour: Behaviour) -> (Shop, Arc<Mutex<HashMap<u64, u32>>>) {
    let made = Arc::new(Mutex::new(HashMap::new()));
    let tries = Mutex::new(HashMap::new());
    let shared = Arc::clone(&made);
    let shop = Shop::start(move |request| {
        let path = request.head.split(' ').nth(1)?;
        let object: u64 = path.split('/').nth(2)?.parse().ok()?;
        assert!(path.ends_with(&format!("/o{object}")), "{path}");
        let mut tries = tries.lock().unwrap();
        let tries = tries.entry(object).or_insert(0);
        *tries += 1;
        Some(behaviour(object, *tries).unwrap_or_else(|| {
            *shared.lock().unwrap().entry(object).or_insert(0) += 1;
            let body = format!("{{\"id\": \"id-{object}\"}}");
            let length = body.len();
            Reply::Answer(
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes(),
            )
        }))
    });
    (shop, made)
}

fn prepare(shop: &Shop, scenario: Scenario) -> Ended {
    let mut job = job(shop.server.address, closed_model(3, 1), scenario);
    job.workers = vec![None; 2];
    job.limits.reconnect_first = Duration::from_micros(100);
    job.limits.request_timeout = Duration::from_millis(500);
    let ended = run(job);
    ended.check_sums();
    ended
}

fn answer(status: &str, header: &str) -> Reply {
    Reply::Answer(format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n{header}\r\n").into_bytes())
}

fn kept_ids(rows: &KeptRows) -> Vec<String> {
    let row = |row| String::from_utf8(rows.value(row, 0).to_vec()).unwrap();
    (0..rows.len()).map(row).collect()
}

#[test]
fn each_object_is_made_once_although_requests_fail() {
    let behaviour: Behaviour = |object, n| match (object % 5, n) {
        (1, 1) => Some(answer("503", "")),
        (2, 1 | 2) => Some(answer("429", "Retry-After: 0\r\n")),
        (3, 1) => Some(Reply::Cut(b"HTTP/1.1 200".to_vec())),
        (4, 1) => Some(answer("500", "Connection: close\r\n")),
        _ => None,
    };
    let (shop, made) = server(behaviour);
    let ended = prepare(&shop, making(preparation(OBJECTS)));
    let expected: HashMap<u64, u32> = (1..=OBJECTS).map(|object| (object, 1)).collect();
    assert_eq!(*made.lock().unwrap(), expected);
    let expected = SessionCounts {
        started: OBJECTS,
        completed: OBJECTS,
        failed: 0,
        retries: OBJECTS,
    };
    assert_eq!(ended.counts().sessions, expected);
    let ids: Vec<String> = (1..=OBJECTS).map(|object| format!("id-{object}")).collect();
    assert_eq!(kept_ids(&ended.outcome.kept), ids);
}

#[test]
fn an_object_is_given_up_after_the_last_retry() {
    let behaviour: Behaviour = |object, _| match object {
        7 => Some(answer("503", "")),
        8 => Some(answer("409", "")),
        _ => None,
    };
    let (shop, made) = server(behaviour);
    let ended = prepare(&shop, making(preparation(OBJECTS)));
    assert_eq!(made.lock().unwrap().len() as u64, OBJECTS - 2);
    let expected = SessionCounts {
        started: OBJECTS,
        completed: OBJECTS - 2,
        failed: 2,
        // A conflict does not go away.
        retries: 3,
    };
    assert_eq!(ended.counts().sessions, expected);
    assert_eq!(ended.outcome.kept.len() as u64, OBJECTS - 2);
}

#[test]
fn a_later_load_continues_where_an_earlier_one_ended() {
    let (shop, made) = server(|_, _| None);
    prepare(&shop, making(preparation(10)));
    let grown = Preparation {
        done: 10,
        ..preparation(25)
    };
    let ended = prepare(&shop, making(grown));
    assert_eq!(ended.counts().sessions.completed, 25);
    let expected: HashMap<u64, u32> = (1..=35).map(|object| (object, 1)).collect();
    assert_eq!(*made.lock().unwrap(), expected);
}

#[test]
fn kept_values_are_rows_of_a_later_load() {
    let (shop, _) = server(|_, _| None);
    let kept = prepare(&shop, making(preparation(10))).outcome.kept;
    let reading = StepRequest {
        path: text("/read/{{ids.name}}"),
        ..step(0, "GET /")
    };
    let flows = vec![flow("read", 1, vec![request(reading)])];
    let mut reading = scenario(1, flows, vec![feed("ids", 1, FeedOrder::Once)]);
    reading.feeds[0].rows = Rows::Kept(Arc::new(kept));
    let shop = Shop::start(|request| request.head.contains("/read/").then(|| answer("200", "")));
    prepare(&shop, reading);
    let expected: HashMap<String, u64> = (1..=10).map(|n| (format!("/read/id-{n}"), 1)).collect();
    let paths: HashMap<String, u64> = shop.paths().into_iter().collect();
    assert_eq!(paths, expected);
}

#[test]
fn a_server_that_is_gone_ends_the_load() {
    let mut scenario = making(preparation(5));
    scenario.flows[0].actions.push(plain(0, "GET /x"));
    let address = (std::net::Ipv4Addr::LOCALHOST, waggle_testkit::free_port()).into();
    let mut job = job(address, closed_model(2, 1), scenario);
    job.limits.unconnected = Duration::from_millis(20);
    job.limits.request_timeout = Duration::from_millis(20);
    let ended = run(job);
    assert!(ended.outcome.unconnected_for.is_some());
    assert_eq!(ended.counts().sessions.completed, 0);
}

//! Failing sessions: what fails, how the session continues, and that every count equals the server's.

use std::time::Duration;

use waggle_load::{
    Action, Condition, Expected, Extractor, Failure, FeedRow, Mismatch, Pattern, Query,
    SessionCounts, StepRequest, Subject, start,
};
use waggle_spec::{Arrivals, FeedOrder, LoadModel, OnFailure, Protocol, Think};

use crate::support::{
    Ended, Reply, closed_model, run,
    scenarios::{
        capture, check_of, feed, flow, job, json, plain, request, scenario, shopping_scenario,
        step, text,
    },
    shop::Shop,
};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\nETag: e1\r\n\r\n{\"id\": \"i\"}";

/// Sessions of two steps, beginning with `first`, on one connection until six requests are sent.
fn run_two(reply: Reply, first: StepRequest) -> (Shop, Ended) {
    let shop = Shop::start(move |request| request.head.contains("/first").then(|| reply.clone()));
    let actions = vec![request(first), plain(1, "GET /open/second")];
    let scenario = scenario(2, vec![flow("one", 1, actions)], Vec::new());
    let mut job = job(shop.server.address, closed_model(1, 1), scenario);
    job.max_requests = Some(6);
    job.limits.body_kept_max_bytes = 20;
    job.limits.reconnect_first = Duration::from_micros(100);
    let ended = run(job);
    ended.check_sums();
    (shop, ended)
}

fn first_step() -> StepRequest {
    step(0, "GET /first")
}

/// The first step fails with `failure`: sessions end there, or continue if the step says so.
fn check_failure(reply: Reply, first: StepRequest, failure: Failure) {
    let case = format!("{reply:?} {first:?}");
    let (shop, ended) = run_two(reply.clone(), first.clone());
    assert_eq!(ended.failures(), [(failure, 6)], "{case}");
    assert_eq!(ended.outcome.steps[0].failures.0, [(failure, 6)], "{case}");
    let expected = SessionCounts {
        started: 6,
        completed: 0,
        failed: 6,
        retries: 0,
    };
    assert_eq!(ended.counts().sessions, expected, "{case}");
    assert!(!shop.paths().contains_key("/open/second"), "{case}");

    let goes_on = StepRequest {
        on_failure: OnFailure::Continue,
        ..first
    };
    let (shop, ended) = run_two(reply, goes_on);
    let seconds = shop.paths().get("/open/second").copied().unwrap_or(0);
    let is_lost = matches!(failure, Failure::Reset | Failure::TimedOut);
    let expected = if is_lost { (6, 0, 6) } else { (3, 3, 0) };
    let sessions = ended.counts().sessions;
    let counts = (sessions.started, sessions.completed, sessions.failed);
    assert_eq!(counts, expected, "{case}");
    assert_eq!(seconds, if is_lost { 0 } else { 3 }, "{case}");
    assert_eq!(ended.failures(), [(failure, expected.0)], "{case}");
}

fn ok() -> Reply {
    Reply::Answer(OK.to_vec())
}

#[test]
fn a_request_that_fails_ends_its_session() {
    let bad = Reply::Answer(b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n".to_vec());
    check_failure(bad, first_step(), Failure::Status(500));
    check_failure(Reply::Cut(OK[..30].to_vec()), first_step(), Failure::Reset);
    let hasty = StepRequest {
        timeout: Some(Duration::from_millis(20)),
        ..first_step()
    };
    check_failure(Reply::Silence, hasty, Failure::TimedOut);
    let mut expecting = first_step();
    expecting.expect.body = waggle_load::BodyCheck::Contains(vec![b"x".to_vec()]);
    check_failure(ok(), expecting, Failure::WrongBody);
}

#[test]
fn a_capture_that_finds_nothing_fails() {
    let check = |from: Extractor, failure| {
        let capturing = StepRequest {
            captures: vec![capture("x", from)],
            ..first_step()
        };
        check_failure(ok(), capturing, failure);
    };
    check(json("$.other"), Failure::NotCaptured);
    check(
        Extractor::Header("x-other".to_owned()),
        Failure::NotCaptured,
    );
    check(Extractor::Cookie("sid".to_owned()), Failure::NotCaptured);
    let long = b"HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{\"id\": \"012345678901\"}".to_vec();
    let capturing = StepRequest {
        captures: vec![capture("x", json("$.id"))],
        ..first_step()
    };
    check_failure(Reply::Answer(long), capturing, Failure::BodyNotKept);
}

#[test]
fn a_captured_link_leads_to_the_same_host_or_fails() {
    let check = |link: &str, host: Option<&str>, expected: Option<&str>| {
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: sid=7; Path=/open\r\nLink: {link}\r\n\r\n"
        );
        let shop = Shop::start(move |_| Some(Reply::Answer(answer.clone().into_bytes())));
        let mut capturing = first_step();
        capturing.captures = vec![capture("next", Extractor::Header("link".to_owned()))];
        let host = host.map(|host| ("host".to_owned(), text(host)));
        capturing.headers.extend(host);
        let actions = vec![request(capturing), plain(1, "GET {{next}}")];
        let scenario = scenario(2, vec![flow("one", 1, actions)], Vec::new());
        let mut job = job(shop.server.address, closed_model(1, 1), scenario);
        job.max_requests = Some(2);
        let ended = run(job);
        ended.check_sums();
        let asked = shop.received_requests();
        match expected {
            Some(path) => {
                let cookie = path.starts_with("/open").then(|| "7".to_owned());
                assert_eq!((&*asked[1].path, &asked[1].cookie), (path, &cookie));
                assert_eq!(ended.failures(), []);
            }
            None => assert_eq!(ended.failures(), [(Failure::NotCaptured, 2)], "{link}"),
        }
    };
    check("/open/2?a=b", None, Some("/open/2?a=b"));
    check("http://shop/open/2?a=b", None, Some("/open/2?a=b"));
    check("", None, Some("/"));
    check("http://other/open/2", None, None);
    check("http://other/open/2", Some("other"), Some("/open/2"));
    check("open/2", None, None);
}

#[test]
fn a_link_in_a_feed_leads_to_the_same_host() {
    let actions = vec![plain(0, "GET {{links.name}}")];
    let feed = feed("links", 2, FeedOrder::Cycle);
    let scenario = scenario(1, vec![flow("one", 1, actions)], vec![feed]);
    assert_eq!(
        scenario.check().unwrap_err().to_string(),
        "feed 'links': a path begins with 'name', and 'r0' in row 0 (from 0) is neither a path nor a link to 'shop'"
    );
}

/// Whether a check holds for [`OK`].
fn check_check(subject: Subject, holds: Condition, expected: bool) {
    let checking = StepRequest {
        checks: vec![check_of(subject, holds)],
        ..first_step()
    };
    if expected {
        let (_, ended) = run_two(ok(), checking.clone());
        assert_eq!(ended.counts().succeeded, 6, "{checking:?}");
    } else {
        check_failure(ok(), checking, Failure::CheckFailed);
    }
}

#[test]
fn checks_hold_or_fail() {
    let pattern = |text| Condition::Matches(Pattern::parse(text).unwrap());
    let equals = |is| Condition::Equals(text(is));
    let contains = |is| Condition::Contains(text(is));
    let header = || Subject::Value(Extractor::Header("etag".to_owned()));
    let id = || Subject::Value(json("$.id"));
    check_check(Subject::Status, equals("200"), true);
    check_check(Subject::Status, equals("20"), false);
    check_check(Subject::Status, pattern("^2..$"), true);
    check_check(Subject::Body, equals(r#"{"id": "i"}"#), true);
    check_check(Subject::Body, equals(r#"{"id": "i"} "#), false);
    check_check(Subject::Body, contains("\"i\""), true);
    check_check(Subject::Body, contains("{{session}}"), false);
    check_check(header(), Condition::Exists, true);
    check_check(header(), equals("e1"), true);
    check_check(id(), Condition::Exists, true);
    check_check(id(), pattern("^[a-h]$"), false);
    check_check(Subject::Value(json("$.x")), Condition::Exists, false);
    check_check(Subject::Value(json("$.x")), contains(""), false);
}

#[test]
fn a_failed_answer_is_shown_with_the_rows_of_its_session() {
    let check = |bad: &'static str| {
        let shop = Shop::start(move |request| {
            let is_last = request.head.starts_with("GET /of/r2 ");
            Some(if is_last {
                Reply::Answer(bad.into())
            } else {
                ok()
            })
        });
        let is_json = check_of(Subject::Value(json("$.id")), Condition::Equals(text("i")));
        let asking = StepRequest {
            checks: vec![is_json],
            ..step(0, "GET /of/{{users.name}}")
        };
        // The first one is not used.
        let feeds = vec![
            feed("other", 5, FeedOrder::Cycle),
            feed("users", 3, FeedOrder::Cycle),
        ];
        let scenario = scenario(1, vec![flow("one", 1, vec![request(asking)])], feeds);
        let mut job = job(shop.server.address, closed_model(1, 1), scenario);
        job.max_requests = Some(6);
        let outcome = run(job).outcome;
        let examples = outcome.examples.iter().map(|entry| &entry.rows);
        let mismatches = outcome.mismatches.iter().map(|entry| &entry.rows);
        let rows: Vec<_> = examples.chain(mismatches).collect();
        let expected = FeedRow {
            feed: "users".to_owned(),
            row: 3,
        };
        assert_eq!(rows, [&vec![expected]], "{bad:?}");
    };
    check("HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\ngone");
    check("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"id\": \"x\"}");
}

#[test]
fn the_first_mismatch_of_each_step_is_kept() {
    let check =
        |checking: StepRequest, subject: &str, expected: Expected, content: Option<&str>| {
            let (_, ended) = run_two(ok(), checking);
            let mismatch = Mismatch {
                step: 0,
                is_capture: subject == "json $.next",
                subject: subject.to_owned(),
                expected,
                found: content.map(str::to_owned),
                rows: Vec::new(),
            };
            assert_eq!(ended.outcome.mismatches, [mismatch]);
        };
    let checks = |checks| StepRequest {
        checks,
        ..first_step()
    };
    let id = || Subject::Value(json("$.id"));
    let holds = check_of(Subject::Status, Condition::Exists);
    let fails = check_of(id(), Condition::Equals(text("{{session}}")));
    let checking = checks(vec![holds.clone(), fails]);
    check(
        checking,
        "json $.id",
        Expected::Equal("1".to_owned()),
        Some("i"),
    );
    let fails = check_of(
        Subject::Value(Extractor::Header("ETag".to_owned())),
        Condition::Contains(text("x")),
    );
    check(
        checks(vec![fails, holds]),
        "header ETag",
        Expected::Containing("x".to_owned()),
        Some("e1"),
    );
    let matches = Condition::Matches(Pattern::parse("^3").unwrap());
    check(
        checks(vec![check_of(Subject::Status, matches)]),
        "status",
        Expected::Match("^3".to_owned()),
        Some("200"),
    );
    let cookie = Subject::Value(Extractor::Cookie("s".to_owned()));
    check(
        checks(vec![check_of(cookie, Condition::Exists)]),
        "cookie s",
        Expected::Value,
        None,
    );
    let capturing = StepRequest {
        captures: vec![
            capture("id", Extractor::Json(Query::parse("$.id").unwrap())),
            capture("next", Extractor::Json(Query::parse("$.next").unwrap())),
        ],
        ..first_step()
    };
    check(capturing, "json $.next", Expected::Value, None);
}

#[test]
fn a_connection_that_ends_in_order_does_not_end_the_session() {
    let closing = String::from_utf8_lossy(OK).replace("ETag", "Connection: close\r\nETag");
    let (shop, ended) = run_two(Reply::Last(closing.into_bytes()), first_step());
    let sessions = ended.counts().sessions;
    assert_eq!((sessions.completed, sessions.failed), (3, 0));
    assert_eq!(ended.failures(), []);
    assert_eq!(shop.server.connections(), 4);
}

fn models() -> Vec<LoadModel> {
    vec![
        closed_model(5, 1),
        LoadModel::Users {
            users: 5,
            think_time: Think::Exponential(Duration::from_micros(200)),
        },
        LoadModel::Open {
            rate_per_s: 5_000.0,
            arrivals: Arrivals::Poisson,
            connections: 5,
            pipelining: 1,
        },
    ]
}

/// A thousand requests of sessions that pause in between, with some connections cut, in every model.
#[test]
fn counts_are_the_servers_counts_despite_cuts() {
    for (model, workers) in models()
        .into_iter()
        .flat_map(|model| [(model.clone(), 1), (model, 2)])
    {
        let shop =
            Shop::start(
                |request| match request.number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58 {
                    0 => Some(Reply::Cut(Vec::new())),
                    1 => Some(Reply::Cut(OK[..30].to_vec())),
                    2 => Some(Reply::Last(OK.to_vec())),
                    _ => None,
                },
            );
        let mut scenario = shopping_scenario();
        let pause = Think::Uniform {
            from: Duration::ZERO,
            to: Duration::from_micros(300),
        };
        scenario.flows[0].actions.insert(1, Action::Pause(pause));
        scenario.flows[0].actions.push(Action::Pause(pause));
        let mut job = job(shop.server.address, model.clone(), scenario);
        job.workers = vec![None; workers];
        job.max_requests = Some(1_000);
        job.limits.reconnect_first = Duration::from_micros(100);
        let ended = run(job);
        ended.check_sums();
        let counts = ended.counts();
        assert_eq!(counts.sent, 1_000, "{model:?}");
        let asked = shop.received_requests();
        let good = asked.iter().filter(|asked| asked.status == 200).count() as u64;
        assert!(
            counts.succeeded >= good && counts.succeeded <= shop.server.answered_count(),
            "{model:?}"
        );
        assert!(shop.server.received_count() <= counts.sent, "{model:?}");
        for (step, method) in ["POST", "GET", "PUT"].into_iter().enumerate() {
            let seen = asked.iter().filter(|asked| asked.method == method).count() as u64;
            let sent = ended.outcome.steps[step].sent;
            assert!(
                seen <= sent && sent - seen <= counts.failed,
                "{model:?} {method}"
            );
        }
        assert!(
            counts.sessions.failed > 0 && counts.sessions.completed > 0,
            "{model:?}"
        );
        assert_eq!(
            asked.iter().filter(|asked| asked.status == 401).count(),
            0,
            "{model:?}"
        );
    }
}

#[test]
fn complete_requests_are_counted_exactly() {
    for (model, workers) in models()
        .into_iter()
        .flat_map(|model| [(model.clone(), 1), (model, 2)])
    {
        let shop = Shop::start(|_| None);
        let mut job = job(shop.server.address, model.clone(), shopping_scenario());
        job.workers = vec![None; workers];
        job.max_requests = Some(900);
        let ended = run(job);
        ended.check_sums();
        assert_eq!(
            (ended.counts().succeeded, shop.server.answered_count()),
            (900, 900),
            "{model:?}"
        );
        let asked = shop.received_requests();
        for (step, method) in ["POST", "GET", "PUT"].into_iter().enumerate() {
            let seen = asked.iter().filter(|asked| asked.method == method).count() as u64;
            assert_eq!(
                ended.outcome.steps[step].succeeded, seen,
                "{model:?} {method}"
            );
        }
        assert_eq!(
            ended.counts().sessions.started,
            ended.outcome.steps[0].sent,
            "{model:?}"
        );
        assert_eq!(
            ended.counts().sessions.completed,
            ended.outcome.steps[2].succeeded,
            "{model:?}"
        );
    }
}

/// A job that is invalid by its model and protocol, and the error.
fn check_refused(model: LoadModel, protocol: Protocol, expected: &str) {
    let mut scenario = shopping_scenario();
    scenario.feeds = vec![feed("rows", 2, FeedOrder::PerUser)];
    let mut job = job(([127, 0, 0, 1], 9).into(), model, scenario);
    job.transport.protocol = protocol;
    let message = start(job).err().map(|error| error.to_string());
    assert_eq!(message.as_deref(), Some(expected));
}

#[test]
fn impossible_scenarios_are_refused() {
    check_refused(
        closed_model(2, 2),
        Protocol::Http1,
        "sessions of a scenario send one request at a time over HTTP/1.1: pipelining must be 1, not 2",
    );
    check_refused(
        closed_model(3, 1),
        Protocol::Http1,
        "feed 'rows' has 2 rows, but each of 3 users needs its own row",
    );
    // Without TLS it is HTTP/1.1.
    check_refused(
        closed_model(2, 2),
        Protocol::Auto,
        "sessions of a scenario send one request at a time over HTTP/1.1: pipelining must be 1, not 2",
    );
    check_refused(
        closed_model(1, 3),
        Protocol::Http2,
        "feed 'rows' has 2 rows, but each of 3 users needs its own row",
    );
}

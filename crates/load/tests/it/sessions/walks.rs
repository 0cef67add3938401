//! Walks over the pages of a list: how long they last, when they end, and what their requests ask for.

use std::sync::{Arc, Mutex};

use waggle_load::{
    Action, Capture, Extractor, Failure, Pattern, Repeat, Rounds, StepRequest, WhileCaptured,
};
use waggle_spec::{OnFailure, TimeKind};

use crate::support::{
    Ended, Reply, closed_model, run,
    scenarios::{capture, flow, job, json, request, scenario, step, text},
    shop::Shop,
};

const PAGES: usize = 4;

fn answer(head: &str, body: &str) -> Reply {
    let length = body.len();
    let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n{head}\r\n{body}");
    Reply::Answer(text.into_bytes())
}

/// A list of four pages. Each names the next one as `page` makes it of its number; the last names none.
fn start(page: fn(Option<usize>) -> Reply) -> (Shop, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let shop = Shop::start(move |request| {
        let path = request.head.split(' ').nth(1).unwrap().to_owned();
        let number: usize = path.rsplit('=').next().unwrap().parse().unwrap_or(0);
        seen.lock().unwrap().push(path);
        Some(page((number + 1 < PAGES).then_some(number + 1)))
    });
    (shop, asked)
}

fn optional(from: Extractor) -> Capture {
    Capture {
        is_optional: true,
        ..capture("next", from)
    }
}

/// Walks three times along `path`, in at most `max_rounds` rounds.
fn walk(
    shop: &Shop,
    (first, path): (&str, &str),
    from: Extractor,
    (max_rounds, on_limit): (u32, OnFailure),
) -> Ended {
    let page = StepRequest {
        captures: vec![optional(from)],
        ..step(0, &format!("GET {path}"))
    };
    let walk = Action::Repeat(Repeat {
        rounds: Rounds::While(WhileCaptured {
            variable: "next".to_owned(),
            first: text(first),
            max_rounds,
            on_limit,
        }),
        offset_step: 100,
        actions: vec![request(page)],
    });
    let scenario = scenario(1, vec![flow("walk", 1, vec![walk])], Vec::new());
    let mut job = job(shop.server.address, closed_model(1, 1), scenario);
    job.max_requests = Some(3 * u64::from(max_rounds.min(4)));
    let ended = run(job);
    ended.check_sums();
    ended
}

/// Three walks, each of all pages.
fn check(page: fn(Option<usize>) -> Reply, paths: (&str, &str), from: Extractor, asked: &[&str]) {
    let (shop, seen) = start(page);
    let ended = walk(&shop, paths, from, (100, OnFailure::EndSession));
    assert_eq!(ended.failures(), []);
    let sessions = ended.counts().sessions;
    assert_eq!((sessions.completed, sessions.failed), (3, 0));
    assert_eq!(*seen.lock().unwrap(), asked.repeat(3));
    let durations = ended.merge(|interval| &interval.times[TimeKind::Session]);
    let pages = ended.merge(|interval| &interval.times[TimeKind::Response]);
    assert_eq!((durations.len(), pages.len()), (3, 12));
    // A walk lasts at least as long as its slowest page.
    assert!(durations.max() >= pages.max());
}

#[test]
fn a_walk_ends_when_no_page_follows() {
    let tokens = |next: Option<usize>| match next {
        Some(next) => answer(
            "",
            &format!("{{\"metadata\": {{\"continue\": \"{next}\"}}}}"),
        ),
        None => answer("", "{\"metadata\": {}}"),
    };
    let path = ("", "/items?limit=5&continue={{next}}");
    let asked = [
        "/items?limit=5&continue=",
        "/items?limit=5&continue=1",
        "/items?limit=5&continue=2",
        "/items?limit=5&continue=3",
    ];
    check(tokens, path, json("$.metadata.continue"), &asked);

    let nulls = |next: Option<usize>| match next {
        Some(next) => answer("", &format!("{{\"next\": {next}}}")),
        None => answer("", "{\"next\": null}"),
    };
    let path = ("0", "/items?page={{next}}");
    let asked = [
        "/items?page=0",
        "/items?page=1",
        "/items?page=2",
        "/items?page=3",
    ];
    check(nulls, path, json("$.next"), &asked);

    let links = |next: Option<usize>| match next {
        Some(next) => {
            let link = format!("<http://shop/items?page={next}>; rel=\"next\"");
            answer(
                &format!("Link: </items>; rel=\"first\"\r\nLink: {link}\r\n"),
                "",
            )
        }
        None => answer("Link: </items>; rel=\"first\"\r\n", ""),
    };
    let from = Extractor::HeaderMatch {
        name: "link".to_owned(),
        pattern: Pattern::parse("<([^>]*)>; *rel=\"next\"").unwrap(),
        group: 1,
    };
    check(links, ("/items?page=0", "{{next}}"), from, &asked);
}

#[test]
fn offsets_and_rounds_grow_from_page_to_page() {
    let page = |next: Option<usize>| match next {
        Some(_) => answer("", "[1]"),
        None => answer("", "[]"),
    };
    let path = ("", "/items?offset={{offset}}&page={{round}}");
    // The server takes the last number as that of its page, which `round` is one ahead of.
    let asked = [
        "/items?offset=0&page=1",
        "/items?offset=100&page=2",
        "/items?offset=200&page=3",
    ];
    let (shop, seen) = start(page);
    let ended = walk(&shop, path, json("$[0]"), (3, OnFailure::EndSession));
    assert_eq!(ended.counts().sessions.completed, 3);
    assert_eq!(*seen.lock().unwrap(), asked.repeat(3));
}

#[test]
fn a_walk_without_an_end_fails_or_is_left() {
    let endless = |_: Option<usize>| answer("", "{\"next\": 0}");
    let run = |on_limit| {
        let (shop, seen) = start(endless);
        let ended = walk(
            &shop,
            ("", "/items?page={{next}}"),
            json("$.next"),
            (2, on_limit),
        );
        assert_eq!(seen.lock().unwrap().len(), 6);
        let durations = ended.merge(|interval| &interval.times[TimeKind::Session]);
        assert_eq!(durations.len(), ended.counts().sessions.completed);
        ended
    };
    let ended = run(OnFailure::EndSession);
    assert_eq!(ended.other_failures(), [(Failure::TooManyRounds, 3)]);
    assert_eq!(ended.failures(), []);
    assert_eq!(ended.counts().failed, 0, "each request succeeded");
    assert_eq!(ended.counts().sessions.failed, 3);
    let ended = run(OnFailure::Continue);
    assert_eq!(ended.failures(), []);
    assert_eq!(ended.counts().sessions.completed, 3);
}

#[test]
fn a_walk_may_go_on_from_what_was_captured_before() {
    let page = |next: Option<usize>| match next {
        Some(next) => answer("", &format!("{{\"next\": \"/items?page={next}\"}}")),
        None => answer("", "{\"next\": null}"),
    };
    let (shop, seen) = start(page);
    let step_of = |path: &str| StepRequest {
        captures: vec![optional(json("$.next"))],
        ..step(0, &format!("GET {path}"))
    };
    let walk = Action::Repeat(Repeat {
        rounds: Rounds::While(WhileCaptured {
            variable: "next".to_owned(),
            first: text("{{next}}"),
            max_rounds: 10,
            on_limit: OnFailure::EndSession,
        }),
        offset_step: 0,
        actions: vec![request(step_of("{{next}}"))],
    });
    let actions = vec![request(step_of("/items?page=0")), walk];
    let scenario = scenario(1, vec![flow("walk", 1, actions)], Vec::new());
    let mut job = job(shop.server.address, closed_model(1, 1), scenario);
    job.max_requests = Some(8);
    let ended = run(job);
    assert_eq!(ended.failures(), []);
    let asked = [
        "/items?page=0",
        "/items?page=1",
        "/items?page=2",
        "/items?page=3",
    ];
    assert_eq!(*seen.lock().unwrap(), asked.repeat(2));
}

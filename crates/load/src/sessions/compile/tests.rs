//! Scenarios that cannot run, and their error messages.

use std::time::Duration;

use waggle_spec::{FeedOrder, OnFailure};

use super::*;
use crate::{
    requests::expect::{BodyCheck, Expect},
    scenario::model::{
        Check, Condition, Extractor, Feed, Pattern, Repeat, Rounds, StepRequest, Subject,
        WhileCaptured,
    },
};

fn text(text: &str) -> Template {
    Template::parse(text).unwrap()
}

fn step(path: &str) -> StepRequest {
    StepRequest {
        step: 0,
        method: "GET".to_owned(),
        path: text(path),
        headers: Vec::new(),
        body: Template::default(),
        expect: Expect {
            status: Vec::new(),
            body: BodyCheck::Any,
        },
        checks: Vec::new(),
        captures: Vec::new(),
        on_failure: OnFailure::EndSession,
        timeout: None,
    }
}

fn request(path: &str) -> Action {
    Action::Request(Box::new(step(path)))
}

fn capture_action(variable: &str, from: Extractor) -> Action {
    Action::Request(Box::new(StepRequest {
        captures: vec![Capture {
            variable: variable.to_owned(),
            from,
            is_optional: false,
        }],
        ..step("/")
    }))
}

fn capture(variable: &str) -> Action {
    capture_action(variable, Extractor::Header("id".to_owned()))
}

fn repeat(times: u32, actions: Vec<Action>) -> Action {
    Action::Repeat(Repeat {
        rounds: Rounds::Times(times),
        offset_step: 0,
        actions,
    })
}

/// A scenario of one flow with one feed `f` of two columns, changed.
fn check_changed(actions: Vec<Action>, change: impl Fn(&mut Scenario), expected: &str) {
    let mut scenario = Scenario {
        host: "test".to_owned(),
        steps: vec!["a".to_owned()],
        flows: vec![Flow {
            name: "one".to_owned(),
            weight: 1,
            actions,
        }],
        feeds: vec![Feed {
            name: "f".to_owned(),
            columns: vec!["c".to_owned(), "d".to_owned()],
            rows: Rows::Listed(vec![vec!["1".to_owned(), "2".to_owned()]]),
            order: FeedOrder::Cycle,
        }],
        run: "r1".to_owned(),
        preparation: None,
    };
    change(&mut scenario);
    let message = scenario
        .check()
        .err()
        .map_or_else(String::new, |error| error.to_string());
    assert_eq!(message, expected);
}

fn check(actions: Vec<Action>, expected: &str) {
    check_changed(actions, |_| {}, expected);
}

#[test]
fn names_must_be_known_at_their_location() {
    check(
        vec![request("/{{f.c}}/{{session}}/{{user}}/{{random.uuid}}")],
        "",
    );
    check(vec![capture("id"), request("/{{id}}")], "");
    check(
        vec![request("/{{id}}"), capture("id")],
        "flow 'one', step 'a', path: nothing captures '{{id}}' before",
    );
    check(
        vec![request("/{{f.x}}")],
        "flow 'one', step 'a', path: '{{f.x}}': the feed has no column 'x'; it has 'c', 'd'",
    );
    check(
        vec![request("/{{g.c}}")],
        "flow 'one', step 'a', path: '{{g.c}}': there is no feed 'g'",
    );
    check(
        vec![request("/{{round}}")],
        "flow 'one', step 'a', path: '{{round}}' is outside of a loop",
    );
    check(vec![repeat(2, vec![request("/{{round}}")])], "");
    let in_check = Action::Request(Box::new(StepRequest {
        checks: vec![Check {
            of: Subject::Body,
            holds: Condition::Equals(text("{{id}}")),
        }],
        ..step("/")
    }));
    check(
        vec![in_check],
        "flow 'one', step 'a', check: nothing captures '{{id}}' before",
    );
    let two_flows = |scenario: &mut Scenario| {
        scenario.flows.push(Flow {
            name: "two".to_owned(),
            weight: 1,
            actions: vec![request("/{{id}}")],
        });
    };
    check_changed(
        vec![capture("id")],
        two_flows,
        "flow 'two', step 'a', path: '{{id}}' is captured elsewhere, but not before in this flow",
    );
}

#[test]
fn requests_must_be_http() {
    let check_step = |change: fn(&mut StepRequest), expected: &str| {
        let mut changed = step("/");
        change(&mut changed);
        check(vec![Action::Request(Box::new(changed))], expected);
    };
    check_step(
        |step| step.step = 1,
        "flow 'one': there is no step number 1",
    );
    check_step(
        |step| step.method = "GE T".to_owned(),
        "flow 'one', step 'a': 'GE T' is not a method",
    );
    check_step(
        |step| step.method = "CONNECT".to_owned(),
        "flow 'one', step 'a': CONNECT opens a tunnel instead of asking for a resource",
    );
    check_step(
        |step| step.path = text("x/"),
        "flow 'one', step 'a', path: it does not begin with '/'",
    );
    check_step(
        |step| step.path = text("/a b"),
        "flow 'one', step 'a', path: ' ' is not allowed in a path; percent-encode it",
    );
    check_step(
        |step| step.headers = vec![("Content-length".to_owned(), text("3"))],
        "flow 'one', step 'a', header 'Content-length': the engine writes this one itself",
    );
    check_step(
        |step| step.headers = vec![("X-A".to_owned(), text("a\r\nX-B: b"))],
        "flow 'one', step 'a', header 'X-A': control characters are not allowed in a header",
    );
    check_step(
        |step| step.headers = vec![("X A".to_owned(), text("a"))],
        "flow 'one', step 'a', header 'X A': this is not a header name",
    );
}

#[test]
fn stamps_of_checks_must_be_sent() {
    let check_stamp = |path: &str, wanted: &str, expected: &str| {
        let stamped = StepRequest {
            checks: vec![Check {
                of: Subject::Body,
                holds: Condition::Contains(text(wanted)),
            }],
            ..step(path)
        };
        check(vec![Action::Request(Box::new(stamped))], expected);
    };
    check_stamp("/{{record.key}}", "{{record.run}}-{{record.key}}", "");
    check_stamp("/{{record.time}}", "{{record.time}}", "");
    check_stamp(
        "/{{record.time}}",
        "{{record.key}}",
        "flow 'one', step 'a', check: '{{record.key}}' is in no part of the request of this step",
    );
    check_stamp(
        "/{{record.key}}",
        "{{record.time}}",
        "flow 'one', step 'a', check: '{{record.time}}' is in no part of the request of this step",
    );
    check(
        vec![request("/{{record.number}}")],
        "flow 'one', step 'a', path: '{{record.number}}': there is no feed 'record'",
    );
    check_changed(
        vec![request("/")],
        |scenario| scenario.run = "a b".to_owned(),
        "scenario: 'a b' is not an id of letters and digits",
    );
}

#[test]
fn flows_must_do_something() {
    check(Vec::new(), "flow 'one': it sends no request");
    check(
        vec![Action::Pause(Think::Fixed(Duration::ZERO))],
        "flow 'one': it sends no request",
    );
    check(
        vec![repeat(0, vec![request("/")])],
        "flow 'one': a repeat has 0 rounds",
    );
    check(
        vec![repeat(1, Vec::new())],
        "flow 'one': a repeat has no actions",
    );
    let mut deep = request("/");
    for _ in 0..=repeat::NESTED_MAX {
        deep = repeat(1, vec![deep]);
    }
    check(vec![deep], "flow 'one': more than 16 nested loops");
    let backwards = Think::Uniform {
        from: Duration::from_secs(2),
        to: Duration::from_secs(1),
    };
    check(
        vec![request("/"), Action::Pause(backwards)],
        "flow 'one': the longest think time is shorter than the shortest",
    );
    let check_flows = |change: fn(&mut Scenario), expected: &str| {
        check_changed(vec![request("/")], change, expected);
    };
    check_flows(
        |scenario| scenario.flows[0].weight = 0,
        "flow 'one': its weight is 0",
    );
    check_flows(
        |scenario| scenario.flows.clear(),
        "scenario: there is no flow",
    );
    check_flows(
        |scenario| scenario.host.clear(),
        "scenario: '' is not a host",
    );
    check_flows(
        |scenario| scenario.steps = (0..=STEPS_MAX).map(|step| step.to_string()).collect(),
        "scenario: 101 steps; at most 100 are allowed",
    );
    check_flows(
        |scenario| scenario.steps = vec!["a".to_owned(), "a".to_owned()],
        "scenario: two steps are called 'a'",
    );
}

#[test]
fn feeds_must_be_tables() {
    let check_feed = |change: fn(&mut Feed), expected: &str| {
        check_changed(
            vec![request("/")],
            |scenario| change(&mut scenario.feeds[0]),
            expected,
        );
    };
    check_feed(
        |feed| feed.rows = Rows::Listed(Vec::new()),
        "feed 'f': it has no rows",
    );
    check_feed(
        |feed| {
            feed.rows = Rows::Listed(vec![
                vec!["1".to_owned(), "2".to_owned()],
                vec!["1".to_owned()],
            ])
        },
        "feed 'f': row 1 (from 0) has 1 values for 2 columns",
    );
    check_feed(
        |feed| feed.name = "random".to_owned(),
        "feed 'random': a feed cannot be called 'random'",
    );
    check_feed(
        |feed| feed.columns[0] = "a.b".to_owned(),
        "feed 'f': a column cannot be called 'a.b'",
    );
    check_feed(
        |feed| feed.columns[0] = "d".to_owned(),
        "feed 'f': two columns are called 'd'",
    );
}

#[test]
fn captures_must_be_possible() {
    check(
        vec![capture("user")],
        "flow 'one', step 'a', capture of 'user': a variable cannot be called 'user'",
    );
    check(
        vec![capture("f.c")],
        "flow 'one', step 'a', capture of 'f.c': a variable cannot be called 'f.c'",
    );
    let pattern = Pattern::parse("a(b)").unwrap();
    let regex = |group| Extractor::Regex {
        pattern: pattern.clone(),
        group,
    };
    check(vec![capture_action("x", regex(1))], "");
    check(
        vec![capture_action("x", regex(2))],
        "flow 'one', step 'a', capture of 'x': there is no group 2; the pattern has 2, the whole match being 0",
    );
}

#[test]
fn patterns_and_paths_say_what_is_wrong() {
    let check = |result: Result<(), crate::scenario::model::SyntaxError>, expected: &str| {
        assert_eq!(result.unwrap_err().to_string(), expected);
    };
    check(
        Pattern::parse("a(b").map(drop),
        "not a regular expression: unclosed group",
    );
    check(
        crate::scenario::model::Query::parse("$.a[").map(drop),
        "not a JSONPath: parser error at byte 3",
    );
}

fn walk(first: &str, max_rounds: u32, actions: Vec<Action>) -> Action {
    Action::Repeat(Repeat {
        rounds: Rounds::While(WhileCaptured {
            variable: "next".to_owned(),
            first: text(first),
            max_rounds,
            on_limit: OnFailure::EndSession,
        }),
        offset_step: 10,
        actions,
    })
}

#[test]
fn the_variable_of_a_loop_is_known_in_it_and_after_it() {
    let actions = || vec![request("/{{next}}/{{round}}/{{offset}}"), capture("next")];
    check(vec![walk("", 5, actions()), request("/{{next}}")], "");
    check(vec![walk("{{f.c}}", 5, actions())], "");
    check(
        vec![walk("{{id}}", 5, actions())],
        "flow 'one', loop while 'next': nothing captures '{{id}}' before",
    );
    check(
        vec![request("/{{next}}"), walk("", 5, actions())],
        "flow 'one', step 'a', path: nothing captures '{{next}}' before",
    );
    check(
        vec![walk("", 0, actions())],
        "flow 'one': a repeat has 0 rounds",
    );
    check(
        vec![walk("", 1, actions()), request("/{{offset}}")],
        "flow 'one', step 'a', path: '{{offset}}' is outside of a loop with an offset",
    );
}

#[test]
fn a_walk_along_links_begins_with_a_path() {
    let actions = || vec![request("{{next}}"), capture("next")];
    const NO_PATH: &str = "scenario: a path begins with the variable of a loop, and its first value is not a path of this server";
    check(vec![walk("/items?limit=5", 5, actions())], "");
    check(vec![walk("http://test/items", 5, actions())], "");
    check(vec![walk("{{f.c}}", 5, actions())], "");
    check(vec![walk("", 5, actions())], NO_PATH);
    check(vec![walk("items", 5, actions())], NO_PATH);
    check(vec![walk("http://other/items", 5, actions())], NO_PATH);
}

//! Short constructors of scenarios for tests.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use waggle_load::{
    Action, Capture, Check, Condition, Expect, Extractor, Feed, Flow, Job, Query, Repeat, Rounds,
    Scenario, StepRequest, Subject, Template, What,
};
use waggle_spec::{FeedOrder, LoadModel, OnFailure};

pub(crate) fn text(text: &str) -> Template {
    Template::parse(text).unwrap()
}

/// A step: its number, and method and path.
pub(crate) fn step(step: usize, line: &str) -> StepRequest {
    let (method, path) = line.split_once(' ').unwrap();
    StepRequest {
        step,
        method: method.to_owned(),
        path: text(path),
        headers: Vec::new(),
        body: Template::default(),
        expect: Expect::default(),
        checks: Vec::new(),
        captures: Vec::new(),
        on_failure: OnFailure::EndSession,
        timeout: None,
    }
}

pub(crate) fn request(step: StepRequest) -> Action {
    Action::Request(Box::new(step))
}

/// A plain step.
pub(crate) fn plain(number: usize, line: &str) -> Action {
    request(step(number, line))
}

pub(crate) fn repeat(times: u32, actions: Vec<Action>) -> Action {
    Action::Repeat(Repeat {
        rounds: Rounds::Times(times),
        offset_step: 0,
        actions,
    })
}

pub(crate) fn capture(variable: &str, from: Extractor) -> Capture {
    Capture {
        variable: variable.to_owned(),
        from,
        is_optional: false,
    }
}

pub(crate) fn json(path: &str) -> Extractor {
    Extractor::Json(Query::parse(path).unwrap())
}

pub(crate) fn check_of(subject: Subject, holds: Condition) -> Check {
    Check { of: subject, holds }
}

pub(crate) fn flow(name: &str, weight: u32, actions: Vec<Action>) -> Flow {
    Flow {
        name: name.to_owned(),
        weight,
        actions,
    }
}

/// A feed with one column `name`, whose rows are `r0`, `r1` and so on.
pub(crate) fn feed(name: &str, rows: usize, order: FeedOrder) -> Feed {
    Feed {
        name: name.to_owned(),
        columns: vec!["name".to_owned()],
        rows: (0..rows).map(|row| vec![format!("r{row}")]).collect(),
        order,
    }
}

/// Steps are called `s0`, `s1` and so on.
pub(crate) fn scenario(steps: usize, flows: Vec<Flow>, feeds: Vec<Feed>) -> Scenario {
    Scenario {
        host: "shop".to_owned(),
        steps: (0..steps).map(|step| format!("s{step}")).collect(),
        flows,
        feeds,
        run: "r1".to_owned(),
        preparation: None,
    }
}

/// Logs in, lists its orders and gets the first of them.
pub(crate) fn shopping_scenario() -> Scenario {
    let login = StepRequest {
        body: text(r#"{"name": "u{{user}}", "session": {{session}}}"#),
        captures: vec![
            capture("token", json("$.token")),
            capture("sid", Extractor::Cookie("sid".to_owned())),
            capture("login", Extractor::Header("x-login".to_owned())),
        ],
        ..step(0, "POST /login")
    };
    let bearer = || vec![("Authorization".to_owned(), text("Bearer {{token}}"))];
    let list = StepRequest {
        headers: bearer(),
        captures: vec![capture("order", json("$.orders[0].id"))],
        checks: vec![check_of(
            Subject::Value(json("$.orders[1].id")),
            Condition::Equals(text("o-{{sid}}-2")),
        )],
        ..step(1, "GET /orders")
    };
    let order = StepRequest {
        headers: bearer(),
        body: text("{{login}} {{order}}"),
        ..step(2, "PUT /orders/{{order}}")
    };
    let actions = [login, list, order].map(request).into();
    scenario(3, vec![flow("buy", 1, actions)], Vec::new())
}

/// A job that runs a scenario.
pub(crate) fn job(address: SocketAddr, model: LoadModel, scenario: Scenario) -> Job {
    Job {
        what: What::Scenario(Arc::new(scenario)),
        interval: Duration::from_millis(200),
        ..super::job(address, model)
    }
}

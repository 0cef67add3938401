//! A checked scenario → what the load engine runs. Pure.

use std::{collections::BTreeMap, sync::Arc};

use waggle_load::{self as load, Pattern, Query, Template};
use waggle_study as study;
use waggle_study::{Action, CheckPart, Condition, Extractor, FeedRows, Step};

use crate::load::job;

/// What loads of a preparation kept, by the name of the load.
pub type Kept = BTreeMap<String, Arc<load::KeptRows>>;

/// The scenario in the load engine's form; `host` goes into the head of requests that have none, `run` marks the records. Rows of
/// `kept` that are not known yet have a word in each column.
///
/// # Panics
/// If the scenario was not checked by `waggle_study`, which refuses invalid templates and patterns.
#[must_use]
pub fn load_scenario(
    scenario: &study::Scenario,
    host: &str,
    run: &str,
    kept: &Kept,
) -> load::Scenario {
    load::Scenario {
        host: host.to_owned(),
        steps: scenario.steps.clone(),
        flows: scenario
            .flows
            .iter()
            .map(|flow| load::Flow {
                name: flow.name.clone(),
                weight: flow.weight,
                actions: actions(&flow.actions),
            })
            .collect(),
        feeds: scenario
            .feeds
            .iter()
            .map(|study_feed| feed(study_feed, kept))
            .collect(),
        run: run.to_owned(),
        preparation: None,
    }
}

fn feed(feed: &study::Feed, kept: &Kept) -> load::Feed {
    load::Feed {
        name: feed.name.clone(),
        columns: feed.rows.columns().into_iter().map(str::to_owned).collect(),
        rows: rows(&feed.rows, kept),
        order: feed.order,
    }
}

/// The rows of a feed; those of `kept` that are not known yet have a word in each column.
pub(crate) fn rows(rows: &FeedRows, kept: &Kept) -> load::Rows {
    match rows {
        FeedRows::Table(table) => load::Rows::Listed(table.rows.clone()),
        FeedRows::Made(rows) => load::Rows::Generated((**rows).clone()),
        FeedRows::Kept(rows) => load::Rows::Kept(kept_rows(rows, kept)),
    }
}

fn kept_rows(rows: &study::KeptRows, kept: &Kept) -> Arc<load::KeptRows> {
    kept.get(&rows.load).cloned().unwrap_or_else(|| {
        let mut row = load::KeptRows::new(rows.columns.len());
        row.push(rows.columns.iter().map(|_| &b"kept"[..]));
        Arc::new(row)
    })
}

fn actions(actions: &[Action]) -> Vec<load::Action> {
    actions.iter().map(load_action).collect()
}

fn load_action(action: &Action) -> load::Action {
    match action {
        Action::Request(step) => load::Action::Request(Box::new(request(step))),
        Action::Pause(think) => load::Action::Pause(*think),
        Action::Repeat {
            rounds,
            offset_step,
            actions,
        } => load::Action::Repeat(load::Repeat {
            rounds: self::rounds(rounds),
            offset_step: *offset_step,
            actions: self::actions(actions),
        }),
    }
}

fn rounds(rounds: &study::Rounds) -> load::Rounds {
    match rounds {
        study::Rounds::Times(times) => load::Rounds::Times(*times),
        study::Rounds::While(condition) => load::Rounds::While(load::WhileCaptured {
            variable: condition.variable.clone(),
            first: template(&condition.first),
            max_rounds: condition.max_rounds,
            on_limit: condition.on_limit,
        }),
    }
}

fn request(step: &Step) -> load::StepRequest {
    load::StepRequest {
        step: step.step,
        method: step.method.clone(),
        path: template(&step.path),
        headers: step
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), template(value)))
            .collect(),
        body: template(&step.body),
        expect: job::expect(&step.expect),
        checks: step.checks.iter().map(check).collect(),
        captures: step
            .captures
            .iter()
            .map(|capture| load::Capture {
                variable: capture.variable.clone(),
                from: source(&capture.from),
                is_optional: capture.is_optional,
            })
            .collect(),
        on_failure: step.on_failure,
        timeout: Some(step.timeout),
    }
}

fn check(check: &study::StepCheck) -> load::Check {
    load::Check {
        of: match &check.part {
            CheckPart::Status => load::Subject::Status,
            CheckPart::Body => load::Subject::Body,
            CheckPart::Value(extractor) => load::Subject::Value(source(extractor)),
        },
        holds: match &check.holds {
            Condition::Exists => load::Condition::Exists,
            Condition::Equals(text) => load::Condition::Equals(template(text)),
            Condition::Contains(text) => load::Condition::Contains(template(text)),
            Condition::Matches(text) => load::Condition::Matches(pattern(text)),
        },
    }
}

fn source(extractor: &Extractor) -> load::Extractor {
    match extractor {
        Extractor::Json(text) => {
            load::Extractor::Json(Query::parse(text).expect("a checked scenario's JSONPath is one"))
        }
        Extractor::Header(name) => load::Extractor::Header(name.clone()),
        Extractor::HeaderMatch {
            name,
            pattern,
            group,
        } => load::Extractor::HeaderMatch {
            name: name.clone(),
            pattern: self::pattern(pattern),
            group: *group,
        },
        Extractor::Regex { pattern, group } => load::Extractor::Regex {
            pattern: self::pattern(pattern),
            group: *group,
        },
        Extractor::Cookie(name) => load::Extractor::Cookie(name.clone()),
    }
}

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).expect("a checked scenario's regular expression is one")
}

fn template(text: &str) -> Template {
    Template::parse(text).expect("a checked scenario's variables are written right")
}

//! Answers by their status, as far as it is known: of a good answer, only that its status was one of those expected.

use std::collections::BTreeMap;

use waggle_load::{Action, What};
use waggle_results::{CountsRow, FailureCount, FailureKind, StepCounts};

use super::shape::Shape;

/// What good answers are called: of the request, or of each step of a scenario.
pub(crate) fn good(what: &What) -> Vec<String> {
    match what {
        What::Requests { expect, .. } => vec![expected_text(&expect.status)],
        What::Scenario(scenario) => {
            let mut names = vec![None; scenario.steps.len()];
            for flow in &scenario.flows {
                names_of(&flow.actions, &mut names);
            }
            names.into_iter().map(Option::unwrap_or_default).collect()
        }
    }
}

/// The answers of `row`; with a scenario those of its steps.
pub(crate) fn statuses(
    shape: &Shape,
    row: &CountsRow,
    steps: &[StepCounts],
) -> BTreeMap<String, u64> {
    let mut statuses = BTreeMap::new();
    if shape.steps.is_empty() {
        let good = shape.good_statuses.first().cloned().unwrap_or_default();
        add(&mut statuses, good, row.succeeded, &row.failures);
    }
    for (good, step) in shape.good_statuses.iter().zip(steps) {
        add(&mut statuses, good.clone(), step.succeeded, &step.failures);
    }
    statuses.retain(|_, count| *count > 0);
    statuses
}

fn add(
    statuses: &mut BTreeMap<String, u64>,
    good: String,
    succeeded: u64,
    failures: &[FailureCount],
) {
    *statuses.entry(good.clone()).or_default() += succeeded;
    for failure in failures {
        let status = match failure.kind {
            FailureKind::Status(status) => status.to_string(),
            // The status was the expected one.
            FailureKind::WrongBody
            | FailureKind::CheckFailed
            | FailureKind::NotCaptured
            | FailureKind::BodyNotKept => good.clone(),
            _ => continue,
        };
        *statuses.entry(status).or_default() += failure.count;
    }
}

/// `201`, `200/204`, `2xx`.
pub(crate) fn expected_text(status: &[u16]) -> String {
    match status {
        [] => "2xx".to_owned(),
        codes => codes
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("/"),
    }
}

/// What good answers to each step are called; requests that share a step and expect different ones have no better name
/// than `expected`.
fn names_of(actions: &[Action], names: &mut [Option<String>]) {
    for action in actions {
        match action {
            Action::Request(request) => {
                let name = expected_text(&request.expect.status);
                let known = &mut names[request.step];
                *known = Some(match known.take() {
                    Some(other) if other != name => "expected".to_owned(),
                    _ => name,
                });
            }
            Action::Repeat(repeat) => names_of(&repeat.actions, names),
            Action::Pause(_) => {}
        }
    }
}

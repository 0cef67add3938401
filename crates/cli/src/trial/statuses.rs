//! Answers by status. Of an expected answer the status itself is not known, only that it was one of the expected ones.

use std::collections::BTreeMap;

use waggle_load::{Action, What};
use waggle_results::{CountsRow, FailureCount, FailureKind, StepCounts};

use super::shape::Shape;

/// Labels of expected statuses: of the request, or of each step of a scenario.
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

/// The answers of `row`; with a scenario, those of its steps.
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
            // The status was an expected one.
            FailureKind::WrongBody
            | FailureKind::CheckFailed
            | FailureKind::NotCaptured
            | FailureKind::BodyNotKept
            | FailureKind::AnswerTruncated
            | FailureKind::InvalidEncoding
            | FailureKind::UnknownEncoding
            | FailureKind::NotJson
            | FailureKind::ArrayMissing => good.clone(),
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

/// Labels of expected statuses of each step. If requests of one step expect different ones, the label is `expected`.
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

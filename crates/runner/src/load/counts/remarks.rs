//! What a whole load showed, in words: its failures with an example of each kind, and why it ended.

use waggle_load::{Counts, Example, Failure, Outcome};
use waggle_system::{
    failure_kind::failure_kind, http::client::failure_in_words, secrets::words::Secrets,
};

use super::{StepFailures, step_failures::rows_in_words};

/// Most characters of an example that are shown.
const EXAMPLE_MAX: usize = 200;

/// All failures of a load in words, each with its reason if one is known: `12 × refused, 3 × malformed (such as head, line 1: …)`; empty
/// if there were none. What a server has said in its answers is left out, because secrets may be in it.
pub(crate) fn kinds(counts: &Counts, examples: &[Example]) -> String {
    let each = counts.failures.0.iter().chain(&counts.other_failures.0);
    let each: Vec<String> = each
        .map(|(failure, count)| kind_in_words(*failure, *count, examples))
        .collect();
    each.join(", ")
}

fn kind_in_words(failure: Failure, count: u64, examples: &[Example]) -> String {
    let words = format!("{count} × {}", failure_in_words(failure));
    let such_as = if count > 1 { "such as " } else { "" };
    let mut reasons = examples.iter().filter(|_| !failure.is_answer());
    match reasons.find(|example| example.failure == failure) {
        None => words,
        Some(example) => format!("{words} ({such_as}{})", example.text),
    }
}

/// The remarks of a trial on its load. `names` are those of steps; `secrets` are taken out of what the server said.
pub(crate) fn outcome_remarks(
    outcome: &Outcome,
    names: &[String],
    secrets: &Secrets,
) -> Vec<String> {
    let mut remarks = Vec::new();
    if outcome.totals.resent > 0 {
        remarks.push(format!(
            "requests that were sent again over a new connection, because the server closed the old one and had not processed them: {}",
            outcome.totals.resent
        ));
    }
    if outcome.totals.narrow_connections > 0 {
        remarks.push(format!(
            "connections on which the server takes fewer streams than pipelining asks for, so that fewer requests are in flight: {}",
            outcome.totals.narrow_connections
        ));
    }
    let failures = StepFailures {
        names,
        outcome,
        secrets,
    };
    let mismatches = failures.mismatches().into_iter();
    remarks.extend(mismatches.map(|mismatch| format!("over the whole load, {mismatch}")));
    let examples = outcome.examples.iter();
    remarks.extend(examples.map(|example| example_remark(example, names, secrets)));
    let feeds = outcome.feeds_used_up.iter();
    remarks.extend(feeds.map(|feed| format!("the rows of feed {feed} were used up")));
    if outcome.request_outcomes_full {
        remarks.push("the load ended because the limit on tracked records was reached".to_owned());
    }
    remarks
}

fn example_remark(example: &Example, names: &[String], secrets: &Secrets) -> String {
    let step = example.step.and_then(|step| names.get(step));
    let step = step.map_or(String::new(), |name| format!("step {name}, "));
    let kind = failure_kind(example.failure).in_words();
    // A secret that was cut through would not be found.
    let text = secrets.redact(&example.text);
    let shown = match text.char_indices().nth(EXAMPLE_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    let rows = match rows_in_words(&example.rows) {
        words if words.is_empty() => words,
        words => format!(" ({words})"),
    };
    format!("{step}{kind}, such as{rows}: {shown}")
}

#[cfg(test)]
mod tests {
    use waggle_load::{Failure, FeedRow};
    use waggle_study::{Origin, TakenValue};

    use super::*;

    #[test]
    fn an_example_is_shown_without_secrets_and_cut() {
        let secrets = Secrets::from_given(
            &[],
            &[TakenValue {
                origin: Origin::Variable("TOKEN".to_owned()),
                value: "hush-hush-hush".to_owned(),
            }],
        );
        let check = |text: String, expected: &str| {
            let example = Example {
                failure: Failure::Status(401),
                step: Some(1),
                rows: vec![FeedRow {
                    feed: "users".to_owned(),
                    row: 17,
                }],
                text,
            };
            let names = ["login".to_owned(), "list".to_owned()];
            let expected =
                format!("step list, status 401, such as (row 17 of feed users): {expected}");
            assert_eq!(example_remark(&example, &names, &secrets), expected);
        };
        check(
            "401 no hush-hush-hush".to_owned(),
            "401 no [secret env.TOKEN]",
        );
        let long = "µ".repeat(EXAMPLE_MAX - 4);
        let cut = format!("{long}[sec…");
        check(format!("{long}hush-hush-hush"), &cut);
    }
}

//! Failures of steps in words, with what an answer of each lacked.

use waggle_load::{Expected, Failure, FeedRow, Mismatch, Outcome, StepCounts};
use waggle_system::{http::client::failure_in_words, secrets::words::Secrets};

/// The longest value that is shown, in characters.
const VALUE_MAX: usize = 80;

/// The failures of a scenario's steps.
#[derive(Clone, Copy)]
pub(crate) struct StepFailures<'a> {
    /// Names of the steps.
    pub(crate) names: &'a [String],
    pub(crate) outcome: &'a Outcome,
    /// Removed from the values of answers.
    pub(crate) secrets: &'a Secrets,
}

impl StepFailures<'_> {
    /// Each step that is to be shown: `step login: 3 × check failed (such as json $.state: expected "on", found "off"), 1 ×
    /// status 503`.
    pub(crate) fn in_words(&self, is_shown: impl Fn(&StepCounts) -> bool) -> Vec<String> {
        let steps = self.steps();
        let shown = steps.filter(|(_, _, counts)| is_shown(counts));
        let failures = shown.map(|(step, name, counts)| match &counts.failures.0[..] {
            [] => format!("step {name}: not reached"),
            failures => format!("step {name}: {}", self.list(step, failures)),
        });
        failures.collect()
    }

    /// The failed checks and captures of each step that has any, in the same words.
    pub(crate) fn mismatches(&self) -> Vec<String> {
        let is_shown =
            |failure: Failure| matches!(failure, Failure::CheckFailed | Failure::NotCaptured);
        let mut lines = Vec::new();
        for (step, name, counts) in self.steps() {
            let failures = counts.failures.0.iter().copied();
            let shown: Vec<_> = failures.filter(|(failure, _)| is_shown(*failure)).collect();
            if !shown.is_empty() {
                lines.push(format!("step {name}: {}", self.list(step, &shown)));
            }
        }
        lines
    }

    /// Index, name and counts of each step.
    fn steps(&self) -> impl Iterator<Item = (usize, &String, &StepCounts)> {
        let steps = self.names.iter().zip(&self.outcome.steps).enumerate();
        steps.map(|(step, (name, counts))| (step, name, counts))
    }

    fn list(&self, step: usize, failures: &[(Failure, u64)]) -> String {
        let mut mismatches = self.outcome.mismatches.iter();
        let example = mismatches.find(|mismatch| mismatch.step == step);
        let phrases = failures
            .iter()
            .map(|(failure, count)| self.phrase(*failure, *count, example));
        phrases.collect::<Vec<_>>().join(", ")
    }

    fn phrase(&self, failure: Failure, count: u64, example: Option<&Mismatch>) -> String {
        let words = format!("{count} × {}", failure_in_words(failure));
        let is_of_kind = |mismatch: &&Mismatch| match mismatch.is_capture {
            true => failure == Failure::NotCaptured,
            false => failure == Failure::CheckFailed,
        };
        match example.filter(is_of_kind) {
            None => words,
            Some(example) => {
                let such_as = if count > 1 { "such as " } else { "" };
                let example = mismatch_in_words(example, self.secrets);
                format!("{words} ({such_as}{example})")
            }
        }
    }
}

fn mismatch_in_words(mismatch: &Mismatch, secrets: &Secrets) -> String {
    let value = |text: &String| value_in_words(text, secrets);
    let expected = match &mismatch.expected {
        Expected::Value => "a value".to_owned(),
        Expected::Link => "a link to a target of the load".to_owned(),
        Expected::Equal(text) => value(text),
        Expected::Containing(text) => format!("a value with {}", value(text)),
        Expected::Match(pattern) => format!("a match of {pattern}"),
    };
    let actual = mismatch.found.as_ref();
    let actual = actual.map_or_else(|| "none".to_owned(), value);
    let rows = match rows_in_words(&mismatch.rows) {
        words if words.is_empty() => words,
        words => format!("; {words}"),
    };
    format!(
        "{}: expected {expected}, found {actual}{rows}",
        mismatch.subject
    )
}

/// In quotation marks, cut after [`VALUE_MAX`] characters.
fn value_in_words(text: &str, secrets: &Secrets) -> String {
    let text = secrets.redact(text);
    match text.char_indices().nth(VALUE_MAX) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// `row 17 of feed users`; empty without rows. Values are left out: they may be secrets.
pub(super) fn rows_in_words(rows: &[FeedRow]) -> String {
    let each = rows
        .iter()
        .map(|FeedRow { feed, row }| format!("row {row} of feed {feed}"));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use waggle_load::{Expected, Mismatch};
    use waggle_study::{Origin, TakenValue};
    use waggle_system::secrets::words::Secrets;

    use super::{VALUE_MAX, mismatch_in_words};

    #[test]
    fn values_are_shown_without_secrets_and_cut() {
        let secrets = Secrets::from_given(
            &[],
            &[TakenValue {
                origin: Origin::Variable("TOKEN".to_owned()),
                value: "hush-\"hush\"".to_owned(),
            }],
        );
        let check = |expected: Expected, actual: Option<&str>, words: &str| {
            let mismatch = Mismatch {
                step: 0,
                is_capture: false,
                subject: "body".to_owned(),
                expected,
                found: actual.map(str::to_owned),
                rows: Vec::new(),
            };
            assert_eq!(mismatch_in_words(&mismatch, &secrets), words);
        };
        let equal = |text: &str| Expected::Equal(text.to_owned());
        check(
            equal("on"),
            Some("off"),
            r#"body: expected "on", found "off""#,
        );
        check(Expected::Value, None, "body: expected a value, found none");
        // As it is, and as JSON has it; at the end of a value that is cut.
        let hidden =
            r#"body: expected "[secret env.TOKEN]", found "{\"t\":\"[secret env.TOKEN]\"}""#;
        check(
            equal("hush-\"hush\""),
            Some(r#"{"t":"hush-\"hush\""}"#),
            hidden,
        );
        let long = "µ".repeat(VALUE_MAX - 3);
        let cut = format!("body: expected a value, found \"{long}[se\"…");
        check(Expected::Value, Some(&format!("{long}hush-\"hush\"")), &cut);
    }
}

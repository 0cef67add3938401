//! Failures of steps in words, with what the first answer of each lacked.

use waggle_load::{Expected, Mismatch, Outcome, StepCounts};

use super::kinds;
use crate::secrets::Secrets;

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
    /// Each step that fits: `step login: 3 × check failed (json $.state: expected "on", found "off")`.
    pub(crate) fn in_words(&self, is_shown: impl Fn(&StepCounts) -> bool) -> Vec<String> {
        let steps = self.names.iter().zip(&self.outcome.steps).enumerate();
        let shown = steps.filter(|(_, (_, counts))| is_shown(counts));
        let failures = shown.map(|(step, (name, counts))| {
            let failures = match counts.failures.0.is_empty() {
                true => "not reached".to_owned(),
                false => kinds(&counts.failures),
            };
            match self.mismatch(step) {
                Some(mismatch) => format!("step {name}: {failures} ({mismatch})"),
                None => format!("step {name}: {failures}"),
            }
        });
        failures.collect()
    }

    /// Of each step with one, the first check or capture that failed: `step login, first failed check: json $.state: expected "on",
    /// found "off"`.
    pub(crate) fn mismatches(&self) -> Vec<String> {
        let steps = self.names.iter().enumerate();
        let found = steps.filter_map(|(step, name)| {
            Some(format!(
                "step {name}, first failed check: {}",
                self.mismatch(step)?
            ))
        });
        found.collect()
    }

    fn mismatch(&self, step: usize) -> Option<String> {
        let mut all = self.outcome.mismatches.iter();
        let mismatch = all.find(|mismatch| mismatch.step == step)?;
        Some(mismatch_in_words(mismatch, self.secrets))
    }
}

fn mismatch_in_words(mismatch: &Mismatch, secrets: &Secrets) -> String {
    let value = |text: &String| {
        let text = secrets.redact(text);
        match text.char_indices().nth(VALUE_MAX) {
            Some((end, _)) => format!("{:?}…", &text[..end]),
            None => format!("{text:?}"),
        }
    };
    let expected = match &mismatch.expected {
        Expected::Value => "a value".to_owned(),
        Expected::Link => "a link to a target of the load".to_owned(),
        Expected::Equal(text) => value(text),
        Expected::Containing(text) => format!("a value with {}", value(text)),
        Expected::Match(pattern) => format!("a match of {pattern}"),
    };
    let found = mismatch.found.as_ref();
    let found = found.map_or_else(|| "none".to_owned(), value);
    format!("{}: expected {expected}, found {found}", mismatch.subject)
}

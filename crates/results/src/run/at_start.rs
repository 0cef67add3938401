//! What a study asked when its run began, as SHA-256: whether the report answers what was asked before there was a result.
//!
//! It keeps a question from being changed after the fact without notice. It is no seal: who edits `run.json` can write other sums, too.
//! A sum that is noted elsewhere before the run, as `waggle plan` prints it, is one.

use ring::digest::{Context, SHA256};
use waggle_spec::{Comparison, Threshold};

use crate::{AtStartInfo, RunInfo};

/// Digits of [`AtStartInfo::digest`]: 128 bits, short enough to be noted.
const DIGEST_DIGITS: usize = 32;

/// A part of what was fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixedPart {
    Question,
    Asks,
    Thresholds,
    StudyFile,
}

impl AtStartInfo {
    /// The sums of what a run asks as its files are now.
    #[must_use]
    pub fn of_run(info: &RunInfo, study_text: &str) -> Self {
        let conditions = info.search.iter().flat_map(|search| &search.conditions);
        let conditions = info.thresholds.iter().chain(conditions);
        Self::new(&info.question, &info.asks, conditions, study_text)
    }

    /// The sums of question and asks, thresholds and conditions, and the text of the study.
    #[must_use]
    pub fn new<'a>(
        question: &str,
        asks: &[Vec<String>],
        conditions: impl IntoIterator<Item = &'a Threshold>,
        study_text: &str,
    ) -> Self {
        let thresholds: Vec<String> = conditions.into_iter().map(condition).collect();
        let asks: Vec<String> = asks.iter().map(|path| path.join(".")).collect();
        Self {
            question: sum(&[question]),
            asks: sum(&asks),
            thresholds: sum(&thresholds),
            study: sum(&[study_text]),
        }
    }

    /// One sum of question, asks and thresholds, to be noted before a run.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut digest = sum(&[&self.question, &self.asks, &self.thresholds]);
        digest.truncate(DIGEST_DIGITS);
        digest
    }

    /// What is no longer as it was when these sums were made.
    #[must_use]
    pub fn changes(&self, now: &Self) -> Vec<FixedPart> {
        let parts = [
            (FixedPart::Question, self.question == now.question),
            (FixedPart::Asks, self.asks == now.asks),
            (FixedPart::Thresholds, self.thresholds == now.thresholds),
            (FixedPart::StudyFile, self.study == now.study),
        ];
        let changed = parts.into_iter().filter(|(_, is_same)| !is_same);
        changed.map(|(part, _)| part).collect()
    }
}

/// Written out, so that the sum does not depend on the form of `run.json`.
fn condition(threshold: &Threshold) -> String {
    let op = match threshold.op {
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
        Comparison::Equal => "==",
    };
    let metric = threshold.metric.join(".");
    format!("{}\n{metric} {op} {}", threshold.text, threshold.value)
}

/// SHA-256 of texts, each with its length before it.
fn sum(texts: &[impl AsRef<str>]) -> String {
    let mut sum = Context::new(&SHA256);
    for text in texts {
        let text = text.as_ref().as_bytes();
        sum.update(&(text.len() as u64).to_le_bytes());
        sum.update(text);
    }
    let bytes = sum.finish();
    let digits = bytes.as_ref().iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threshold(text: &str, value: f64) -> Threshold {
        Threshold {
            text: text.to_owned(),
            metric: vec!["response_time".to_owned(), "p99".to_owned()],
            op: Comparison::Less,
            value,
        }
    }

    #[test]
    fn sums_are_those_of_sha_256() {
        // Of no text, as the standard's authors publish it.
        let none: [&str; 0] = [];
        assert!(sum(&none).starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
        // The length keeps texts apart.
        assert_ne!(sum(&["ab", "c"]), sum(&["a", "bc"]));
    }

    #[test]
    fn what_was_changed_is_named() {
        let p99 = || threshold("p99 < 500ms", 500_000.0);
        let new = |question: &str, asks: &str, conditions: &[Threshold], text: &str| {
            AtStartInfo::new(question, &[vec![asks.to_owned()]], conditions, text)
        };
        let begun = new("how fast?", "goodput", &[p99()], "text");
        let check = |now: AtStartInfo, changed: &[FixedPart]| {
            assert_eq!(begun.changes(&now), changed);
            let is_same = changed.is_empty() || changed == [FixedPart::StudyFile];
            assert_eq!(begun.digest() == now.digest(), is_same);
        };
        use FixedPart::{Asks, Question, StudyFile, Thresholds};
        check(new("how fast?", "goodput", &[p99()], "text"), &[]);
        check(new("how fast?", "goodput", &[p99()], "other"), &[StudyFile]);
        check(new("why?", "goodput", &[p99()], "text"), &[Question]);
        check(
            new("how fast?", "error_rate", &[], "text"),
            &[Asks, Thresholds],
        );
        let looser = threshold("p99 < 500ms", 900_000.0);
        check(
            new("how fast?", "goodput", &[looser], "text"),
            &[Thresholds],
        );
        assert_eq!(begun.digest().len(), DIGEST_DIGITS);
    }
}

//! The closing text of a run, and formats of values on the screen.

use std::time::Duration;

use crate::output;
use waggle_analysis::{Decision, Model, ThresholdOutcome};
use waggle_report::{
    Written,
    wording::{answer, conditions, format, warnings},
};

/// Letters of a log's line that are shown.
const LOG_LINE_MAX: usize = 200;

/// `45.2k/s`.
pub(crate) fn rate(per_s: f64) -> String {
    format!("{}/s", format::plain(per_s))
}

/// `820 µs`, `12.4 ms`.
pub(crate) fn microseconds(us: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    format::time_us(us as f64)
}

/// `3.3 s`, `12 s`, `2 min 5 s`, `1 h 2 min`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let whole = duration.as_secs();
    match whole {
        _ if duration.is_zero() => "0 s".to_owned(),
        _ if seconds < 10.0 && duration.subsec_millis() > 0 => format!("{seconds:.1} s"),
        0..10 => format!("{whole} s"),
        10..100 => format!("{seconds:.0} s"),
        100..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// The closing text of a run: a row per cell, warnings, thresholds, the answer to the question, the path of the report.
pub(crate) fn closing_text(written: &Written) -> String {
    let model = &written.model;
    let mut parts = vec![waggle_report::terminal(model, output::width())];
    let warnings = warnings::sentences(model);
    parts.extend(warnings.iter().map(|warning| format!("note: {warning}")));
    parts.extend(doubts(model));
    parts.extend(last_words(model));
    parts.extend(model.thresholds.iter().map(threshold));
    parts.push(answer::sentences(model).join(" "));
    parts.push(written.html.display().to_string());
    parts.join("\n")
}

/// Whether a threshold holds; if not, in how many cells it does not or is undecided, and why in the first of them.
fn threshold(outcome: &ThresholdOutcome) -> String {
    let not: Vec<_> = outcome
        .cells
        .iter()
        .filter(|cell| cell.held == outcome.held && cell.held != Decision::Holds)
        .collect();
    let held = conditions::decision_label(outcome.held);
    let Some(first) = not.first() else {
        return format!("threshold {}: {held}", outcome.text);
    };
    let observed = first
        .observed
        .map(|observed| format!("it is {}", format::in_unit(observed, outcome.unit)));
    let reason = first.reason.as_ref();
    let reason = reason.map(|reason| conditions::shortcoming(reason, outcome.unit));
    let why: Vec<String> = observed.into_iter().chain(reason).collect();
    format!(
        "threshold {}: {held} in {} of {} cells; cell {}: {}",
        outcome.text,
        not.len(),
        outcome.cells.len(),
        first.cell,
        why.join(", ")
    )
}

/// What the log of a component says whose end failed a trial; of the first one that has a log.
fn last_words(model: &Model) -> Option<String> {
    let mut trials = model.trials.iter();
    trials.find_map(|trial| {
        let line = trial.failure.as_ref()?.log_line()?;
        let (cell, repetition) = (trial.key.cell, trial.key.repetition);
        let line: String = line.chars().take(LOG_LINE_MAX).collect();
        Some(format!(
            "note: the log in cell {cell}, repetition {repetition} says: {line}"
        ))
    })
}

/// How many cells have a doubt, and what helps.
fn doubts(model: &Model) -> Option<String> {
    let doubtful = model.doubtful();
    let cells = match (doubtful.cells, doubtful.of) {
        (_, 1) => "the only cell has".to_owned(),
        (1, of) => format!("1 of {of} cells has"),
        (cells, of) => format!("{cells} of {of} cells have"),
    };
    (doubtful.cells > 0).then(|| {
        let help = match model.info.imported {
            Some(_) => "more trials",
            None => "more trials, --idle-poll or an idle machine",
        };
        format!("note: {cells} doubts (see verdicts): {help} may help")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_say_them() {
        let check = |seconds, expected: &str| {
            assert_eq!(duration(Duration::from_secs_f64(seconds)), expected)
        };
        check(0.0, "0 s");
        check(3.0, "3 s");
        check(3.26, "3.3 s");
        check(12.4, "12 s");
        check(125.0, "2 min 5 s");
        check(3725.0, "1 h 2 min");
    }
}

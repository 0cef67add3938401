//! The closing text of a run.

use waggle_analysis::{Decision, Model, ThresholdOutcome};
use waggle_report::{
    Written,
    wording::{answer, conditions, format, warnings},
};

use crate::output;

/// Letters of a log's line that are shown.
const LOG_LINE_MAX: usize = 200;

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
    let (key, line) =
        trials.find_map(|trial| Some((trial.info.key, trial.failure.as_ref()?.log_line()?)))?;
    let line: String = line.chars().take(LOG_LINE_MAX).collect();
    Some(format!(
        "note: the log in cell {}, repetition {} says: {line}",
        key.cell, key.repetition
    ))
}

/// How many cells have a doubt, and what helps.
fn doubts(model: &Model) -> Option<String> {
    let doubtful = model.doubtful();
    if doubtful.cells == 0 {
        return None;
    }
    let cells = match (doubtful.cells, doubtful.of) {
        (_, 1) => "the only cell has".to_owned(),
        (1, total) => format!("1 of {total} cells has"),
        (cells, total) => format!("{cells} of {total} cells have"),
    };
    let help = match model.info.imported {
        Some(_) => "more trials",
        None => "more trials, --idle-poll or an idle machine",
    };
    Some(format!(
        "note: {cells} doubts (see verdicts): {help} may help"
    ))
}

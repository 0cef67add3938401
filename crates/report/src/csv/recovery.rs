//! The columns of recovery, in runs whose load falls.

use waggle_stats::Recovery;

use super::number;
use waggle_analysis::{Model, TrialModel, TrialRecovery};

/// What a column holds for a trial that was looked at.
type Column = fn(&TrialRecovery) -> String;

/// A time that is not known is no number: how long it was looked for stands in a column of its own.
const COLUMNS: [(&str, Column); 3] = [
    ("recovered", |trial| trial.at_s().is_some().to_string()),
    ("recovery_s", |trial| match trial.outcome {
        Recovery::After(after_s) => number(after_s),
        Recovery::NotWithin(_) => String::new(),
    }),
    ("recovery_looked_for_s", |trial| {
        number(trial.fall.recovery.at_most_s)
    }),
];

pub(super) fn heads(model: &Model) -> Vec<String> {
    let falls = model.info.schedule.recovery.is_some();
    let columns = COLUMNS.iter().filter(|_| falls);
    columns.map(|(name, _)| (*name).to_owned()).collect()
}

pub(super) fn fields(model: &Model, trial: &TrialModel) -> Vec<String> {
    let falls = model.info.schedule.recovery.is_some();
    let columns = COLUMNS.iter().filter(|_| falls);
    columns
        .map(|(_, field)| trial.recovery.as_ref().map(field).unwrap_or_default())
        .collect()
}

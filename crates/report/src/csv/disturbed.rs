//! The columns of what was killed, in runs where something was.

use super::{kinds, number};
use waggle_analysis::{Model, TrialDisturbed, TrialModel};

/// What a column holds for a trial that was disturbed.
type Column = fn(&TrialDisturbed) -> String;

const COLUMNS: [(&str, Column); 6] = [
    ("killed", |disturbed| {
        let names = disturbed.disturbances.iter().map(|of| of.name());
        names.collect::<Vec<_>>().join(" ")
    }),
    ("killed_s", |disturbed| {
        let instants = disturbed.disturbances.iter();
        let instants = instants.map(|of| number(of.killed_s));
        instants.collect::<Vec<_>>().join(" ")
    }),
    // The longest, where several were killed; nothing where one did not come back.
    ("ready_again_after_s", |disturbed| {
        let each = disturbed.disturbances.iter();
        let each: Option<Vec<f64>> = each.map(|of| Some(of.ready_s? - of.killed_s)).collect();
        let longest = each.and_then(|each| each.into_iter().reduce(f64::max));
        longest.map(number).unwrap_or_default()
    }),
    ("longest_without_success_s", |disturbed| {
        let silence = disturbed.silence;
        silence
            .map(|silence| number(silence.us / 1e6))
            .unwrap_or_default()
    }),
    ("failed_in_load", |disturbed| disturbed.failed.to_string()),
    ("failures_in_load", |disturbed| kinds(&disturbed.failures)),
];

pub(super) fn heads(model: &Model) -> Vec<String> {
    let columns = COLUMNS.iter().filter(|_| !model.disturbed.is_empty());
    columns.map(|(name, _)| (*name).to_owned()).collect()
}

pub(super) fn fields(model: &Model, trial: &TrialModel) -> Vec<String> {
    let columns = COLUMNS.iter().filter(|_| !model.disturbed.is_empty());
    let disturbed = trial.disturbed.as_ref();
    columns
        .map(|(_, field)| disturbed.map(field).unwrap_or_default())
        .collect()
}

//! The loads that prepared a system, trial by trial.

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::{place, time_quantiles},
    words::format::{self, Unit},
};

use waggle_analysis::{CellModel, Model, TrialModel, TrialPercentiles, TrialPrepareLoad};
use waggle_results::PrepareStepInfo;

/// A load of one trial.
#[derive(Clone, Copy)]
struct Row<'a> {
    cell: &'a CellModel,
    trial: &'a TrialModel,
    load: &'a TrialPrepareLoad,
}

/// One step of a load.
struct StepRow<'a> {
    of: Row<'a>,
    step: &'a PrepareStepInfo,
    times: Option<&'a TrialPercentiles>,
}

/// A row for each load of each trial that prepared its system. `None`: there is none.
pub(crate) fn preparations(model: &Model) -> Option<Table> {
    let mut columns = place(model, |row: &Row<'_>| row.cell);
    columns.extend([
        Column::numbers("repetition", |row: &Row<'_>| {
            Field::plain(row.trial.info.key.repetition.to_string())
        }),
        Column::words("load", |row: &Row<'_>| Field::plain(&row.load.info.name)),
        Column::numbers("sessions", sessions),
        Column::numbers("time", |row: &Row<'_>| {
            Field::plain(Unit::Time.show(row.load.info.seconds * 1e6))
        }),
        Column::numbers("sessions/s", |row: &Row<'_>| {
            let rate = row.load.sessions_per_s();
            Field::optional(rate.map(|rate| Unit::Plain.show(rate)))
        }),
        Column::numbers("requests/s", |row: &Row<'_>| {
            let rate = row.load.goodput_per_s();
            Field::optional(rate.map(|rate| Unit::Plain.show(rate)))
        }),
    ]);
    columns.extend(time_quantiles(|row: &Row<'_>| row.load.response.as_ref()));
    columns.extend([
        Column::numbers("errors", |row: &Row<'_>| {
            Field::nothing_expected(row.load.info.counts.failed)
        }),
        Column::numbers("retries", |row: &Row<'_>| {
            Field::nothing_expected(row.load.info.retries)
        }),
    ]);
    let caption = "Each load that prepared a system. An error is a request that failed; its session sent it again, or gave up";
    Table::new("preparations", caption, columns, all_rows(model)).unless_empty()
}

/// The same by step; `None` if no load has two.
pub(crate) fn prepare_steps(model: &Model) -> Option<Table> {
    let mut rows = Vec::new();
    for row in all_rows(model) {
        let steps = row.load.info.steps.iter().zip(&row.load.steps);
        rows.extend(steps.map(|(step, times)| StepRow {
            of: row,
            step,
            times: times.as_ref(),
        }));
    }
    rows.retain(|row| row.of.load.info.steps.len() > 1);
    let mut columns = place(model, |row: &StepRow<'_>| row.of.cell);
    columns.extend([
        Column::numbers("repetition", |row: &StepRow<'_>| {
            Field::plain(row.of.trial.info.key.repetition.to_string())
        }),
        Column::words("load", |row: &StepRow<'_>| {
            Field::plain(&row.of.load.info.name)
        }),
        Column::words("step", |row: &StepRow<'_>| Field::plain(&row.step.name)),
        Column::numbers("requests", |row: &StepRow<'_>| {
            Field::count(row.step.counts.succeeded)
        }),
    ]);
    columns.extend(time_quantiles(|row: &StepRow<'_>| row.times));
    columns.push(Column::numbers("errors", |row: &StepRow<'_>| {
        Field::nothing_expected(row.step.counts.failed)
    }));
    Table::new("prepare-steps", "The same by step", columns, rows).unless_empty()
}

fn all_rows(model: &Model) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for trial in &model.trials {
        let Some(cell) = model.cell(trial.info.key.cell) else {
            continue;
        };
        let preparation = trial.preparation.iter();
        let loads = preparation.flat_map(|setup| &setup.loads);
        rows.extend(loads.map(|load| Row { cell, trial, load }));
    }
    rows
}

/// How many sessions were completed; next to it those that the system had before, or that are missing.
fn sessions(row: &Row<'_>) -> Field {
    let info = &row.load.info;
    let wanted = info.sessions - info.done_before.min(info.sessions);
    let preparation = row.trial.preparation.as_ref();
    let snapshot = preparation.and_then(|setup| setup.snapshot.as_ref());
    if snapshot.is_some_and(|snapshot| snapshot.is_reused) {
        return Field::count(info.completed).with_aside("of the snapshot".to_owned());
    }
    let before = match info.done_before {
        0 => None,
        before => Some(format!("{} before", format::count(before))),
    };
    let missing = (info.completed < wanted).then(|| format!("of {}", format::count(wanted)));
    Field::count(info.completed).with_aside(missing.or(before))
}

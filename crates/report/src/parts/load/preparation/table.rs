//! The loads that prepared a system, trial by trial.

use crate::{
    layout::table::{Column, Field, Table},
    parts::{
        columns::time_quantiles,
        load::side_load::{self, Row, goodput, identity},
    },
    words::format::{self, Unit},
};

use waggle_analysis::{Model, TrialPercentiles};
use waggle_results::{FillInfo, LoadStepInfo};
use waggle_spec::LoadRole;

/// One step of a load.
struct StepRow<'a> {
    of: Row<'a>,
    step: &'a LoadStepInfo,
    times: Option<&'a TrialPercentiles>,
}

/// A row for each load of each trial that prepared its system. `None`: there is none.
pub(crate) fn preparations(model: &Model) -> Option<Table> {
    let mut columns = identity(model, |row: &Row<'_>| *row);
    columns.extend([
        Column::numbers("sessions", sessions),
        Column::numbers("time", |row: &Row<'_>| {
            Field::plain(Unit::Time.show(row.load.info.counts.seconds * 1e6))
        }),
        Column::numbers("sessions/s", |row: &Row<'_>| {
            let rate = row.load.sessions_per_s();
            Field::optional(rate.map(|rate| Unit::Plain.show(rate)))
        }),
        goodput(),
    ]);
    columns.extend(time_quantiles(|row: &Row<'_>| row.load.response.as_ref()));
    columns.extend([
        Column::numbers("errors", |row: &Row<'_>| {
            Field::nothing_expected(row.load.info.counts.failed)
        }),
        Column::numbers("retries", |row: &Row<'_>| {
            Field::nothing_expected(fill(row).retries)
        }),
    ]);
    let caption = "Each load that prepared a system. An error is a request that failed; its session sent it again, or gave up";
    Table::new(
        "preparations",
        caption,
        columns,
        side_load::rows(model, LoadRole::Preparation),
    )
    .unless_empty()
}

/// The same by step; `None` if no load has two.
pub(crate) fn prepare_steps(model: &Model) -> Option<Table> {
    let mut rows = Vec::new();
    for row in side_load::rows(model, LoadRole::Preparation) {
        let steps = row.load.info.steps.iter().zip(&row.load.steps);
        rows.extend(steps.map(|(step, times)| StepRow {
            of: row,
            step,
            times: times.as_ref(),
        }));
    }
    rows.retain(|row| row.of.load.info.steps.len() > 1);
    let mut columns = identity(model, |row: &StepRow<'_>| row.of);
    columns.extend([
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

/// How many sessions were completed; next to it those that the system had before, or that are missing.
fn sessions(row: &Row<'_>) -> Field {
    let info = fill(row);
    let wanted = info.sessions - info.done_before.min(info.sessions);
    let preparation = row.trial.info.preparation.as_ref();
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

/// Every load that fills a system has it.
fn fill(row: &Row<'_>) -> FillInfo {
    row.load.info.fill.unwrap_or_default()
}

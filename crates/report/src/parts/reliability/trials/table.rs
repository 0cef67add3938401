//! Every trial, with its main metrics.

use waggle_analysis::{
    CellModel, Model, TrialModel, TrialNumbers, TrialPercentile, TrialPercentiles,
};
use waggle_results::LedgerInfo;
use waggle_spec::TimeKind;

use crate::{
    layout::table::{Column, Field, Table},
    parts::{
        capacity::search::words::level,
        columns::{per_second, place},
        over_time::faults,
        reliability::trial_pages::section::anchor,
    },
    words::{
        format::{self, Unit},
        labels,
    },
};

/// A trial and its cell.
type Row<'a> = (&'a CellModel, &'a TrialModel);

/// One row a trial.
pub(crate) fn trials(model: &Model) -> Table {
    let mut columns = place(model, |(cell, _): &Row<'_>| *cell);
    columns.push(Column::numbers("repetition", |(_, trial): &Row<'_>| {
        Field::plain(trial.info.key.repetition.to_string())
    }));
    if let Some(search) = &model.search {
        columns.push(Column::numbers("level", |(_, trial): &Row<'_>| {
            Field::optional(
                trial
                    .info
                    .level
                    .map(|value| level(search.info.maximize, value)),
            )
        }));
        if search.info.operating_points.is_some() {
            columns.push(Column::numbers("of capacity", |(_, trial): &Row<'_>| {
                let share = search.info.operating_share(trial.info.key.repetition);
                Field::optional(share.map(format::set_share))
            }));
        }
    }
    columns.extend([
        Column::numbers("position", |(_, trial): &Row<'_>| {
            Field::plain(trial.info.position.to_string())
                .with_href(Some(format!("#{}", anchor(trial.info.key))))
        }),
        Column::words("verdict", |(_, trial): &Row<'_>| {
            Field::verdict(labels::verdict(trial.verdict))
        }),
        Column::numbers(
            per_second(model.counted),
            number(|numbers| Field::plain(format::plain(numbers.goodput_per_s))),
        ),
        Column::numbers("p50", time(|times| times.p50.as_ref())),
        Column::numbers("p99", time(|times| times.p99.as_ref())),
        Column::numbers("max", time(|times| times.max.as_ref())),
        Column::numbers(
            "errors",
            number(|numbers| Field::nothing_expected(numbers.counts.failed)),
        ),
        Column::numbers(
            "delivered",
            of_ledger(|ledger| Field::count(ledger.delivered)),
        ),
        Column::numbers(
            "missing",
            of_ledger(|ledger| Field::nothing_expected(ledger.missing)),
        ),
    ]);
    if !model.faults.is_empty() {
        columns.push(Column::words("fault", |(_, trial): &Row<'_>| {
            faults::table::fault_field(trial.faults.as_ref())
        }));
    }
    let rows = model.trials.iter().filter_map(|trial| {
        let mut cells = model.cells.iter();
        Some((cells.find(|cell| cell.cell == trial.info.key.cell)?, trial))
    });
    Table::new("trials", caption(model), columns, rows)
}

fn caption(model: &Model) -> String {
    let mut caption =
        "Every trial over its measured phase; position is its place in the order of execution"
            .to_owned();
    if !model.faults.is_empty() {
        caption.push_str(
            "; fault is what was done to what, and when until all was ready again, from the start of the measured phase",
        );
    }
    caption
}

fn number(field: fn(&TrialNumbers) -> Field) -> impl Fn(&Row<'_>) -> Field {
    move |(_, trial)| trial.numbers.as_ref().map_or_else(Field::empty, field)
}

fn of_ledger(field: fn(&LedgerInfo) -> Field) -> impl Fn(&Row<'_>) -> Field {
    move |(_, trial)| trial.info.ledger.as_ref().map_or_else(Field::empty, field)
}

fn time(pick: fn(&TrialPercentiles) -> Option<&TrialPercentile>) -> impl Fn(&Row<'_>) -> Field {
    move |(_, trial)| {
        let numbers = trial.numbers.as_ref();
        let times = numbers.and_then(|numbers| numbers.times[TimeKind::Response].as_ref());
        times.and_then(pick).map_or_else(Field::empty, time_field)
    }
}

fn time_field(percentile: &TrialPercentile) -> Field {
    let field = Field::plain(Unit::Time.show(percentile.us));
    match &percentile.thin {
        Some(reason) => field.thin(reason),
        None => field,
    }
}

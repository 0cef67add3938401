//! What was killed, and what came of it. The table is not there where nothing was.

use waggle_results::{FailureKind, LedgerInfo};

use super::columns::{place, summed_over};
use crate::{
    table::{Column, Field, Table},
    text::{self, NONE, Unit},
};
use waggle_analysis::{CellDisturbed, CellModel, Kill, Model, TrialDisturbed};

/// One kill of one cell.
struct Row<'a> {
    cell: &'a CellModel,
    kill: &'a Kill,
    /// What belongs to the cell stands in its first row.
    of_cell: Option<&'a CellDisturbed>,
}

/// A row for each kill of each cell. `None` also where all trials in which something was killed failed, or no level of a search holds:
/// the table of trials has what was down.
pub(crate) fn disturbances(model: &Model) -> Option<Table> {
    let mut rows = Vec::new();
    for disturbed in &model.disturbed {
        let mut cells = model.cells.iter();
        let cell = cells.find(|cell| cell.cell == disturbed.cell)?;
        let kills = disturbed.kills.iter().enumerate();
        rows.extend(kills.map(|(number, kill)| Row {
            cell,
            kill,
            of_cell: (number == 0).then_some(disturbed),
        }));
    }
    let caption = format!(
        "What was killed, counted from the start of the measured phase; how long until it was ready again, and the longest time \
         without a success from the kill to the phase's end, in whole intervals, each the longest of all trials; failed requests, \
         failed attempts to connect and records of the whole load, summed over {}",
        summed_over(model)
    );
    let mut columns = place(model, |row: &Row<'_>| row.cell);
    columns.extend([
        Column::words("killed", |row: &Row<'_>| Field::plain(&*row.kill.replica)),
        // It was asked for: an interval around it would only say how well waggle keeps time.
        Column::numbers("at", |row: &Row<'_>| {
            let at = row.kill.at_us.as_ref();
            Field::optional(at.map(|at| Unit::Time.show(at.point)))
        }),
        Column::numbers("ready again after", |row: &Row<'_>| {
            Field::estimate(row.kill.ready_after_us.as_ref(), Unit::Time)
        }),
        Column::numbers("longest without a success", of_cell(silence)),
        Column::numbers("failed requests", of_cell(failed_requests)),
        Column::numbers("failed to connect", of_cell(failed_attempts)),
    ]);
    columns.extend(of_records());
    Table::new("disturbances", caption, columns, rows).unless_empty()
}

fn of_records<'a>() -> [Column<'a, Row<'a>>; 6] {
    let of = |field: fn(&LedgerInfo) -> Field| {
        move |row: &Row<'_>| {
            let ledger = row.cell.ledger.as_ref().filter(|_| row.of_cell.is_some());
            ledger.map_or_else(Field::empty, field)
        }
    };
    [
        Column::numbers(
            "rejected, yet there",
            of(|ledger| Field::nothing_expected(ledger.rejected_delivered)),
        ),
        Column::numbers("unknown", of(|ledger| Field::count(ledger.unknown))),
        Column::numbers(
            "unknown, there",
            of(|ledger| Field::count(ledger.unknown_delivered)),
        ),
        Column::numbers(
            "missing",
            of(|ledger| Field::nothing_expected(ledger.missing)),
        ),
        Column::numbers(
            "duplicates",
            of(|ledger| Field::nothing_expected(ledger.duplicates)),
        ),
        Column::numbers(
            "unexpected",
            of(|ledger| Field::nothing_expected(ledger.unexpected)),
        ),
    ]
}

fn of_cell(field: fn(&CellDisturbed) -> Field) -> impl Fn(&Row<'_>) -> Field {
    move |row| row.of_cell.map_or_else(Field::empty, field)
}

fn silence(disturbed: &CellDisturbed) -> Field {
    let silence = Field::estimate(disturbed.silence_us.as_ref(), Unit::Time);
    if !disturbed.silence_to_the_end {
        return silence;
    }
    // Nobody saw its end.
    let ends = silence.side_note().map(|ends| ends.into_owned());
    Field::plain(format!("≥ {}", silence.text())).with_aside(ends)
}

fn failed_requests(disturbed: &CellDisturbed) -> Field {
    let kinds = disturbed.failures.iter();
    by_kind(
        disturbed.failed,
        kinds.filter(|(kind, _)| !kind.is_connect_attempt()),
    )
}

fn failed_attempts(disturbed: &CellDisturbed) -> Field {
    let kinds = || {
        let kinds = disturbed.failures.iter();
        kinds.filter(|(kind, _)| kind.is_connect_attempt())
    };
    by_kind(kinds().map(|(_, count)| count).sum(), kinds())
}

/// A count, and in small letters what it is made of.
fn by_kind<'a>(all: u64, kinds: impl Iterator<Item = &'a (FailureKind, u64)>) -> Field {
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{} {}", text::count(*count), kind.in_words()))
        .collect();
    Field::count(all).with_aside((!kinds.is_empty()).then(|| kinds.join(", ")))
}

/// What was down in a trial, and from when until when: `orders-0 5.00 s to 7.63 s`.
pub(super) fn fault_field(disturbed: Option<&TrialDisturbed>) -> Field {
    let one = |of: &waggle_results::DisturbanceInfo| {
        let at = |seconds: f64| Unit::Time.show(seconds * 1e6);
        let until = of.ready_s.map_or_else(|| NONE.to_owned(), at);
        format!("{} {} to {until}", of.name(), at(of.killed_s))
    };
    disturbed.map_or_else(Field::empty, |disturbed| {
        let all: Vec<String> = disturbed.disturbances.iter().map(one).collect();
        Field::plain(all.join(", "))
    })
}

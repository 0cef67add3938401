//! The account of records, and how late they came: a row for each cell, or for each place on the records' way.

use waggle_results::LedgerInfo;

use super::columns::{MAX, P50, P90, P99, percentiles, place, summed_over};
use crate::{
    table::{Column, Field, Table},
    text::{NONE, Unit},
};
use waggle_analysis::{CellModel, Distribution, Model, Percentile};

/// One place of one cell.
struct AtPlace<'a> {
    cell: &'a CellModel,
    name: &'a str,
    ledger: Option<&'a LedgerInfo>,
    delay: &'a Distribution,
    arrival: &'a Distribution,
    resolution_ms: Option<f64>,
}

/// Every place of a cell, the last one last.
fn places<'a>(model: &'a Model, cell: &'a CellModel) -> Vec<AtPlace<'a>> {
    let before = cell.on_the_way.iter().map(|place| AtPlace {
        cell,
        name: &place.name,
        ledger: Some(&place.ledger),
        delay: &place.delay,
        arrival: &place.arrival,
        resolution_ms: Some(place.resolution_ms),
    });
    let last = AtPlace {
        cell,
        name: model.info.delivery_at.as_deref().unwrap_or(NONE),
        ledger: cell.ledger.as_ref(),
        delay: &cell.delay,
        arrival: &cell.arrival,
        resolution_ms: cell.delay_resolution_ms,
    };
    before.chain([last]).collect()
}

/// Where a row belongs; with the place where there are several.
fn columns(model: &Model) -> Vec<Column<'_, AtPlace<'_>>> {
    let mut columns = place(model, |at: &AtPlace<'_>| at.cell);
    if has_places(model) {
        columns.push(Column::words("place", |at: &AtPlace<'_>| {
            Field::plain(at.name)
        }));
    }
    columns
}

fn has_places(model: &Model) -> bool {
    model.cells.iter().any(|cell| !cell.on_the_way.is_empty())
}

fn all_rows(model: &Model) -> impl Iterator<Item = AtPlace<'_>> {
    model.cells.iter().flat_map(|cell| places(model, cell))
}

/// A column of the account.
struct Kind {
    head: &'static str,
    /// As conditions name it: `delivery.missing`.
    name: &'static str,
    meaning: &'static str,
    field: fn(&LedgerInfo) -> Field,
}

/// The first four add up, and so do accepted, delivered and missing; what is there all the same stands behind them.
const KINDS: [Kind; 12] = [
    Kind {
        head: "sent",
        name: "sent",
        meaning: "in requests that were sent",
        field: |ledger| Field::count(ledger.sent),
    },
    Kind {
        head: "accepted",
        name: "accepted",
        meaning: "answered with success: from here on the system answers for it",
        field: |ledger| Field::count(ledger.accepted),
    },
    Kind {
        head: "rejected",
        name: "rejected",
        meaning: "answered with an error: the client was told no",
        field: |ledger| Field::nothing_expected(ledger.rejected),
    },
    Kind {
        head: "unknown",
        name: "unknown",
        meaning: "no whole answer came, or one that says neither: the client does not know",
        field: |ledger| Field::nothing_expected(ledger.unknown),
    },
    Kind {
        head: "delivered",
        name: "delivered",
        meaning: "accepted, and there in the end",
        field: |ledger| Field::count(ledger.delivered),
    },
    Kind {
        head: "missing",
        name: "missing",
        meaning: "accepted, and not there in the end: lost",
        field: |ledger| Field::nothing_expected(ledger.missing),
    },
    Kind {
        head: "rejected, yet there",
        name: "rejected_delivered",
        meaning: "done although the client was told no: sent again, it may stand there twice",
        field: |ledger| Field::nothing_expected(ledger.rejected_delivered),
    },
    Kind {
        head: "unknown, there",
        name: "unknown_delivered",
        meaning: "done without a clear answer; the other unknown ones are not there",
        field: |ledger| Field::count(ledger.unknown_delivered),
    },
    Kind {
        head: "duplicates",
        name: "duplicates",
        meaning: "copies beyond the first, whatever the answer was: doubled",
        field: |ledger| Field::nothing_expected(ledger.duplicates),
    },
    Kind {
        head: "unexpected",
        name: "unexpected",
        meaning: "the rejected ones that are there, and what is there without having been sent",
        field: |ledger| Field::nothing_expected(ledger.unexpected),
    },
    Kind {
        head: "late",
        name: "late",
        meaning: "there later than the study allows (late_after)",
        field: |ledger| Field::nothing_expected(ledger.late),
    },
    Kind {
        head: "out of order",
        name: "out_of_order",
        meaning: "there after a record of the same worker that was sent later",
        field: |ledger| Field::count(ledger.out_of_order),
    },
];

/// What each column of the account means, and how a condition names it: head, name, meaning.
pub(crate) fn meanings() -> impl Iterator<Item = (&'static str, String, &'static str)> {
    KINDS
        .iter()
        .map(|kind| (kind.head, format!("delivery.{}", kind.name), kind.meaning))
}

/// The account of records; `None` where none was kept.
pub(crate) fn ledger(model: &Model) -> Option<Table> {
    let account = model.account.as_ref()?;
    let mut columns = columns(model);
    columns.extend(KINDS.iter().map(|kind| {
        let is_known = account.is_told_apart || kind.name != "rejected_delivered";
        Column::numbers(kind.head, move |at: &AtPlace<'_>| {
            let ledger = at.ledger.filter(|_| is_known);
            ledger.map_or_else(Field::empty, kind.field)
        })
    }));
    let caption = format!(
        "The account of records, by key, of the whole load with its warm-up, summed over {}: sent = accepted + rejected + unknown; \
         accepted = delivered + missing",
        summed_over(model)
    );
    Some(Table::new("ledger", caption, columns, all_rows(model)))
}

/// From sent until visible; `None` where delivery was not followed.
pub(crate) fn delay(model: &Model) -> Option<Table> {
    let is_known = |times: &Distribution| times.p50.estimate.is_some();
    all_rows(model).find(|at| is_known(at.delay))?;
    let mut caption = match has_places(model) {
        true => "Delivery delay, from sent until visible at each place".to_owned(),
        false => "Delivery delay, from sent until visible at the store".to_owned(),
    };
    let mut columns = columns(model);
    columns.extend(percentiles(&[P50, P90, P99, MAX], |at: &AtPlace<'_>| {
        at.delay
    }));
    columns.push(Column::numbers("known to within", |at: &AtPlace<'_>| {
        Field::optional(at.resolution_ms.map(|ms| Unit::Time.show(ms * 1000.0)))
    }));
    // Most places do not say when they themselves had a record.
    if all_rows(model).any(|at| is_known(at.arrival)) {
        caption.push_str("; and until the place itself had it, to the end of its own millisecond");
        let arrival = |pick: fn(&Distribution) -> &Percentile| {
            move |at: &AtPlace<'_>| match is_known(at.arrival) {
                true => Field::percentile(pick(at.arrival)),
                false => Field::empty(),
            }
        };
        columns.extend([
            Column::numbers("had it, p50", arrival(P50.1)),
            Column::numbers("had it, p99", arrival(P99.1)),
        ]);
    }
    let table = Table::new("delay", caption, columns, all_rows(model));
    Some(table.with_title("Delivery delay"))
}

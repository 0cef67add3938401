//! The account of records, and how late they came: a row for each cell, or for each place on the records' way.

use waggle_results::LedgerInfo;

use super::{Field, Head, Table, heads, place, summed_over};
use crate::{
    tables::Align,
    text::{self, NONE, Unit},
};
use waggle_analysis::{CellModel, Distribution, Model, TOLD_APART_FROM};

/// One place of one cell.
struct AtPlace<'a> {
    name: &'a str,
    ledger: Option<&'a LedgerInfo>,
    delay: &'a Distribution,
    arrival: &'a Distribution,
    resolution_ms: Option<f64>,
}

/// Every place of a cell, the last one last.
fn places<'a>(model: &'a Model, cell: &'a CellModel) -> Vec<AtPlace<'a>> {
    let before = cell.on_the_way.iter().map(|place| AtPlace {
        name: &place.name,
        ledger: Some(&place.ledger),
        delay: &place.delay,
        arrival: &place.arrival,
        resolution_ms: Some(place.resolution_ms),
    });
    let last = AtPlace {
        name: model.info.delivery_at.as_deref().unwrap_or(NONE),
        ledger: cell.ledger.as_ref(),
        delay: &cell.delay,
        arrival: &cell.arrival,
        resolution_ms: cell.delay_resolution_ms,
    };
    before.chain([last]).collect()
}

/// The heads, with one for the place where there are several.
fn heads_of_places(model: &Model, numbers: &[&str]) -> Vec<Head> {
    let mut heads = heads(model, numbers);
    if has_places(model) {
        let head = Head {
            text: "place".to_owned(),
            align: Align::Left,
        };
        heads.insert(heads.len() - numbers.len(), head);
    }
    heads
}

fn has_places(model: &Model) -> bool {
    model.cells.iter().any(|cell| !cell.on_the_way.is_empty())
}

fn by_place(model: &Model, fields: impl Fn(&AtPlace<'_>) -> Vec<Field>) -> Vec<Vec<Field>> {
    let mut rows = Vec::new();
    for cell in &model.cells {
        for at in places(model, cell) {
            let mut row = place(model, cell);
            row.extend(has_places(model).then(|| Field::plain(at.name)));
            row.extend(fields(&at));
            rows.push(row);
        }
    }
    rows
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
        field: |ledger| Field::plain(text::count(ledger.sent)),
    },
    Kind {
        head: "accepted",
        name: "accepted",
        meaning: "answered with success: from here on the system answers for it",
        field: |ledger| Field::plain(text::count(ledger.accepted)),
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
        field: |ledger| Field::plain(text::count(ledger.delivered)),
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
        field: |ledger| Field::plain(text::count(ledger.unknown_delivered)),
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
        field: |ledger| Field::plain(text::count(ledger.out_of_order)),
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
    // Before, rejected ones that were there stood among the unexpected alone.
    let is_told_apart = model.info.format >= TOLD_APART_FROM;
    let is_known = |kind: &Kind| is_told_apart || kind.name != "rejected_delivered";
    let mut cells = model.cells.iter();
    cells.any(|cell| cell.ledger.is_some()).then(|| Table {
        id: Some("ledger"),
        title: None,
        caption: format!(
            "The account of records, by key, of the whole load with its warm-up, summed over {}: sent = accepted + rejected + unknown; \
             accepted = delivered + missing",
            summed_over(model)
        ),
        heads: heads_of_places(model, &KINDS.map(|kind| kind.head)),
        rows: by_place(model, |at| {
            let field = |kind: &Kind| {
                let ledger = at.ledger.filter(|_| is_known(kind));
                ledger.map_or_else(|| Field::plain(NONE), kind.field)
            };
            KINDS.iter().map(field).collect()
        }),
    })
}

/// From sent until visible; `None` where delivery was not followed.
pub(crate) fn delay(model: &Model) -> Option<Table> {
    let is_known = |times: &Distribution| times.p50.estimate.is_some();
    let of = |pick: fn(&AtPlace<'_>) -> bool| {
        let mut all = model.cells.iter().flat_map(|cell| places(model, cell));
        all.any(|at| pick(&at))
    };
    if !of(|at| at.delay.p50.estimate.is_some()) {
        return None;
    }
    // Most places do not say when they themselves had a record.
    let has_arrivals = of(|at| at.arrival.p50.estimate.is_some());
    let mut names = vec!["p50", "p90", "p99", "max", "known to within"];
    let mut caption = match has_places(model) {
        true => "Delivery delay, from sent until visible at each place".to_owned(),
        false => "Delivery delay, from sent until visible at the store".to_owned(),
    };
    if has_arrivals {
        names.extend(["had it, p50", "had it, p99"]);
        caption.push_str("; and until the place itself had it, to the end of its own millisecond");
    }
    let arrival = |at: &AtPlace<'_>| {
        [&at.arrival.p50, &at.arrival.p99].map(|percentile| match is_known(at.arrival) {
            true => Field::percentile(percentile),
            false => Field::plain(NONE),
        })
    };
    Some(Table {
        id: Some("delay"),
        title: Some("Delivery delay"),
        caption,
        heads: heads_of_places(model, &names),
        rows: by_place(model, |at| {
            let mut fields = vec![
                Field::percentile(&at.delay.p50),
                Field::percentile(&at.delay.p90),
                Field::percentile(&at.delay.p99),
                Field::percentile(&at.delay.max),
                Field::plain(
                    at.resolution_ms
                        .map_or_else(|| NONE.to_owned(), |ms| Unit::Time.show(ms * 1000.0)),
                ),
            ];
            if has_arrivals {
                fields.extend(arrival(at));
            }
            fields
        }),
    })
}

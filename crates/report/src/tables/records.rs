//! The account of records, and how late they came: a row for each cell, or for each place on the records' way.

use waggle_results::LedgerInfo;

use super::{Field, Head, Table, heads, place};
use crate::{
    model::{CellModel, Distribution, Model},
    tables::Align,
    text::{self, NONE, Unit},
};

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

/// The account of records; `None` where none was kept.
pub(crate) fn ledger(model: &Model) -> Option<Table> {
    model
        .cells
        .iter()
        .any(|cell| cell.ledger.is_some())
        .then(|| Table {
            id: "ledger",
            caption:
                "The account of records, summed over trials: sent = accepted + rejected + unknown; \
                  accepted = delivered + missing; unexpected = rejected ones that were found + others that should \
                  not be there"
                    .to_owned(),
            heads: heads_of_places(
                model,
                &[
                    "sent",
                    "accepted",
                    "rejected",
                    "of those found",
                    "unknown",
                    "of those found",
                    "delivered",
                    "missing",
                    "duplicates",
                    "late",
                    "out of order",
                    "unexpected",
                ],
            ),
            rows: by_place(model, |at| {
                let Some(ledger) = at.ledger else {
                    return vec![Field::plain(NONE); 12];
                };
                vec![
                    Field::plain(text::count(ledger.sent)),
                    Field::plain(text::count(ledger.accepted)),
                    Field::nothing_expected(ledger.rejected),
                    Field::nothing_expected(ledger.rejected_delivered),
                    Field::nothing_expected(ledger.unknown),
                    Field::plain(text::count(ledger.unknown_delivered)),
                    Field::plain(text::count(ledger.delivered)),
                    Field::nothing_expected(ledger.missing),
                    Field::nothing_expected(ledger.duplicates),
                    Field::nothing_expected(ledger.late),
                    Field::plain(text::count(ledger.out_of_order)),
                    Field::nothing_expected(ledger.unexpected),
                ]
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
        id: "delay",
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

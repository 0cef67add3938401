//! The account of records, and how late they came.

use super::{Field, Table, by_cell, heads};
use crate::{
    model::Model,
    text::{self, NONE, Unit},
};

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
                  accepted = delivered + missing"
                    .to_owned(),
            heads: heads(
                model,
                &[
                    "sent",
                    "accepted",
                    "rejected",
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
            rows: by_cell(model, |cell| {
                let Some(ledger) = &cell.ledger else {
                    return vec![Field::plain(NONE); 11];
                };
                vec![
                    Field::plain(text::count(ledger.sent)),
                    Field::plain(text::count(ledger.accepted)),
                    Field::nothing_expected(ledger.rejected),
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
    model
        .cells
        .iter()
        .any(|cell| cell.delay.p50.estimate.is_some())
        .then(|| Table {
            id: "delay",
            caption: "Delivery delay, from sent until visible at the store".to_owned(),
            heads: heads(model, &["p50", "p90", "p99", "max", "known to within"]),
            rows: by_cell(model, |cell| {
                vec![
                    Field::percentile(&cell.delay.p50),
                    Field::percentile(&cell.delay.p90),
                    Field::percentile(&cell.delay.p99),
                    Field::percentile(&cell.delay.max),
                    Field::plain(
                        cell.delay_resolution_ms
                            .map_or_else(|| NONE.to_owned(), |ms| Unit::Time.show(ms * 1000.0)),
                    ),
                ]
            }),
        })
}

//! Delivery accounting and delivery delay: a row for each cell, or for each probe of each cell.

use waggle_results::{LedgerInfo, SampleInfo};

use super::words::{self, ByInstants};
use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::{MAX, P50, P90, P99, percentiles, place, summed_over},
    words::format::NONE,
};

use waggle_analysis::{CellModel, DelaySource, Distribution, KnownBy, Model, Percentile};

/// One probe of one cell.
struct AtProbe<'a> {
    cell: &'a CellModel,
    name: &'a str,
    ledger: Option<&'a LedgerInfo>,
    source: Option<DelaySource>,
    delay: &'a Distribution,
    arrival: &'a Distribution,
    sample: Option<SampleInfo>,
}

/// Every probe of a cell, in the order of the records' way.
fn probes<'a>(model: &'a Model, cell: &'a CellModel) -> Vec<AtProbe<'a>> {
    let mut probes = Vec::new();
    for probe in &cell.intermediate_probes {
        probes.push(AtProbe {
            cell,
            name: &probe.name,
            ledger: Some(&probe.ledger),
            source: probe.source,
            delay: &probe.delay,
            arrival: &probe.arrival,
            sample: probe.sample,
        });
    }
    probes.push(AtProbe {
        cell,
        name: model.info.delivery_probe.as_deref().unwrap_or(NONE),
        ledger: cell.ledger.as_ref(),
        source: cell.delay_source,
        delay: &cell.delay,
        arrival: &cell.arrival,
        sample: cell.delay_sample,
    });
    probes
}

/// The levels of a row; with the probe if the study has several.
fn columns(model: &Model) -> Vec<Column<'_, AtProbe<'_>>> {
    let mut columns = place(model, |row: &AtProbe<'_>| row.cell);
    if has_intermediate_probes(model) {
        columns.push(Column::words("probe", |row: &AtProbe<'_>| {
            Field::plain(row.name)
        }));
    }
    columns
}

fn has_intermediate_probes(model: &Model) -> bool {
    model
        .cells
        .iter()
        .any(|cell| !cell.intermediate_probes.is_empty())
}

fn all_rows(model: &Model) -> impl Iterator<Item = AtProbe<'_>> {
    model.cells.iter().flat_map(|cell| probes(model, cell))
}

/// A column of the delivery accounting.
struct Kind {
    head: &'static str,
    /// As in conditions: `delivery.missing`.
    name: &'static str,
    meaning: &'static str,
    field: fn(&LedgerInfo) -> Field,
}

/// The first four add up, and so do accepted, delivered and missing; the others follow.
const KINDS: [Kind; 12] = [
    Kind {
        head: "sent",
        name: "sent",
        meaning: "records in requests that were sent",
        field: |ledger| Field::count(ledger.sent),
    },
    Kind {
        head: "accepted",
        name: "accepted",
        meaning: "answered with success: from now on the system is responsible for the record",
        field: |ledger| Field::count(ledger.accepted),
    },
    Kind {
        head: "rejected",
        name: "rejected",
        meaning: "answered with an error: the system refused the record",
        field: |ledger| Field::nothing_expected(ledger.rejected),
    },
    Kind {
        head: "unknown",
        name: "unknown",
        meaning: "no complete answer, or an answer that says neither: the client cannot know",
        field: |ledger| Field::nothing_expected(ledger.unknown),
    },
    Kind {
        head: "delivered",
        name: "delivered",
        meaning: "accepted, and visible at the end",
        field: |ledger| Field::count(ledger.delivered),
    },
    Kind {
        head: "missing",
        name: "missing",
        meaning: "accepted, but not visible at the end: lost",
        field: |ledger| Field::nothing_expected(ledger.missing),
    },
    Kind {
        head: "rejected but delivered",
        name: "rejected_delivered",
        meaning: "rejected, but visible at the end: a retry of the client may duplicate it",
        field: |ledger| Field::nothing_expected(ledger.rejected_delivered),
    },
    Kind {
        head: "unknown but delivered",
        name: "unknown_delivered",
        meaning: "without a clear answer, but visible at the end; the other unknown records are not visible",
        field: |ledger| Field::count(ledger.unknown_delivered),
    },
    Kind {
        head: "duplicates",
        name: "duplicates",
        meaning: "copies after the first, whatever the answer was",
        field: |ledger| Field::nothing_expected(ledger.duplicates),
    },
    Kind {
        head: "unexpected",
        name: "unexpected",
        meaning: "visible records that were rejected or never sent",
        field: |ledger| Field::nothing_expected(ledger.unexpected),
    },
    Kind {
        head: "late",
        name: "late",
        meaning: "visible later than the study allows (late_threshold)",
        field: |ledger| Field::nothing_expected(ledger.late),
    },
    Kind {
        head: "out of order",
        name: "out_of_order",
        meaning: "visible after a record that the same worker sent later",
        field: |ledger| Field::count(ledger.out_of_order),
    },
];

/// Definitions of the columns: head, name in conditions, meaning.
pub(crate) fn meanings() -> impl Iterator<Item = (&'static str, String, &'static str)> {
    KINDS
        .iter()
        .map(|kind| (kind.head, format!("delivery.{}", kind.name), kind.meaning))
}

/// Delivery accounting; `None` if records were not followed.
pub(crate) fn ledger(model: &Model) -> Option<Table> {
    model.account.as_ref()?;
    let mut columns = columns(model);
    for kind in &KINDS {
        columns.push(Column::numbers(kind.head, |row: &AtProbe<'_>| {
            record_count(kind, row)
        }));
    }
    let caption = format!(
        "Records by key, of the whole load with its warm-up, summed over {}: sent = accepted + rejected + unknown; accepted = delivered + \
         missing",
        summed_over(model)
    );
    Some(Table::new("delivery", caption, columns, all_rows(model)))
}

fn record_count(kind: &Kind, row: &AtProbe<'_>) -> Field {
    let field = row.ledger.map_or_else(Field::empty, kind.field);
    match row.sample.filter(|_| is_of_sample(kind)) {
        Some(sample) => field.with_aside(words::sample(sample)),
        None => field,
    }
}

/// Whether only the records of a sample can count.
fn is_of_sample(kind: &Kind) -> bool {
    matches!(kind.name, "late" | "out_of_order")
}

fn is_range(times: &Distribution) -> bool {
    let all = [&times.p50, &times.p90, &times.p99, &times.max];
    let mut estimates = all.into_iter().filter_map(|percentile| percentile.estimate);
    estimates.any(|estimate| estimate.shown_least().is_some())
}

impl AtProbe<'_> {
    fn is_known(&self) -> bool {
        self.delay.p50.estimate.is_some()
    }

    fn is_known_by(&self, is: impl Fn(KnownBy) -> bool) -> bool {
        self.source.is_some_and(|source| is(source.by))
    }

    /// When its store had records, if that is known and not where their delay ends.
    fn has_arrival(&self) -> bool {
        self.arrival.p50.estimate.is_some() && !self.is_known_by(|by| by == KnownBy::Instants)
    }
}

/// From sent until visible, or until the store had it; `None` if records were not followed.
pub(crate) fn delay(model: &Model) -> Option<Table> {
    let rows = || all_rows(model).filter(AtProbe::is_known);
    rows().next()?;
    let mut columns = columns(model);
    columns.extend(percentiles(&[P50, P90, P99, MAX], |row: &AtProbe<'_>| {
        row.delay
    }));
    columns.push(Column::numbers("records", |row: &AtProbe<'_>| {
        Field::optional(row.source.map(words::records_behind))
    }));
    let has_arrival = rows().any(|row| row.has_arrival());
    if has_arrival {
        let arrival = |pick: fn(&Distribution) -> &Percentile| {
            move |row: &AtProbe<'_>| match row.has_arrival() {
                true => Field::percentile(pick(row.arrival)),
                false => Field::empty(),
            }
        };
        columns.extend([
            Column::numbers("arrival p50", arrival(P50.1)),
            Column::numbers("arrival p99", arrival(P99.1)),
        ]);
    }
    let by_instants = ByInstants::of_rows(rows().filter_map(|row| row.source));
    if by_instants == ByInstants::Some {
        columns.push(Column::words("until", |row: &AtProbe<'_>| {
            Field::optional(row.source.map(|source| words::delay_end(source).to_owned()))
        }));
    }
    let ends = by_instants.delay_ends(has_intermediate_probes(model));
    let mut caption = format!("Delivery delay of the records sent in the measured phase, {ends}");
    if rows().any(|row| row.is_known_by(|by| matches!(by, KnownBy::Windows(_)))) {
        caption.push_str("; of a sample of the records if the probe could not read all under load");
    }
    if rows().any(|row| is_range(row.delay)) {
        caption.push_str("; ≤: the probe knows the delay only to within a range, whose low end the interval includes");
    }
    if has_arrival {
        let probes: Vec<&str> = rows()
            .filter(AtProbe::has_arrival)
            .map(|row| row.name)
            .collect();
        let resolution = words::instants_resolution(model, &probes);
        caption.push_str("; and arrival delay, until the arrival that the store itself reports");
        caption.extend(resolution.map(|resolution| format!(" ({resolution})")));
    }
    let table = Table::new("delay", caption, columns, all_rows(model));
    Some(table.with_title("Delivery delay"))
}

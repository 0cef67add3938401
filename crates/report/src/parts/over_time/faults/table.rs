//! Fault injection: what was done to components, and the consequences.

use waggle_results::{FailureKind, FaultInfo, LedgerInfo};

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::{place, summed_over},
    words::{
        format::{self, NONE, Unit},
        labels,
    },
};

use waggle_analysis::{CellFaults, CellModel, Fault, Model, TrialFaults};

/// One fault of one cell.
struct Row<'a> {
    cell: &'a CellModel,
    fault: &'a Fault,
    /// In the first row of a cell only.
    of_cell: Option<&'a CellFaults>,
}

/// A row for each fault of each cell. `None` also if every trial with a fault failed, or if no level of a search holds: the table of trials
/// shows those faults.
pub(crate) fn faults(model: &Model) -> Option<Table> {
    let mut rows = Vec::new();
    for faults in &model.faults {
        let mut cells = model.cells.iter();
        let cell = cells.find(|cell| cell.cell == faults.cell)?;
        let each = faults.each.iter().enumerate();
        rows.extend(each.map(|(number, fault)| Row {
            cell,
            fault,
            of_cell: (number == 0).then_some(faults),
        }));
    }
    let caption = format!(
        "Faults, counted from the start of the measured phase; time from the begin of each until all was ready again, and the longest time \
         without a success between the first one and the end of the phase (in whole intervals), each the longest of all trials; failed requests, failed connections and \
         records of the whole load, summed over {}",
        summed_over(model)
    );
    let mut columns = place(model, |row: &Row<'_>| row.cell);
    columns.extend([
        Column::words("fault", |row: &Row<'_>| {
            Field::plain(labels::fault(row.fault.kind.name(), &row.fault.name))
        }),
        // The study sets it: an interval would only show how well waggle keeps time.
        Column::numbers("at", |row: &Row<'_>| {
            let time = row.fault.at_us.as_ref();
            Field::optional(time.map(|time| Unit::Time.show(time.point)))
        }),
        Column::numbers("time to ready", |row: &Row<'_>| {
            Field::estimate(row.fault.ready_after_us.as_ref(), Unit::Time)
        }),
        Column::numbers("longest outage", of_cell(outage)),
        Column::numbers("failed requests", of_cell(failed_requests)),
        Column::numbers("failed connections", of_cell(failed_attempts)),
    ]);
    columns.extend(of_records());
    Table::new("faults", caption, columns, rows).unless_empty()
}

fn of_records<'a>() -> [Column<'a, Row<'a>>; 6] {
    let ledger_field = |field: fn(&LedgerInfo) -> Field| {
        move |row: &Row<'_>| {
            let ledger = row.cell.ledger.as_ref().filter(|_| row.of_cell.is_some());
            ledger.map_or_else(Field::empty, field)
        }
    };
    [
        Column::numbers(
            "rejected but delivered",
            ledger_field(|ledger| Field::nothing_expected(ledger.rejected_delivered)),
        ),
        Column::numbers(
            "unknown",
            ledger_field(|ledger| Field::count(ledger.unknown)),
        ),
        Column::numbers(
            "unknown but delivered",
            ledger_field(|ledger| Field::count(ledger.unknown_delivered)),
        ),
        Column::numbers(
            "missing",
            ledger_field(|ledger| Field::nothing_expected(ledger.missing)),
        ),
        Column::numbers(
            "duplicates",
            ledger_field(|ledger| Field::nothing_expected(ledger.duplicates)),
        ),
        Column::numbers(
            "unexpected",
            ledger_field(|ledger| Field::nothing_expected(ledger.unexpected)),
        ),
    ]
}

fn of_cell(field: fn(&CellFaults) -> Field) -> impl Fn(&Row<'_>) -> Field {
    move |row| row.of_cell.map_or_else(Field::empty, field)
}

fn outage(faults: &CellFaults) -> Field {
    let outage = Field::estimate(faults.outage_us.as_ref(), Unit::Time);
    if !faults.outage_to_the_end {
        return outage;
    }
    // Its end was not observed.
    let ends = outage.side_note().map(|ends| ends.into_owned());
    Field::plain(format!("≥ {}", outage.text())).with_aside(ends)
}

fn failed_requests(faults: &CellFaults) -> Field {
    by_kind(faults.failed, faults.failures.iter())
}

fn failed_attempts(faults: &CellFaults) -> Field {
    let kinds = || {
        let kinds = faults.other_failures.iter();
        kinds.filter(|(kind, _)| !kind.is_of_session())
    };
    by_kind(kinds().map(|(_, count)| count).sum(), kinds())
}

/// A count, and in small letters what it is made of.
fn by_kind<'a>(all: u64, kinds: impl Iterator<Item = &'a (FailureKind, u64)>) -> Field {
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{} {}", format::count(*count), kind.in_words()))
        .collect();
    Field::count(all).with_aside((!kinds.is_empty()).then(|| kinds.join(", ")))
}

/// The faults of a trial, each with its start and its end: `kill of orders-0 5.00 s to 7.63 s`.
pub(crate) fn fault_field(faults: Option<&TrialFaults>) -> Field {
    faults.map_or_else(Field::empty, |faults| {
        let all: Vec<String> = faults.each.iter().map(fault_text).collect();
        Field::plain(all.join(", "))
    })
}

fn fault_text(fault: &FaultInfo) -> String {
    let time = |seconds: f64| Unit::Time.show(seconds * 1e6);
    let until = fault.ready_s.map_or_else(|| NONE.to_owned(), time);
    let title = labels::fault(fault.kind.name(), &fault.name());
    format!("{title} {} to {until}", time(fault.begun_s))
}

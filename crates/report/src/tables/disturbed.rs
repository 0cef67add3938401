//! What was killed, and what came of it. The table is not there where nothing was.

use waggle_results::FailureKind;

use super::{Field, Table, heads, place, summed_over};
use crate::text::{self, NONE, Unit};
use waggle_analysis::{CellDisturbed, CellModel, Kill, Model, TrialDisturbed};

/// A row for each kill of each cell; what belongs to the cell stands in its first. `None` also where all trials in which something was
/// killed failed, or no level of a search holds: the table of trials has what was down.
pub(crate) fn disturbances(model: &Model) -> Option<Table> {
    let mut rows = Vec::new();
    for disturbed in &model.disturbed {
        let cell = model
            .cells
            .iter()
            .find(|cell| cell.cell == disturbed.cell)?;
        for (number, kill) in disturbed.kills.iter().enumerate() {
            let mut row = place(model, cell);
            row.extend(of_kill(kill));
            row.extend(match number {
                0 => of_cell(cell, disturbed),
                _ => vec![Field::plain(NONE); 9],
            });
            rows.push(row);
        }
    }
    let columns = [
        "killed",
        "at",
        "ready again after",
        "longest without a success",
        "failed requests",
        "failed to connect",
        "rejected, yet there",
        "unknown",
        "unknown, there",
        "missing",
        "duplicates",
        "unexpected",
    ];
    (!rows.is_empty()).then(|| Table {
        id: Some("disturbances"),
        title: None,
        caption: format!(
            "What was killed, counted from the start of the measured phase; the longest time without a success from \
             there to the phase's end, in whole intervals; failed requests, failed attempts to connect and records of the whole load, \
             summed over {}",
            summed_over(model)
        ),
        heads: heads(model, &columns),
        rows,
    })
}

fn of_kill(kill: &Kill) -> [Field; 3] {
    // It was asked for: an interval around it would only say how well waggle keeps time.
    let at = kill
        .at_us
        .as_ref()
        .map_or_else(|| NONE.to_owned(), |at| Unit::Time.show(at.point));
    [
        Field::plain(&*kill.replica),
        Field::plain(at),
        Field::estimate(kill.ready_after_us.as_ref(), Unit::Time),
    ]
}

fn of_cell(cell: &CellModel, disturbed: &CellDisturbed) -> Vec<Field> {
    let silence = Field::estimate(disturbed.silence_us.as_ref(), Unit::Time);
    let silence = match disturbed.silence_to_the_end {
        // Nobody saw its end.
        true => Field {
            text: format!("≥ {}", silence.text),
            ..silence
        },
        false => silence,
    };
    let (connecting, requests): (Vec<_>, Vec<_>) = disturbed
        .failures
        .iter()
        .copied()
        .partition(|(kind, _)| kind.is_connect_attempt());
    let attempts = connecting.iter().map(|(_, count)| count).sum();
    let mut fields = vec![
        silence,
        by_kind(disturbed.failed, &requests),
        by_kind(attempts, &connecting),
    ];
    match &cell.ledger {
        Some(ledger) => fields.extend([
            Field::nothing_expected(ledger.rejected_delivered),
            Field::plain(text::count(ledger.unknown)),
            Field::plain(text::count(ledger.unknown_delivered)),
            Field::nothing_expected(ledger.missing),
            Field::nothing_expected(ledger.duplicates),
            Field::nothing_expected(ledger.unexpected),
        ]),
        None => fields.extend(vec![Field::plain(NONE); 6]),
    }
    fields
}

/// A count, and in small letters what it is made of.
fn by_kind(all: u64, kinds: &[(FailureKind, u64)]) -> Field {
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, count)| format!("{} {}", text::count(*count), kind.in_words()))
        .collect();
    Field {
        range: (!kinds.is_empty()).then(|| kinds.join(", ")),
        ..Field::plain(text::count(all))
    }
}

/// What was down in a trial, and from when until when: `orders-0 5.00 s to 7.63 s`.
pub(super) fn down(disturbed: Option<&TrialDisturbed>) -> Field {
    let one = |of: &waggle_results::DisturbanceInfo| {
        let at = |seconds: f64| Unit::Time.show(seconds * 1e6);
        let until = of.ready_s.map_or_else(|| NONE.to_owned(), at);
        format!("{} {} to {until}", of.name(), at(of.killed_s))
    };
    let Some(disturbed) = disturbed else {
        return Field::plain(NONE);
    };
    let all: Vec<String> = disturbed.disturbances.iter().map(one).collect();
    Field::plain(all.join(", "))
}

//! Every trial, with the numbers one looks for first.

use super::{Field, FieldKind, Table, disturbed, heads, place};
use crate::{
    text::{self, NONE, Unit},
    wording::search::level,
    words,
};
use waggle_analysis::{Model, TrialModel, TrialNumbers, TrialPercentile, TrialPercentiles};

/// One row a trial, the numbers one looks for first.
pub(crate) fn trials(model: &Model) -> Table {
    let mut columns = vec![
        "repetition",
        "order",
        "verdict",
        words::counted(model.counted),
        "p50",
        "p99",
        "max",
        "errors",
        "delivered",
        "missing",
    ];
    if model.find.is_some() {
        columns.insert(1, "level");
    }
    if !model.disturbed.is_empty() {
        columns.push("down");
    }
    let mut heads = heads(model, &columns);
    for head in &mut heads {
        if head.text == words::counted(model.counted) {
            head.text.push_str("/s");
        }
    }
    Table {
        id: Some("trials"),
        title: None,
        caption: caption(model),
        heads,
        rows: model
            .trials
            .iter()
            .filter_map(|trial| {
                let cell = model
                    .cells
                    .iter()
                    .find(|cell| cell.cell == trial.key.cell)?;
                let mut row = place(model, cell);
                let mut fields = trial_fields(trial);
                if let Some(find) = &model.find {
                    let level = trial.level.map(|at| level(find.info.what, at));
                    fields.insert(1, Field::plain(level.unwrap_or_else(|| NONE.to_owned())));
                }
                row.extend(fields);
                if !model.disturbed.is_empty() {
                    row.push(disturbed::down(trial.disturbed.as_ref()));
                }
                Some(row)
            })
            .collect(),
    }
}

fn caption(model: &Model) -> String {
    let mut caption =
        "Every trial over its measured phase; order is its place among all trials".to_owned();
    if !model.disturbed.is_empty() {
        caption.push_str(
            "; down is what was killed and until when, from the start of the measured phase",
        );
    }
    caption
}

fn trial_fields(trial: &TrialModel) -> Vec<Field> {
    let time = |pick: fn(&TrialPercentiles) -> &TrialPercentile| {
        let times = trial
            .numbers
            .as_ref()
            .and_then(|numbers| numbers.response.as_ref());
        times.map_or_else(
            || Field::plain(NONE),
            |times| {
                let one = pick(times);
                let field = Field::plain(Unit::Time.show(one.us));
                match &one.thin {
                    Some(reason) => Field {
                        kind: FieldKind::Thin(reason.clone()),
                        ..field
                    },
                    None => field,
                }
            },
        )
    };
    let number = |pick: fn(&TrialNumbers) -> Field| {
        trial
            .numbers
            .as_ref()
            .map_or_else(|| Field::plain(NONE), pick)
    };
    let ledger = |pick: fn(&waggle_results::LedgerInfo) -> Field| {
        trial
            .ledger
            .as_ref()
            .map_or_else(|| Field::plain(NONE), pick)
    };
    vec![
        Field::plain(trial.key.repetition.to_string()),
        Field::plain(trial.position.to_string()),
        Field::verdict(words::verdict(trial.verdict).to_owned()),
        number(|numbers| Field::plain(text::plain(numbers.goodput_per_s))),
        time(|times| &times.p50),
        time(|times| &times.p99),
        time(|times| &times.max),
        number(|numbers| Field::nothing_expected(numbers.failed)),
        ledger(|ledger| Field::plain(text::count(ledger.delivered))),
        ledger(|ledger| Field::nothing_expected(ledger.missing)),
    ]
}

//! Whether the numbers may be believed, and whether they are good enough for the study.

use super::{Align, Field, FieldKind, Head, Table, by_cell, heads};
use crate::{
    rows,
    text::{self, NONE},
};
use waggle_analysis::{Model, ThresholdCell, is_recovery};

/// Each cell's verdict with its reasons.
pub(crate) fn verdicts(model: &Model) -> Table {
    Table {
        id: Some("verdicts"),
        title: Some("Verdicts"),
        caption: "Whether each cell may be believed, and why not".to_owned(),
        heads: heads(model, &["verdict", "reasons"]),
        rows: by_cell(model, |cell| {
            let reasons: Vec<&str> = cell
                .reasons
                .iter()
                .map(|reason| reason.text.as_str())
                .collect();
            let reasons = if reasons.is_empty() {
                "every check passed".to_owned()
            } else {
                reasons.join("\n")
            };
            let reasons = if cell.verdict.is_none() {
                if cell.is_searched {
                    "no level of it holds".to_owned()
                } else {
                    "no trial of it has run".to_owned()
                }
            } else {
                reasons
            };
            vec![Field::verdict(rows::verdict(cell)), Field::plain(reasons)]
        }),
    }
}

/// Every condition in every cell where it does not hold, and how many where it does.
pub(crate) fn thresholds(model: &Model) -> Option<Table> {
    let left = |text: &str| Head {
        text: text.to_owned(),
        align: Align::Left,
    };
    (!model.thresholds.is_empty()).then(|| Table {
        id: Some("thresholds"),
        title: Some("Thresholds"),
        caption: thresholds_caption(model),
        heads: vec![left("threshold"), left("holds"), left("where it does not")],
        rows: model
            .thresholds
            .iter()
            .map(|threshold| {
                let failing: Vec<String> = threshold
                    .cells
                    .iter()
                    .filter(|cell| !cell.holds)
                    .map(|cell| failing(model, cell))
                    .collect();
                let holding = threshold.cells.len() - failing.len();
                let holds = if threshold.holds {
                    "holds in every cell".to_owned()
                } else {
                    format!(
                        "fails: holds in {holding} of {} cells",
                        threshold.cells.len()
                    )
                };
                let kind = if threshold.holds {
                    FieldKind::Plain
                } else {
                    FieldKind::Bad
                };
                vec![
                    Field::plain(&threshold.text),
                    Field {
                        kind,
                        ..Field::plain(holds)
                    },
                    Field::plain(if failing.is_empty() {
                        NONE.to_owned()
                    } else {
                        failing.join("\n")
                    }),
                ]
            })
            .collect(),
    })
}

fn thresholds_caption(model: &Model) -> String {
    let mut thresholds = model.info.thresholds.iter();
    let more = if thresholds.any(|threshold| is_recovery(&threshold.number)) {
        ", those on recovery on unsteady and overloaded ones, too"
    } else {
        ""
    };
    format!("The study's thresholds; they count on valid and noisy cells only{more}")
}

fn failing(model: &Model, outcome: &ThresholdCell) -> String {
    let levels = model
        .cells
        .iter()
        .find(|cell| cell.cell == outcome.cell)
        .map(|cell| text::levels(&cell.levels));
    let place = levels.unwrap_or_else(|| format!("cell {}", outcome.cell));
    let seen = outcome
        .observed
        .as_deref()
        .map(|seen| format!(" is {seen}"))
        .unwrap_or_default();
    let reason = outcome
        .reason
        .as_deref()
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default();
    format!("{place}{seen}{reason}")
}

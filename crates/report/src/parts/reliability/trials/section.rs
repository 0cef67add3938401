//! Every trial, with its main metrics, and with all of them.

use super::table;
use crate::{
    layout::document::{Block, Fold, Folded, Section},
    metric_columns,
    words::{findings::remark, names::name_of},
};
use waggle_analysis::{Model, TrialModel};

pub(crate) fn section(model: &Model) -> Section {
    let remarked = model
        .trials
        .iter()
        .filter(|trial| !trial.remarks.is_empty());
    let remarks = remarked.map(|trial| remarks_of_trial(model, trial));
    Section {
        link: None,
        blocks: vec![
            Block::Table(table::trials(model)),
            Block::Sentences(remarks.collect()),
            Block::PageOnly(vec![Block::Folded(Folded {
                what: Fold::Every,
                summary: "All metrics of every trial (as in tables.csv)".to_owned(),
                blocks: vec![Block::Table(metric_columns::table(model))],
            })]),
        ],
        ..Section::new("trials", "Trials")
    }
}

fn remarks_of_trial(model: &Model, trial: &TrialModel) -> String {
    let said: Vec<String> = trial.remarks.iter().map(remark).collect();
    let key = trial.info.key;
    let cell = name_of(model, key.cell);
    format!("{cell}, repetition {}: {}", key.repetition, said.join("; "))
}

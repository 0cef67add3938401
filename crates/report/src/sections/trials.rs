//! Every trial, with its main metrics, and with all of them.

use crate::{
    csv,
    document::{Block, Fold, Folded, Section},
    tables,
    wording::{findings::remark, name_of},
};
use waggle_analysis::Model;

pub(crate) fn section(model: &Model) -> Section {
    let remarked = model
        .trials
        .iter()
        .filter(|trial| !trial.remarks.is_empty());
    let remarks = remarked.map(|trial| {
        let said: Vec<String> = trial.remarks.iter().map(remark).collect();
        format!(
            "{}, repetition {}: {}",
            name_of(model, trial.key.cell),
            trial.key.repetition,
            said.join("; ")
        )
    });
    Section {
        link: None,
        blocks: vec![
            Block::Table(tables::trials(model)),
            Block::PageOnly(vec![
                Block::Sentences(remarks.collect()),
                Block::Folded(Folded {
                    what: Fold::Every,
                    summary: "All metrics of every trial (as in tables.csv)".to_owned(),
                    blocks: vec![Block::Table(csv::table(model))],
                }),
            ]),
        ],
        ..Section::new("trials", "Trials")
    }
}

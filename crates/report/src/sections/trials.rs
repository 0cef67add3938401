//! Every trial, with the numbers one looks for first, and with all.

use crate::{
    csv,
    document::{Block, Fold, Folded, Section},
    tables, text,
    wording::findings::remark,
};
use waggle_analysis::Model;

pub(super) fn section(model: &Model) -> Section {
    let remarked = model
        .trials
        .iter()
        .filter(|trial| !trial.remarks.is_empty());
    let remarks = remarked.map(|trial| {
        let said: Vec<String> = trial.remarks.iter().map(remark).collect();
        format!(
            "{}, repetition {}: {}",
            text::levels(&trial.levels),
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
                    summary: "Every number of every trial, in full (as in tables.csv)".to_owned(),
                    blocks: vec![Block::Table(csv::table(model))],
                }),
            ]),
        ],
        ..Section::new("trials", "Trials", "Every trial")
    }
}

//! Delivery accounting: what became of each record, and how late it arrived.

use super::{table, words};
use crate::layout::{
    document::{Block, Fold, Folded, Section, Term},
    table::Field,
};
use waggle_analysis::Model;

/// `None` if records were not followed.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let (ledger, delay) = (table::ledger(model), table::delay(model));
    if ledger.is_none() && delay.is_none() {
        return None;
    }
    let mut blocks = Vec::new();
    if let Some(ledger) = ledger {
        let meaning = |(head, name, meaning): (&str, String, &str)| Term {
            name: Field::plain(head),
            code: Some(name),
            meaning: meaning.to_owned(),
        };
        blocks.extend([
            Block::Sentences(words::sentences(model)),
            Block::Table(ledger),
            Block::Folded(Folded {
                what: Fold::Legend,
                summary: "Definitions, with the metrics for thresholds".to_owned(),
                blocks: vec![Block::Terms(table::meanings().map(meaning).collect())],
            }),
        ]);
    }
    blocks.extend(Block::tables(delay));
    Some(Section {
        blocks,
        ..Section::new("delivery", "Delivery accounting")
    })
}

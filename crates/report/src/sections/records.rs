//! Where every record went, and how late it came.

use crate::{
    document::{Block, Fold, Folded, Section, Term},
    table::Field,
    tables,
    wording::account,
};
use waggle_analysis::Model;

/// Nothing where records were not followed.
pub(super) fn section(model: &Model) -> Option<Section> {
    let (ledger, delay) = (tables::ledger(model), tables::delay(model));
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
            Block::Sentences(account::sentences(model)),
            Block::Table(ledger),
            Block::Folded(Folded {
                what: Fold::Legend,
                summary: "What the words mean, and how thresholds name them".to_owned(),
                blocks: vec![Block::Terms(tables::meanings().map(meaning).collect())],
            }),
        ]);
    }
    blocks.extend(Block::tables(delay));
    Some(Section {
        blocks,
        ..Section::new("records", "Records", "Every record accounted for")
    })
}

//! What was done to the system before its load.

use super::{table, words};
use crate::layout::document::{Block, Fold, Folded, Section};
use waggle_analysis::Model;

/// `None` if nothing was prepared.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let mut blocks = vec![
        Block::Sentences(words::sentences(model)),
        Block::Table(table::preparations(model)?),
    ];
    if let Some(steps) = table::prepare_steps(model) {
        blocks.push(Block::Folded(Folded {
            what: Fold::Same,
            summary: "By step".to_owned(),
            blocks: vec![Block::Table(steps)],
        }));
    }
    Some(Section {
        lead: "Loads that filled the system after its functional check and before the warm-up. They count in no metric of the \
               measured phase.",
        blocks,
        ..Section::new("preparation", "Preparation")
    })
}

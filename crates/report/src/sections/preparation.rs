//! What was done to the system before its load.

use crate::{
    document::{Block, Fold, Folded, Section},
    tables,
    wording::preparation,
};
use waggle_analysis::Model;

/// `None` if nothing was prepared.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let mut blocks = vec![
        Block::Sentences(preparation::sentences(model)),
        Block::Table(tables::preparations(model)?),
    ];
    if let Some(steps) = tables::prepare_steps(model) {
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

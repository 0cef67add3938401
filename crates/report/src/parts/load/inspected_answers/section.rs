//! Answers that were measured while they streamed.

use super::table;
use crate::layout::document::{Block, Section};
use waggle_analysis::Model;

/// `None` if no answer was inspected.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let answers = table::inspected_answers(model)?;
    Some(Section {
        lead: "Response and service time are until the last byte. Decompressing and counting is work of the load generator, which its \
               utilization includes.",
        blocks: Block::tables([answers]).collect(),
        ..Section::new("answers", "Answers")
    })
}

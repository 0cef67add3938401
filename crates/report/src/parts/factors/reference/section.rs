//! Reference results: a chart of one column, and all of them as a table.

use super::table;
use crate::layout::document::{Block, Section};
use waggle_analysis::Model;

/// `None` if the study names none.
pub(crate) fn section(model: &Model) -> Option<Section> {
    Some(Section {
        lead: "The reference results were measured on other machines; the study file says how this study is scaled.",
        blocks: vec![
            Block::choice("reference-choice"),
            Block::wide(
                "reference-chart",
                "Reference results and this study; hollow if a cell is not reliable",
            ),
            Block::Table(table::reference(model)?),
        ],
        ..Section::new("reference", "Reference results")
    })
}

//! Cells that were left out before the first trial.

use super::table;
use crate::layout::document::{Block, Section};
use waggle_analysis::Model;

/// `None` if there are none.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let table = table::left_out(model)?;
    Some(Section {
        link: None,
        blocks: vec![Block::Table(table)],
        ..Section::new("left-out", "Cells left out")
    })
}

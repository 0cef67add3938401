//! Bottlenecks: the busiest component of each cell.

use super::table;
use crate::layout::document::{Block, Section};
use waggle_analysis::Model;

/// `None` if no component's CPU is known.
pub(crate) fn section(model: &Model) -> Option<Section> {
    Some(Section {
        blocks: vec![Block::Table(table::bottlenecks(model)?)],
        ..Section::new("bottlenecks", "Bottlenecks")
    })
}

//! Bottlenecks: the busiest component of each cell.

use crate::{
    document::{Block, Section},
    tables,
};
use waggle_analysis::Model;

/// `None` if no component's CPU is known.
pub(crate) fn section(model: &Model) -> Option<Section> {
    Some(Section {
        blocks: vec![Block::Table(tables::bottlenecks(model)?)],
        ..Section::new("bottlenecks", "Bottlenecks")
    })
}

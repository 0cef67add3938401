//! On which nodes of a cluster the system was; nothing for a system of processes.

use super::{table, words};
use crate::layout::document::{Block, Section};
use waggle_analysis::{Model, placement};

pub(crate) fn section(model: &Model) -> Option<Section> {
    let placement = placement(model)?;
    let table = Block::Table(table::nodes(&placement, !model.info.agents.is_empty()));
    let caution = words::unsteady(&placement).map(Block::Caution);
    Some(Section {
        blocks: caution.into_iter().chain([table]).collect(),
        ..Section::new("placement", "Nodes of the system")
    })
}

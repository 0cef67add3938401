//! Clients with a number of requests each: how many finished, and why the others ended.

use super::table;
use crate::layout::document::{Block, Section};
use waggle_analysis::Model;

/// `None` if the load is another one.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let clients = table::clients(model)?;
    Some(Section {
        lead: "All clients of a trial begin at the same time. One that ends early has no result, whatever was answered before.",
        blocks: Block::tables([clients]).collect(),
        ..Section::new("clients", "Clients")
    })
}

//! What ran beside the measured load.

use super::table;
use crate::layout::document::{Block, Section};
use waggle_analysis::Model;

/// `None` if nothing ran beside it.
pub(crate) fn section(model: &Model) -> Option<Section> {
    Some(Section {
        lead: "Loads that began before the warm-up and ended with the measured phase, over connections of their own. They count in no \
               metric of the measured load; CPU of the system per request contains what they cost.",
        blocks: vec![Block::Table(table::background_loads(model)?)],
        ..Section::new("background", "Background loads")
    })
}

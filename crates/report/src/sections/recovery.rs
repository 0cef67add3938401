//! How soon each cell had recovered after its load fell.

use crate::{
    document::{Block, Section},
    tables,
};
use waggle_analysis::Model;

/// Nothing where the load does not fall.
pub(super) fn section(model: &Model) -> Option<Section> {
    Some(Section {
        lead: "When the measured phase is over, the load falls at once. An interval is bad in which a request failed, the p99 of \
               response time was above what is good, or no answer came although one was waited for. Response times count from when a \
               request was due, so that what had piled up is in them. A trial that was not well at the end took longer than was \
               looked for; there is a mean only where every trial recovered.",
        blocks: vec![Block::Table(tables::recovery(model)?)],
        ..Section::new("recovery", "Recovery", "Recovery")
    })
}

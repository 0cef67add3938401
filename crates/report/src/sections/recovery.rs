//! Recovery: how long each cell took to recover after its load dropped.

use crate::{
    document::{Block, Section},
    tables,
};
use waggle_analysis::Model;

/// `None` if the study has no recovery phase.
pub(super) fn section(model: &Model) -> Option<Section> {
    Some(Section {
        lead: "At the end of the measured phase the load drops at once. An interval is bad if a request failed, if the p99 of response \
               time was above its limit, or if no answer came although requests were waiting. Response times count from the instant at \
               which a request was due, so they include the time in a queue. A trial whose last interval was bad took longer than it was \
               observed; a cell has a mean only if every trial recovered.",
        blocks: vec![Block::Table(tables::recovery(model)?)],
        ..Section::new("recovery", "Recovery")
    })
}

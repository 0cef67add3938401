//! Fault injection: what was done to components during a trial, and the consequences.

use super::table;
use crate::layout::document::{Block, Section};
use waggle_analysis::Model;

/// `None` if there was no fault.
pub(crate) fn section(model: &Model) -> Option<Section> {
    Some(Section {
        lead: "What the study did to the system under load. Steadiness and backlog growth are not judged in such a trial: its result is what \
               the fault did to requests and records.",
        blocks: vec![Block::Table(table::faults(model)?)],
        ..Section::new("faults", "Fault injection")
    })
}

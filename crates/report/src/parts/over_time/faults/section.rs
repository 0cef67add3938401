//! Fault injection: which replicas were killed during a trial, and the consequences.

use super::table;
use crate::layout::document::{Block, Section};
use waggle_analysis::Model;

/// `None` if nothing was killed.
pub(crate) fn section(model: &Model) -> Option<Section> {
    Some(Section {
        lead: "The study killed these replicas (SIGKILL), with every process that they had started, and restarted them unchanged. \
               Steadiness and backlog growth are not judged in such a trial: its result is what the kill did to requests and records.",
        blocks: vec![Block::Table(table::faults(model)?)],
        ..Section::new("faults", "Fault injection")
    })
}

//! What was killed in mid-trial, and what came of it.

use crate::{
    document::{Block, Section},
    tables,
};
use waggle_analysis::Model;

/// Nothing where nothing was killed.
pub(super) fn section(model: &Model) -> Option<Section> {
    Some(Section {
        lead: "Killed on purpose (SIGKILL), with all that it had started, and started again as it was. Whether the system was steady, \
               and whether a backlog grew, is not judged in such a trial; what the kill did to requests and records is what was to be \
               found.",
        blocks: vec![Block::Table(tables::disturbances(model)?)],
        ..Section::new("disturbances", "Disturbances", "Disturbances")
    })
}

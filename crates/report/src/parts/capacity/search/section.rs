//! Capacity search: the answers, a chart of the levels tried, and all of them as a table.

use super::table;
use crate::layout::document::{Block, Section};
use waggle_analysis::Model;

/// `None` if the study has no search.
pub(crate) fn section(model: &Model) -> Option<Section> {
    Some(Section {
        lead: "Each mark is a trial at one level: a disc if every condition held, a cross if one failed, a grey diamond if the trial is no \
               evidence. The line is the highest level that held in all of its trials, with ≥ if the search did not find where the system's own limit \
               is; the band is the 95 % interval of the level that half of the trials hold, fitted to all of them.",
        blocks: vec![
            Block::Table(table::answers(model)?),
            Block::choice("search-choice"),
            Block::wide(
                "search-levels",
                "Levels tried, and the metric of a condition",
            ),
            Block::Table(table::levels_table(model)?),
        ],
        ..Section::new("search", "Capacity search")
    })
}

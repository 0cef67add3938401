//! The answers of a search, a chart of the levels tried, and all of them as a table.

use crate::{
    document::{Block, Section},
    tables,
};
use waggle_analysis::Model;

/// Nothing where nothing is searched for.
pub(super) fn section(model: &Model) -> Option<Section> {
    Some(Section {
        lead: "Each mark is a trial at one level: a disc where every condition held, a cross where one did not, \
               a grey diamond where the trial is no evidence. The band lies between the highest level that holds and the lowest that \
               does not.",
        blocks: vec![
            Block::Table(tables::answers(model)?),
            Block::choice("search-choice"),
            Block::wide("search", "Levels tried, against the number of a condition"),
            Block::Table(tables::levels_table(model)?),
        ],
        ..Section::new("searches", "Search", "The search")
    })
}

//! Published figures beside the study's own: a chart of one column, and all of them as a table.

use crate::{
    document::{Block, Section},
    tables,
};
use waggle_analysis::Model;

/// Nothing where the study names none.
pub(super) fn section(model: &Model) -> Option<Section> {
    Some(Section {
        link: Some("Published"),
        lead: "What was published was measured on other machines; how the study is scaled to this one stands in its file.",
        blocks: vec![
            Block::choice("published-choice"),
            Block::wide(
                "beside",
                "Published and measured here; hollow where a cell may not be believed",
            ),
            Block::Table(tables::reference_table(model)?),
        ],
        ..Section::new(
            "published",
            "Beside published figures",
            "Beside published figures",
        )
    })
}

//! Each level of a factor as a ratio to its first, cell by cell: a table for each factor that no other section shows level by level.

use super::table;
use crate::{
    layout::document::{Block, Section},
    words::derived,
};
use waggle_analysis::Model;

/// `None` if no two cells can be compared like this.
pub(crate) fn section(model: &Model) -> Option<Section> {
    if model.level_ratios.is_empty() {
        return None;
    }
    let factors = model.level_ratios.iter();
    let factors: Vec<&str> = factors.map(|ratios| ratios.factor.as_str()).collect();
    let cautions = derived::cautions(model, &factors);
    let tables = model.level_ratios.iter().map(table::ratios);
    let blocks = cautions.into_iter().map(Block::Caution);
    Some(Section {
        lead: "Each ratio compares two cells that differ in one factor, and uses their trials alone. If its interval includes 1, no \
               difference was found, which does not prove that both are equal. Each interval is by itself: of a hundred ratios without any \
               difference about five exclude 1.",
        blocks: blocks.chain(tables.map(Block::Table)).collect(),
        ..Section::new("ratios", "Level ratios")
    })
}

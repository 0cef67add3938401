//! What it cost, who was busy, and what was watched.

use crate::{
    document::{Block, Section},
    tables,
};
use waggle_analysis::Model;

pub(super) fn section(model: &Model) -> Section {
    let all = [
        tables::busiest(model),
        Some(tables::cost(model)),
        tables::watches(model),
    ];
    Section {
        blocks: Block::tables(all.into_iter().flatten()).collect(),
        ..Section::new("cost", "Cost", "What it cost, and who was busy")
    }
}

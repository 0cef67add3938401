//! Resource use: CPU and memory, and the metrics of the system.

use crate::{
    document::{Block, Section},
    tables,
};
use waggle_analysis::Model;

pub(super) fn section(model: &Model) -> Section {
    let all = [
        Some(tables::resources(model)),
        tables::system_metrics(model),
    ];
    Section {
        blocks: Block::tables(all.into_iter().flatten()).collect(),
        ..Section::new("resources", "Resource use")
    }
}

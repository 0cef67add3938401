//! Resource use: CPU and memory, and the metrics of the system.

use super::{count_comparison, table};
use crate::{
    layout::document::{Block, Section},
    parts::system::limits,
    words::imported,
};
use waggle_analysis::Model;

pub(crate) fn section(model: &Model) -> Section {
    if let Some(imported) = &model.info.imported {
        return Section {
            blocks: vec![Block::Note(imported::no_resources(&imported.tool))],
            ..Section::new("resources", "Resource use")
        };
    }
    let all = [
        Some(table::resources(model)),
        limits::table::component_limits(model),
        table::system_metrics(model),
        count_comparison::count_comparison(model),
    ];
    Section {
        blocks: Block::tables(all.into_iter().flatten()).collect(),
        ..Section::new("resources", "Resource use")
    }
}

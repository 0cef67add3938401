//! Resource use: CPU and memory, and the metrics of the system.

use crate::{
    document::{Block, Section},
    tables,
    wording::imported,
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
        Some(tables::resources(model)),
        tables::component_limits(model),
        tables::system_metrics(model),
        tables::count_comparison(model),
    ];
    Section {
        blocks: Block::tables(all.into_iter().flatten()).collect(),
        ..Section::new("resources", "Resource use")
    }
}

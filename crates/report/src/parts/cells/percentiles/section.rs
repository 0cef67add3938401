//! Response time distribution, cell by cell.

use super::table;
use crate::{
    layout::document::{Block, Drawn, Section},
    parts::over_time::stalls,
    words::imported,
};
use waggle_analysis::Model;

pub(crate) fn section(model: &Model) -> Section {
    let note = imported::missing_lines(&model.info).map(|text| Block::Note(text.to_owned()));
    let blocks = vec![
        Block::choice("spectrum-choice"),
        Block::Drawn(Drawn::Cells),
        Block::wide(
            "spectrum",
            "Response time by percentile, both axes logarithmic",
        ),
        Block::PageOnly(vec![Block::Table(table::spectrum(model))]),
    ];
    Section {
        lead: "All trials of a cell are merged. Each step to the right leaves a tenth of the requests; a line ends at the slowest \
               request.",
        link: Some("Response times"),
        blocks: note
            .into_iter()
            .chain(blocks)
            .chain(Block::tables(table::typical_and_together(model)))
            .chain(Block::tables(stalls::table::stalls(model)))
            .collect(),
        ..Section::new("percentiles", "Response time distribution")
    }
}

//! All cells: a metric over the factors as a heat map and as lines, the table of cells, failures by kind.

use super::{asked, map::has_multiples, table};
use crate::layout::document::{Block, Chart, Drawn, Section};
use waggle_analysis::Model;

pub(crate) fn section(model: &Model) -> Section {
    let mut charts = vec![Chart::new(
        "heat",
        "Heat map over the factors; hatched cells are not reliable",
    )];
    // A factor whose levels are numbers has scaling curves: a chart for each outcome.
    if has_multiples(model) {
        charts.push(Chart::new(
            "multiples",
            "A chart for each level, with 95 % intervals over trials",
        ));
    } else if model.curves.is_none() {
        charts.push(Chart::new(
            "lines",
            "As lines, with 95 % intervals over trials",
        ));
    }
    let mut blocks = vec![
        Block::Drawn(Drawn::OfOneNumber(charts)),
        Block::Table(table::cells(model)),
    ];
    blocks.extend(Block::tables(asked::asked_metrics(model)));
    blocks.extend(Block::tables(table::failures(model)));
    blocks.extend(Block::tables(table::other_failures(model)));
    blocks.extend(Block::tables(table::all_levels(model)));
    Section {
        lead: match model.search {
            Some(_) => "Each cell at its highest holding level.",
            None => "",
        },
        blocks,
        ..Section::new("cells", "Cells")
    }
}

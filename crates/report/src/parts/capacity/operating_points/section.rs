//! The cells at shares of their capacities: what is best there, a chart, and the values.

use super::{table, words};
use crate::{
    layout::document::{Block, Fold, Folded, Section},
    parts::{cells::overview::asked, factors::ranking},
};
use waggle_analysis::{Model, OperatingPointModel};

/// `None` if the study has no operating points.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let points = model.operating_points.iter().enumerate();
    let blocks: Vec<Block> = points
        .flat_map(|(place, point)| blocks(model, place, point))
        .collect();
    (!blocks.is_empty()).then(|| Section {
        lead: "Each cell has a share of its own capacity as its load. The charts have the cells from the least CPU per request to the most; \
               error bars are 95 % intervals over trials, those of the capacity end at the lowest failing level; a hollow mark is a cell \
               that is not reliable.",
        blocks,
        ..Section::new("operating-points", "Operating points")
    })
}

fn blocks(model: &Model, place: usize, point: &OperatingPointModel) -> Vec<Block> {
    let mut blocks = vec![
        Block::Heading(words::heading(point)),
        Block::Sentences(words::sentences(point)),
        Block::wide(
            format!("operating-point-{place}"),
            format!("Each cell at {}", words::place(point.share)),
        ),
    ];
    blocks.extend(Block::tables(table::operating_point(model, point)));
    let details = details(point);
    if !details.is_empty() {
        blocks.push(Block::Folded(Folded {
            what: Fold::Same,
            summary: format!("Ranking and verdicts at {}", words::place(point.share)),
            blocks: details,
        }));
    }
    blocks
}

/// The ranking, estimates in several ways, and why a cell is not valid.
fn details(point: &OperatingPointModel) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(ranked) = ranking::table::ranking(&point.model) {
        blocks.push(Block::Sentences(ranking::words::sentences(
            &point.model.rankings,
        )));
        blocks.push(Block::Note(ranking::words::METHOD.to_owned()));
        blocks.push(Block::Table(ranked.without_heading()));
    }
    let asked = asked::asked_metrics(&point.model);
    blocks.extend(asked.map(|table| Block::Table(table.without_heading())));
    let reasons = words::reasons(point);
    if !reasons.is_empty() {
        blocks.push(Block::Sentences(reasons));
    }
    blocks
}

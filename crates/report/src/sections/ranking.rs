//! The levels of a factor from the best to the worst, and which of them cannot be told apart.

use crate::{
    document::{Block, Section},
    tables,
    wording::ranking as wording,
};
use waggle_analysis::Model;

/// `None` if no factor is ranked.
pub(super) fn section(model: &Model) -> Option<Section> {
    let table = tables::ranking(model)?;
    let sentences = wording::sentences(&model.rankings);
    let mut blocks: Vec<Block> = sentences.into_iter().map(Block::Headline).collect();
    blocks.push(Block::Note(wording::METHOD.to_owned()));
    blocks.push(Block::Table(table));
    Some(Section {
        blocks,
        ..Section::new("ranking", "Ranking")
    })
}

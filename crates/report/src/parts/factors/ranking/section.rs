//! The levels of a factor from the best to the worst, and which of them cannot be told apart.

use super::{table, words};
use crate::{
    layout::document::{Block, Section},
    parts::opening::asked_before,
};
use waggle_analysis::Model;

/// `None` if no factor is ranked.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let table = table::ranking(model)?;
    let sentences = words::sentences(&model.rankings);
    let mut blocks: Vec<Block> = sentences.into_iter().map(Block::Headline).collect();
    // A ranking is of what the study asks about.
    let outcomes = model.rankings.iter().flat_map(|entry| &entry.outcomes);
    let outcomes = outcomes.map(|entry| (entry.name.as_str(), true));
    blocks.extend(asked_before::mark(model, outcomes).map(Block::Note));
    blocks.push(Block::Note(words::METHOD.to_owned()));
    blocks.push(Block::Table(table));
    Some(Section {
        blocks,
        ..Section::new("ranking", "Ranking")
    })
}

//! What each factor does: what matters most in a sentence, a chart of the levels, tables of shares, ratios and comparisons.

use crate::{
    document::{Block, Section},
    tables,
};
use waggle_analysis::Model;

/// Nothing where the cells form no complete grid.
pub(super) fn section(model: &Model) -> Option<Section> {
    let effects = model.effects.as_ref()?;
    let mut blocks = vec![
        Block::Headline(effects.headline.clone()),
        Block::Sentences(effects.sentences.clone()),
    ];
    blocks.extend(effects.caution.clone().map(Block::Caution));
    blocks.extend(effects.notes.iter().cloned().map(Block::Note));
    if !effects.outcomes.is_empty() {
        blocks.extend([
            Block::choice("effects-choice"),
            Block::wide(
                "effects-levels",
                "Each level as a ratio to the first of its factor",
            ),
        ]);
    }
    let tables = [
        tables::shares(effects),
        tables::ratios(effects),
        tables::dependences(effects, &model.comparisons),
    ];
    blocks.extend(Block::tables(tables.into_iter().flatten()));
    Some(Section {
        blocks,
        ..Section::new("effects", "Effects", "Effects of the factors")
    })
}

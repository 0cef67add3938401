//! Main effects and interactions: the strongest in a sentence, a chart of the levels, tables of variation explained, levels and
//! interactions.

use super::{table, words};
use crate::{
    layout::document::{Block, Section},
    parts::opening::asked_before,
    words::derived,
};
use waggle_analysis::Model;

/// `None` if the cells form no complete grid.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let effects = model.effects.as_ref()?;
    let mut blocks = vec![
        Block::Headline(words::headline(effects)),
        Block::Sentences(words::sentences(effects)),
    ];
    let outcomes = effects.outcomes.iter();
    let outcomes = outcomes.map(|entry| (entry.name.as_str(), entry.is_asked));
    blocks.extend(asked_before::mark(model, outcomes).map(Block::Note));
    blocks.extend(words::caution(effects).map(Block::Caution));
    blocks.extend(words::open_ratios(effects).map(Block::Caution));
    let factors = effects.factors.iter().map(|entry| entry.name.as_str());
    let cautions = derived::cautions(model, &factors.collect::<Vec<_>>());
    blocks.extend(cautions.into_iter().map(Block::Caution));
    blocks.extend(words::notes(effects).into_iter().map(Block::Note));
    if !effects.outcomes.is_empty() {
        blocks.extend([
            Block::choice("effects-choice"),
            Block::wide(
                "effects-levels",
                "Each level as a ratio to the first level of its factor",
            ),
        ]);
    }
    let tables = [
        table::shares(effects),
        table::ratios(effects),
        table::dependences(effects, &model.comparisons),
    ];
    blocks.extend(Block::tables(tables.into_iter().flatten()));
    Some(Section {
        blocks,
        ..Section::new("effects", "Main effects")
    })
}

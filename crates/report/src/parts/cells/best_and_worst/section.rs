//! The best and the worst trial of each cell: failures, successes, and the trials themselves.

use super::{table, words};
use crate::layout::document::{Block, Section};
use waggle_analysis::Model;

/// `None` if the study does not ask for it.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let ranking = model.best_and_worst.as_ref()?;
    let mut blocks = vec![Block::Sentences(words::sentences(ranking))];
    let tables = [
        table::least_and_most_failures(model),
        table::best_and_worst_successes(model),
        table::best_and_worst_trials(model),
    ];
    blocks.extend(Block::tables(tables.into_iter().flatten()));
    Some(Section {
        lead: "Of single trials, next to the estimates, which rest on all of them.",
        blocks,
        ..Section::new("best-and-worst", "Best and worst")
    })
}

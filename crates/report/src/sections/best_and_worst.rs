//! The best and the worst trial of each cell: failures, successes, and the trials themselves.

use crate::{
    document::{Block, Section},
    tables,
    wording::best_and_worst as wording,
};
use waggle_analysis::Model;

/// `None` if the study does not ask for it.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let of = model.best_and_worst.as_ref()?;
    let mut blocks = vec![Block::Sentences(wording::sentences(of))];
    let tables = [
        tables::least_and_most_failures(model),
        tables::best_and_worst_successes(model),
        tables::best_and_worst_trials(model),
    ];
    blocks.extend(Block::tables(tables.into_iter().flatten()));
    Some(Section {
        lead: "Of single trials, next to the estimates, which rest on all of them.",
        blocks,
        ..Section::new("best-and-worst", "Best and worst")
    })
}

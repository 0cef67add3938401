//! The steps of a scenario: a spectrum of each, their numbers, the sessions, the failures.

use crate::{
    document::{Block, Section},
    tables,
};
use waggle_analysis::Model;

/// Nothing without a scenario.
pub(super) fn section(model: &Model) -> Option<Section> {
    let steps = tables::steps(model)?;
    let mut blocks = vec![
        Block::choice("step-choice"),
        Block::wide(
            "step-spectrum",
            "Response time of each step by percentile, both axes logarithmic",
        ),
    ];
    let more = [tables::sessions(model), tables::step_failures(model)];
    blocks.extend(Block::tables(
        [Some(steps)].into_iter().chain(more).flatten(),
    ));
    Some(Section {
        lead: "Each step has a response time of its own; pauses between steps are in none of them.",
        blocks,
        ..Section::new("steps", "Steps", "Steps of the scenario")
    })
}

//! Scenario steps: a response time distribution of each, their metrics, the sessions, the failures.

use super::table;
use crate::layout::document::{Block, Section};
use waggle_analysis::Model;

/// `None` without a scenario.
pub(crate) fn section(model: &Model) -> Option<Section> {
    let steps = table::steps(model)?;
    let mut blocks = vec![
        Block::choice("step-choice"),
        Block::wide(
            "step-spectrum",
            "Response time of each step by percentile, both axes logarithmic",
        ),
    ];
    let more = [table::sessions(model), table::step_failures(model)];
    blocks.extend(Block::tables(
        [Some(steps)].into_iter().chain(more).flatten(),
    ));
    Some(Section {
        lead: "Each step has its own response time; think times between steps are not part of it.",
        blocks,
        ..Section::new("steps", "Scenario steps")
    })
}

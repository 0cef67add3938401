//! What the report says, in reading order: the answer first, how it was measured last.

mod cells;
mod comparisons;
mod cost;
mod curves;
mod disturbed;
mod effects;
mod method;
mod opening;
mod percentiles;
mod published;
mod records;
mod recovery;
mod search;
mod steps;
mod time;
mod trials;
mod verdicts;

use std::{panic, thread};

use crate::document::{Document, Section};
use waggle_analysis::Model;

/// The report of a run.
pub(crate) fn document(model: &Model) -> Document {
    // The table of every number takes as long as all other sections.
    let (trials, rest) = thread::scope(|scope| {
        let trials = scope.spawn(|| trials::section(model));
        let rest = sections(model);
        let trials = trials.join();
        let trials = trials.unwrap_or_else(|panicked| panic::resume_unwind(panicked));
        (trials, rest)
    });
    let method = [method::section(model), method::study(model)];
    Document {
        opening: opening::opening(model),
        sections: rest.into_iter().chain([trials]).chain(method).collect(),
        version: model.info.waggle_version.clone(),
    }
}

/// All before the trials.
fn sections(model: &Model) -> Vec<Section> {
    let sections = [
        search::section(model),
        Some(cells::section(model)),
        curves::section(model),
        comparisons::section(model),
        effects::section(model),
        published::section(model),
        Some(percentiles::section(model)),
        steps::section(model),
        recovery::section(model),
        Some(time::section(model)),
        disturbed::section(model),
        records::section(model),
        Some(cost::section(model)),
        Some(verdicts::section(model)),
    ];
    sections.into_iter().flatten().collect()
}

//! The sections of the report, in reading order: the answer first, how it was measured last.

mod answers;
mod background;
mod best_and_worst;
mod bottlenecks;
mod cells;
mod clients;
mod comparisons;
mod curves;
mod delivery;
mod drift;
mod effects;
mod faults;
mod left_out;
mod method;
mod opening;
mod operating_points;
mod percentiles;
mod preparation;
mod ranking;
mod recovery;
mod reference;
mod resources;
mod search;
mod steps;
mod time;
mod trials;
mod verdicts;

use std::{panic, thread};

use crate::document::{Document, Opening, Section};
use waggle_analysis::Model;

/// The report of a run.
pub(crate) fn document(model: &Model) -> Document {
    // The table of all metrics takes as long as all other sections.
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

/// What a reader sees first.
pub(crate) fn opening_of(model: &Model) -> Opening {
    opening::opening(model)
}

/// All before the trials.
fn sections(model: &Model) -> Vec<Section> {
    let sections = [
        search::section(model),
        operating_points::section(model),
        Some(cells::section(model)),
        left_out::section(model),
        ranking::section(model),
        best_and_worst::section(model),
        curves::section(model),
        comparisons::section(model),
        effects::section(model),
        reference::section(model),
        Some(percentiles::section(model)),
        answers::section(model),
        clients::section(model),
        steps::section(model),
        preparation::section(model),
        background::section(model),
        recovery::section(model),
        Some(time::section(model)),
        faults::section(model),
        delivery::section(model),
        bottlenecks::section(model),
        Some(resources::section(model)),
        Some(verdicts::section(model)),
        drift::section(model),
    ];
    sections.into_iter().flatten().collect()
}

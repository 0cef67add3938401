//! The sections of the report, in reading order: the answer first, how it was measured last.

use super::parallel::run_both;
use crate::{
    layout::{
        document::{Document, Opening, Section},
        site::Site,
    },
    parts::{
        capacity::{operating_points, search},
        cells::{best_and_worst, left_out, overview, percentiles},
        factors::{ab_comparisons, curves, effects, level_ratios, ranking, reference},
        load::{background, clients, inspected_answers, preparation, steps},
        method, opening,
        over_time::{faults, recovery, time},
        reliability::{drift, trial_pages, trials, verdicts},
        system::{bottlenecks, delivery, placement, resources},
    },
};
use waggle_analysis::Model;

/// The report of a run.
pub(crate) fn document(model: &Model) -> Document {
    // The table of all metrics takes as long as all other sections.
    let (trials, rest) = run_both(|| trials::section::section(model), || sections(model));
    let method = [
        method::section::section(model),
        method::section::study(model),
    ];
    let pages = trial_pages::section::section(model);
    Document {
        opening: opening::section::opening(model),
        sections: rest
            .into_iter()
            .chain([trials])
            .chain(method)
            .chain(pages)
            .collect(),
        version: model.info.waggle_version.clone(),
        site: Site::default(),
    }
}

/// What a reader sees first.
pub(crate) fn opening_of(model: &Model) -> Opening {
    opening::section::opening(model)
}

/// All before the trials.
fn sections(model: &Model) -> Vec<Section> {
    let sections = [
        opening::notes::section(model),
        search::section::section(model),
        operating_points::section::section(model),
        Some(overview::section::section(model)),
        left_out::section::section(model),
        ranking::section::section(model),
        best_and_worst::section::section(model),
        curves::section::section(model),
        ab_comparisons::section::section(model),
        effects::section::section(model),
        level_ratios::section::section(model),
        reference::section::section(model),
        Some(percentiles::section::section(model)),
        inspected_answers::section::section(model),
        clients::section::section(model),
        steps::section::section(model),
        preparation::section::section(model),
        background::section::section(model),
        recovery::section::section(model),
        Some(time::section::section(model)),
        faults::section::section(model),
        delivery::section::section(model),
        bottlenecks::section::section(model),
        Some(resources::section::section(model)),
        placement::section::section(model),
        Some(verdicts::section::section(model)),
        drift::section::section(model),
    ];
    sections.into_iter().flatten().collect()
}

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

use crate::document::Document;
use waggle_analysis::Model;

/// The report of a run.
pub(crate) fn document(model: &Model) -> Document {
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
        Some(trials::section(model)),
        Some(method::section(model)),
        Some(method::study(model)),
    ];
    Document {
        opening: opening::opening(model),
        sections: sections.into_iter().flatten().collect(),
        version: model.info.waggle_version.clone(),
    }
}

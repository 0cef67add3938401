//! The data of the page's charts: values, already judged and merged, and their names. The scripts in `assets/page` read nothing else.

mod cells;
mod comparisons;
mod curves;
mod effects;
mod map;
mod numbers;
mod operating_points;
mod reference;
mod search;
mod trials;

pub(crate) use map::has_multiples;
use serde::Serialize;

use crate::labels;
use waggle_analysis::{Model, own_unit};

/// All data of the page.
#[derive(Serialize)]
pub(crate) struct Charts<'a> {
    counted: &'static str,
    factors: Vec<effects::Factor<'a>>,
    /// The cells fill a map of the factors' levels.
    map: bool,
    /// So many levels or factors that there is a chart for each level of one.
    multiples: bool,
    metrics: Vec<map::Heading>,
    cells: Vec<cells::Cell<'a>>,
    trials: Vec<trials::Trial<'a>>,
    /// Number of the cell that the answer is about.
    best: Option<u32>,
    /// Name of the last probe.
    probe: Option<&'a str>,
    /// Name and unit of each.
    system_metrics: Vec<(&'a str, &'static str)>,
    curves: Option<curves::Curves<'a>>,
    comparisons: Vec<comparisons::Comparison<'a>>,
    effects: Option<effects::Effects<'a>>,
    reference: Option<reference::Reference<'a>>,
    search: Option<search::Search<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    operating_points: Vec<operating_points::OperatingPoint>,
}

impl<'a> Charts<'a> {
    pub(crate) fn new(model: &'a Model) -> Self {
        let factors = model.factors.iter().map(|factor| effects::Factor {
            name: &factor.name,
            levels: &factor.levels,
        });
        let cells = model.cells.iter();
        let mapped = map::mapped_metrics(model);
        Self {
            counted: labels::counted_word(model.counted),
            factors: factors.collect(),
            map: map::is_map(model),
            multiples: map::has_multiples(model),
            metrics: mapped.iter().map(|one| one.heading(model)).collect(),
            cells: cells
                .map(|cell| cells::Cell::new(model, cell, &mapped))
                .collect(),
            trials: model.trials.iter().map(trials::Trial::new).collect(),
            best: model.answer.cell,
            probe: model.info.delivery_probe.as_deref(),
            system_metrics: model
                .info
                .metrics
                .iter()
                .map(|metric| (metric.name.as_str(), labels::unit(own_unit(metric))))
                .collect(),
            curves: model.curves.as_ref().map(curves::Curves::new),
            comparisons: model
                .comparisons
                .iter()
                .map(comparisons::Comparison::new)
                .collect(),
            effects: model.effects.as_ref().map(effects::Effects::new),
            reference: model
                .reference
                .as_ref()
                .map(|results| reference::Reference::new(results, model)),
            search: model
                .search
                .as_ref()
                .map(|found| search::Search::new(found, model)),
            operating_points: model
                .operating_points
                .iter()
                .map(|point| operating_points::OperatingPoint::new(point, model))
                .collect(),
        }
    }
}

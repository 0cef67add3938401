//! The data of the page's charts: values, already judged and merged, and their names. The scripts in `assets/page` read nothing else.

use serde::Serialize;

use crate::{
    parts::{
        capacity::{operating_points, search},
        cells::overview::{self, map},
        factors::{ab_comparisons, curves, effects, reference},
        over_time::time,
    },
    words::labels,
};
use waggle_analysis::{Model, own_unit};

/// All data of the page.
#[derive(Serialize)]
pub(crate) struct Charts<'a> {
    /// Its name.
    study: &'a str,
    counted: &'static str,
    factors: Vec<effects::chart::Factor<'a>>,
    /// The cells fill a map of the factors' levels.
    map: bool,
    /// So many levels or factors that there is a chart for each level of one.
    multiples: bool,
    metrics: Vec<map::Heading>,
    cells: Vec<overview::chart::Cell<'a>>,
    trials: Vec<time::chart::Trial<'a>>,
    /// Number of the cell that the answer is about.
    best: Option<u32>,
    /// Name of the last probe.
    probe: Option<&'a str>,
    /// Name and unit of each.
    system_metrics: Vec<(&'a str, &'static str)>,
    curves: Option<curves::chart::Curves<'a>>,
    comparisons: Vec<ab_comparisons::chart::Comparison<'a>>,
    effects: Option<effects::chart::Effects<'a>>,
    reference: Option<reference::chart::Reference<'a>>,
    search: Option<search::chart::Search<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    operating_points: Vec<operating_points::chart::OperatingPoint>,
}

impl<'a> Charts<'a> {
    pub(crate) fn new(model: &'a Model) -> Self {
        let factors = model.factors.iter().map(|factor| effects::chart::Factor {
            name: &factor.name,
            levels: &factor.levels,
        });
        let cells = model.cells.iter();
        let mapped = map::mapped_metrics(model);
        Self {
            study: &model.info.study,
            counted: labels::counted_word(model.counted),
            factors: factors.collect(),
            map: map::is_map(model),
            multiples: map::has_multiples(model),
            metrics: mapped
                .iter()
                .map(|measure| measure.heading(model))
                .collect(),
            cells: cells
                .map(|cell| overview::chart::Cell::new(model, cell, &mapped))
                .collect(),
            trials: model.trials.iter().map(time::chart::Trial::new).collect(),
            best: model.answer.cell,
            probe: model.info.delivery_probe.as_deref(),
            system_metrics: model
                .info
                .metrics
                .iter()
                .map(|metric| (metric.name.as_str(), labels::unit(own_unit(metric))))
                .collect(),
            curves: model.curves.as_ref().map(curves::chart::Curves::new),
            comparisons: model
                .comparisons
                .iter()
                .map(ab_comparisons::chart::Comparison::new)
                .collect(),
            effects: model.effects.as_ref().map(effects::chart::Effects::new),
            reference: model
                .reference
                .as_ref()
                .map(|results| reference::chart::Reference::new(results, model)),
            search: model
                .search
                .as_ref()
                .map(|search_model| search::chart::Search::new(search_model, model)),
            operating_points: model
                .operating_points
                .iter()
                .map(|point| operating_points::chart::OperatingPoint::new(point, model))
                .collect(),
        }
    }
}

//! The properties of a load that are needed to add up and check its intervals.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use waggle_analysis::judge;
use waggle_load as load;
use waggle_runner::counts::{GeneratorSettings, TlsObstacle};
use waggle_stats::LoadModel;
use waggle_study::{Cell, Scenario, What};

use super::{
    forms::{GeneratorSettingsForm, LoadModelForm},
    statuses,
};

/// The load of one trial, as far as its checks need it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Shape {
    #[serde(with = "LoadModelForm")]
    pub(crate) model: LoadModel,
    /// What the load asks of the generator.
    #[serde(with = "GeneratorSettingsForm")]
    pub(crate) generator: GeneratorSettings,
    /// The load has stages, so it is not expected to be steady.
    pub(crate) has_stages: bool,
    pub(crate) requests_at_most: Option<u64>,
    /// Length of an interval of the load generator.
    pub(crate) interval: Duration,
    pub(crate) records_per_request: u32,
    /// Steps of a scenario; empty without one.
    pub(crate) steps: Vec<String>,
    /// Labels of expected statuses: of the request, or of each step.
    pub(crate) good_statuses: Vec<String>,
    /// Hint that is added to the failure if no connection can be established.
    #[serde(skip, default = "no_hint")]
    pub(crate) tls_hint: fn(TlsObstacle) -> &'static str,
}

/// Hints are those of flags; a study has none.
fn no_hint() -> fn(TlsObstacle) -> &'static str {
    |_| ""
}

impl Shape {
    /// The load of a cell, with this number of worker threads.
    pub(crate) fn from_cell(cell: &Cell, workers: usize) -> Self {
        let (steps, good_statuses) = match &cell.what {
            What::Request(request) => (
                Vec::new(),
                vec![statuses::expected_text(&request.expect.status)],
            ),
            What::Scenario(scenario) => {
                // Feeds may be large, and are not needed for the steps.
                let bare = Scenario {
                    feeds: Vec::new(),
                    ..Scenario::clone(scenario)
                };
                let bare = waggle_runner::load_scenario(&bare, "", "", &waggle_runner::Kept::new());
                Self::of_what(&load::What::Scenario(Arc::new(bare)))
            }
        };
        let workers = workers.min(cell.load.connections() as usize);
        Self {
            model: judge::load_model(cell.load.kind()),
            generator: GeneratorSettings::from_cell(cell, workers),
            has_stages: !cell.stages.is_empty(),
            requests_at_most: cell.schedule.requests_in_all(),
            interval: cell.schedule.interval,
            records_per_request: cell.records().map_or(0, |records| records.per_request),
            steps,
            good_statuses,
            tls_hint: no_hint(),
        }
    }

    /// The steps and the labels of expected statuses.
    fn of_what(what: &load::What) -> (Vec<String>, Vec<String>) {
        let steps = match what {
            load::What::Requests { .. } => Vec::new(),
            load::What::Scenario(scenario) => scenario.steps.clone(),
        };
        (steps, statuses::good(what))
    }
}

//! The properties of a load that are needed to add up and check its intervals.

use std::{sync::Arc, time::Duration};

use waggle_load as load;
use waggle_stats::LoadModel;
use waggle_study::{Cell, LoadModel as Model, Scenario, What};

use super::statuses;

/// The load of one trial, as far as its checks need it.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) model: LoadModel,
    /// Worker threads with connections.
    pub(crate) workers: usize,
    /// Connections or users.
    pub(crate) connections: u64,
    /// Constant offered load in requests per second; `None` if it is not constant.
    pub(crate) offered_per_s: Option<f64>,
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
    /// Hint that is added to the failure if the certificate of the server is refused.
    pub(crate) certificate_hint: &'static str,
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
                let bare = waggle_runner::load_scenario(&bare, "", "");
                Self::of_what(&load::What::Scenario(Arc::new(bare)))
            }
        };
        let model = match cell.load {
            Model::Closed { .. } => LoadModel::Closed,
            Model::Open { .. } => LoadModel::Open,
            Model::Users { .. } => LoadModel::Users,
        };
        let connections = cell.load.connections();
        let requests_at_most = cell.schedule.requests_in_all();
        // A load that ends by its request count waits for the last answers while nothing falls due.
        let is_constant = cell.stages.is_empty() && requests_at_most.is_none();
        Self {
            model,
            workers: workers.min(connections as usize),
            connections: connections.into(),
            offered_per_s: match cell.load {
                // With a scenario the rate is one of sessions, of which only the first request falls due by it.
                Model::Open { rate_per_s, .. } if steps.is_empty() && is_constant => {
                    Some(rate_per_s)
                }
                _ => None,
            },
            has_stages: !cell.stages.is_empty(),
            requests_at_most,
            interval: cell.schedule.interval,
            records_per_request: cell.records().map_or(0, |records| records.per_request),
            steps,
            good_statuses,
            certificate_hint: "",
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

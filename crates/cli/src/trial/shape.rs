//! What of a load must be known to add its intervals up and to judge them.

use std::{sync::Arc, time::Duration};

use waggle_load as load;
use waggle_stats::LoadModel;
use waggle_study::{Cell, LoadModel as Model, Scenario, What};

use super::statuses;

/// The load of one trial, as far as its intervals are judged by it.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) model: LoadModel,
    /// Threads that have connections.
    pub(crate) workers: usize,
    /// Connections or users.
    pub(crate) connections: u64,
    /// Requests per second that should have fallen due all the time; `None` where that is not one number.
    pub(crate) offered_per_s: Option<f64>,
    /// It changes by stages, so that it neither is steady nor should be.
    pub(crate) has_stages: bool,
    pub(crate) requests_at_most: Option<u64>,
    /// Of the engine's intervals.
    pub(crate) interval: Duration,
    pub(crate) records_per_request: u32,
    /// Of a scenario; empty where each request is measured alone.
    pub(crate) steps: Vec<String>,
    /// What good answers are called: of the request, or of each step.
    pub(crate) good_statuses: Vec<String>,
    /// Added to the reason why there is no result where the server's certificate is refused.
    pub(crate) certificate_hint: &'static str,
}

impl Shape {
    /// Of a study's cell, whose engine has so many threads.
    pub(crate) fn from_cell(cell: &Cell, workers: usize) -> Self {
        let (steps, good_statuses) = match &cell.what {
            What::Request(request) => (
                Vec::new(),
                vec![statuses::expected_text(&request.expect.status)],
            ),
            What::Scenario(scenario) => {
                // Its feeds may be large, and say nothing of its steps.
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
        // A load that ends by its count waits for the last answers while nothing falls due.
        let is_constant = cell.stages.is_empty() && requests_at_most.is_none();
        Self {
            model,
            workers: workers.min(connections as usize),
            connections: connections.into(),
            offered_per_s: match cell.load {
                // A schedule asks for sessions, of whose requests only the first falls due by it.
                Model::Open { rate_per_s, .. } if steps.is_empty() && is_constant => {
                    Some(rate_per_s)
                }
                _ => None,
            },
            has_stages: !cell.stages.is_empty(),
            requests_at_most,
            interval: cell.measure.interval,
            records_per_request: cell.records().map_or(0, |records| records.per_request),
            steps,
            good_statuses,
            certificate_hint: "",
        }
    }

    /// The steps and the good statuses of what is sent.
    fn of_what(what: &load::What) -> (Vec<String>, Vec<String>) {
        let steps = match what {
            load::What::Requests { .. } => Vec::new(),
            load::What::Scenario(scenario) => scenario.steps.clone(),
        };
        (steps, statuses::good(what))
    }
}

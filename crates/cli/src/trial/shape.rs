//! What of a load must be known to add its intervals up and to judge them.

use std::time::Duration;

use waggle_load::What;
use waggle_stats::LoadModel;

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
    /// The steps and the good statuses of what is sent.
    pub(crate) fn of_what(what: &What) -> (Vec<String>, Vec<String>) {
        let steps = match what {
            What::Requests { .. } => Vec::new(),
            What::Scenario(scenario) => scenario.steps.clone(),
        };
        (steps, statuses::good(what))
    }
}

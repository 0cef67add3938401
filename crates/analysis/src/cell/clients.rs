//! Clients that send a number of requests each: what became of them in a trial, and over the trials of a cell.

use waggle_metrics::{Metric, NamedMetric};
use waggle_results::{ClientEndInfo, ClientInfo, FailureKind};

use waggle_stats::Estimate;

use crate::{metric::aggregate, trial::trial_model::TrialModel};

/// The clients of a cell over its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientsModel {
    pub clients: u64,
    pub finished: u64,
    /// Ended early, by the reason; the most frequent first.
    pub failed: Vec<(FailureKind, u64)>,
    /// Still sent requests when the load had to end.
    pub stopped: u64,
    pub completed_requests: u64,
    pub succeeded_requests: u64,
    /// Requests per second of a client, median over those that finished; `None` without any.
    pub throughput: Option<Estimate>,
}

/// The clients of a cell; `None` if its load is another one.
pub(crate) fn of_cell(trials: &[&TrialModel]) -> Option<ClientsModel> {
    let numbers = trials.iter().filter_map(|trial| trial.numbers.as_ref());
    let clients: Vec<&ClientInfo> = numbers.flat_map(|numbers| &numbers.clients).collect();
    if clients.is_empty() {
        return None;
    }
    let count = |end: fn(ClientEndInfo) -> bool| {
        clients.iter().filter(|client| end(client.end)).count() as u64
    };
    let mut failed: Vec<(FailureKind, u64)> = Vec::new();
    for client in &clients {
        let ClientEndInfo::Failed(kind) = client.end else {
            continue;
        };
        match failed.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => failed.push((kind, 1)),
        }
    }
    failed.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Some(ClientsModel {
        clients: clients.len() as u64,
        finished: count(|end| end == ClientEndInfo::Finished),
        failed,
        stopped: count(|end| end == ClientEndInfo::Stopped),
        completed_requests: clients.iter().map(|client| client.completed).sum(),
        succeeded_requests: clients.iter().map(|client| client.succeeded).sum(),
        throughput: aggregate::estimate(&NamedMetric::of_all(Metric::ClientsThroughput), trials),
    })
}

//! Clients that send a number of requests each: what became of them in a trial, and over the trials of a cell.

use waggle_metrics::{Metric, NamedMetric};
use waggle_results::{ClientEndInfo, ClientInfo, FailureKind};

use waggle_stats::Estimate;

use crate::{TrialModel, distribution::as_f64, metric};

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
        throughput: metric::estimate(&NamedMetric::of_all(Metric::ClientsThroughput), trials),
    })
}

/// How many clients of a trial ended like this.
pub(crate) fn count(clients: &[ClientInfo], is_counted: fn(ClientEndInfo) -> bool) -> Option<u64> {
    let counted = clients.iter().filter(|client| is_counted(client.end));
    (!clients.is_empty()).then(|| counted.count() as u64)
}

/// A sum over the clients of a trial.
pub(crate) fn sum(clients: &[ClientInfo], of: fn(&ClientInfo) -> u64) -> Option<u64> {
    (!clients.is_empty()).then(|| clients.iter().map(of).sum())
}

/// Completed requests per second of a client, median over those that finished: the others have no result.
pub(crate) fn throughput(clients: &[ClientInfo]) -> Option<f64> {
    let finished = clients
        .iter()
        .filter(|client| client.end == ClientEndInfo::Finished && client.seconds > 0.0);
    let rates: Vec<f64> = finished
        .map(|client| as_f64(client.completed) / client.seconds)
        .collect();
    (!rates.is_empty()).then(|| waggle_stats::sample_median(&rates))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(completed: u64, seconds: f64, end: ClientEndInfo) -> ClientInfo {
        ClientInfo {
            sent: completed,
            completed,
            succeeded: completed,
            seconds,
            end,
        }
    }

    #[test]
    fn clients_that_ended_early_have_no_rate() {
        let failed = ClientEndInfo::Failed(FailureKind::Reset);
        let clients = [
            client(100, 2.0, ClientEndInfo::Finished),
            client(100, 1.0, ClientEndInfo::Finished),
            client(100, 4.0, ClientEndInfo::Finished),
            client(90, 0.1, failed),
        ];
        assert_eq!(throughput(&clients), Some(50.0));
        assert_eq!(
            count(&clients, |end| end == ClientEndInfo::Finished),
            Some(3)
        );
        assert_eq!(sum(&clients, |client| client.completed), Some(390));
        assert_eq!(throughput(&clients[3..]), None);
        assert_eq!(count(&[], |_| true), None);
    }
}

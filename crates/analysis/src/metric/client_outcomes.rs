//! Metrics of clients that send a number of requests each, in one trial.

use waggle_metrics::Metric;
use waggle_results::{ClientEndInfo, ClientInfo};

use crate::{
    metric::reading::{Reading, count, value},
    recording::histogram::as_f64,
};

/// The metric, if it is one of clients and there are any.
pub(super) fn reading(metric: Metric, clients: &[ClientInfo]) -> Option<Reading> {
    match metric {
        Metric::ClientsFinished => {
            count(count_ends(clients, |end| end == ClientEndInfo::Finished)?)
        }
        Metric::ClientsFailed => count(count_ends(clients, |end| {
            matches!(end, ClientEndInfo::Failed(_))
        })?),
        Metric::ClientsCompleted => count(sum(clients, |client| client.completed)?),
        Metric::ClientsSucceeded => count(sum(clients, |client| client.succeeded)?),
        Metric::ClientsThroughput => value(throughput(clients)?),
        _ => None,
    }
}

/// How many clients of a trial ended like this.
fn count_ends(clients: &[ClientInfo], is_counted: fn(ClientEndInfo) -> bool) -> Option<u64> {
    let counted = clients.iter().filter(|client| is_counted(client.end));
    (!clients.is_empty()).then(|| counted.count() as u64)
}

/// A sum over the clients of a trial.
fn sum(clients: &[ClientInfo], count: fn(&ClientInfo) -> u64) -> Option<u64> {
    (!clients.is_empty()).then(|| clients.iter().map(count).sum())
}

/// Completed requests per second of a client, median over those that finished: the others have no result.
fn throughput(clients: &[ClientInfo]) -> Option<f64> {
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
    use waggle_results::FailureKind;

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
            count_ends(&clients, |end| end == ClientEndInfo::Finished),
            Some(3)
        );
        assert_eq!(sum(&clients, |client| client.completed), Some(390));
        assert_eq!(throughput(&clients[3..]), None);
        assert_eq!(count_ends(&[], |_| true), None);
    }
}

//! Reads one metric of a system: from the Prometheus text format, from JSON, or as the lag of a consumer group.

mod consumer_lag;
mod prometheus;

use std::{sync::Arc, time::Duration};

use serde_json_path::JsonPath;
use tokio::time::timeout;
use waggle_study::{MetricSource, Selector, SystemMetric};

use self::consumer_lag::ConsumerLag;
use crate::{
    http::{
        client::{Connection, Request},
        peer::{self, Peer},
    },
    problem::Problem,
};

/// Timeout for one answer.
const ANSWER_AT_MOST: Duration = Duration::from_secs(2);
/// Bytes of an answer that are read.
const BODY_MAX_BYTES: usize = 8 * 1024 * 1024;

/// The source of a number.
#[derive(Debug)]
pub enum Source<N> {
    /// A connection to each replica.
    Prometheus {
        connections: Vec<N>,
        get: String,
        selector: Selector,
    },
    Json {
        connections: Vec<N>,
        get: String,
        path: JsonPath,
    },
    ConsumerLag(Arc<ConsumerLag>),
}

impl<N: Connection> Source<N> {
    pub fn new(
        metric: &SystemMetric,
        peers: &[Peer],
        connection: impl Fn(&Peer) -> N,
    ) -> Result<Self, Problem> {
        if peers.is_empty() {
            return Err(Problem(format!(
                "component \"{}\" has no port \"{}\"",
                metric.component, metric.port
            )));
        }
        let connections = || peers.iter().map(&connection).collect();
        Ok(match &metric.source {
            MetricSource::Prometheus { get, selector } => Self::Prometheus {
                connections: connections(),
                get: get.clone(),
                selector: selector.clone(),
            },
            MetricSource::Json { get, path } => Self::Json {
                connections: connections(),
                get: get.clone(),
                path: JsonPath::parse(path).map_err(|why| why.to_string())?,
            },
            MetricSource::ConsumerLag { group, topic } => {
                let brokers = peer::addresses(peers);
                Self::ConsumerLag(Arc::new(ConsumerLag::new(&brokers, group, topic)?))
            }
        })
    }

    /// The current number, over all replicas.
    pub async fn read(&mut self) -> Result<f64, Problem> {
        match self {
            Self::Prometheus {
                connections,
                get,
                selector,
            } => {
                let mut sum = 0.0;
                for connection in connections {
                    let text = body(connection, get).await?;
                    let text = String::from_utf8_lossy(&text);
                    sum += prometheus::sum(&text, selector)
                        .ok_or_else(|| prometheus::absence(get, &text, selector))?;
                }
                Ok(sum)
            }
            Self::Json {
                connections,
                get,
                path,
            } => {
                let mut sum = 0.0;
                for connection in connections {
                    sum += number(&body(connection, get).await?, path)
                        .ok_or_else(|| format!("{get} has no number there"))?;
                }
                Ok(sum)
            }
            Self::ConsumerLag(lag) => {
                let lag = Arc::clone(lag);
                // The read blocks its thread while it waits for the broker.
                let read = tokio::task::spawn_blocking(move || lag.read());
                read.await.map_err(|why| why.to_string())?
            }
        }
    }
}

async fn body(connection: &mut impl Connection, get: &str) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let mut keep = |chunk: &[u8]| {
        let room = BODY_MAX_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
    };
    let asked = timeout(
        ANSWER_AT_MOST,
        connection.send(&Request::get(get), &mut keep),
    )
    .await;
    match asked {
        Ok(Ok(200)) => Ok(body),
        Ok(Ok(status)) => Err(format!("{get} was answered with status {status}")),
        Ok(Err(problem)) => Err(problem.to_string()),
        Err(_) => Err(format!(
            "{get} was not answered within {} s",
            ANSWER_AT_MOST.as_secs()
        )),
    }
}

/// The number at a path; numbers in quotes and booleans count, too.
fn number(body: &[u8], path: &JsonPath) -> Option<f64> {
    let json = serde_json::from_slice(body).ok()?;
    let value = path.query(&json).first()?;
    let number = match value {
        serde_json::Value::Bool(truth) => f64::from(u8::from(*truth)),
        serde_json::Value::String(text) => text.parse().ok()?,
        other => other.as_f64()?,
    };
    Some(number).filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use serde_json_path::JsonPath;

    use super::number;

    #[test]
    fn numbers_are_found_in_json() {
        let check = |path: &str, expected: Option<f64>| {
            let json = br#"{"queue":{"depth":7,"name":"a"},"lag":["1.5"],"full":true}"#;
            assert_eq!(number(json, &JsonPath::parse(path).unwrap()), expected);
        };
        check("$.queue.depth", Some(7.0));
        check("$.lag[0]", Some(1.5));
        check("$.full", Some(1.0));
        check("$.queue.name", None);
        check("$.queue", None);
        check("$.none", None);
        assert_eq!(number(b"{", &JsonPath::parse("$").unwrap()), None);
    }
}

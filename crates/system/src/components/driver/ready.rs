//! The readiness check of a replica.

use std::time::Duration;

use tokio::{net::TcpStream, time::timeout};
use waggle_study::ReadyCheck;

use crate::{
    http::{
        client::{Connection, HttpConnector, Network, Request},
        peer::Peer,
    },
    problem::Problem,
};

/// Pause between two checks.
pub(super) const ASK_EVERY: Duration = Duration::from_millis(10);
/// Timeout of one check; then it is repeated.
const ANSWER_AT_MOST: Duration = Duration::from_secs(2);

/// `Err`: why it is not ready yet.
pub(super) async fn ask(check: &ReadyCheck, peer: &Peer) -> Result<(), Problem> {
    match check {
        ReadyCheck::Http { path, .. } => {
            let mut connection = Network.connection(peer);
            let request = Request::get(path);
            match timeout(ANSWER_AT_MOST, connection.send(&request, &mut |_| {})).await {
                Ok(Ok(200..=299)) => Ok(()),
                Ok(Ok(status)) => Err(Problem(format!(
                    "GET {path} was answered with status {status}"
                ))),
                Ok(Err(problem)) => Err(Problem(problem.to_string())),
                Err(_) => Err(Problem(format!("GET {path} was not answered"))),
            }
        }
        ReadyCheck::Tcp { .. } => {
            let address = peer.address;
            match timeout(ANSWER_AT_MOST, TcpStream::connect(address)).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(problem)) => Err(Problem(format!("cannot connect to {address}: {problem}"))),
                Err(_) => Err(Problem(format!("{address} does not take connections"))),
            }
        }
    }
}

//! The names of hosts that a replica connects to: it starts when they are known.

use std::time::Duration;

use tokio::{
    net::lookup_host,
    time::{Instant, sleep, timeout},
};

/// How long names of hosts may take to be known: a service is known some seconds after its pods.
const HOSTS_TIMEOUT: Duration = Duration::from_secs(60);
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);
const HOSTS_INTERVAL: Duration = Duration::from_millis(200);

/// A host that nobody knows after the timeout.
#[derive(Debug, thiserror::Error)]
#[error("the name {host} was not known within {} s: {why}", HOSTS_TIMEOUT.as_secs())]
pub(super) struct UnknownHost {
    host: String,
    why: String,
}

/// Waits until the names of all hosts are known. One that nobody knows after the timeout is named.
pub(super) async fn wait_for_hosts(hosts: &[String]) -> Result<(), UnknownHost> {
    let deadline = Instant::now() + HOSTS_TIMEOUT;
    for host in hosts {
        loop {
            // The port is of no account.
            let answer = timeout(LOOKUP_TIMEOUT, lookup_host((host.as_str(), 1))).await;
            let answer = answer.map(|known| known.map(|mut addresses| addresses.next()));
            let why = match answer {
                Ok(Ok(Some(_))) => break,
                Ok(Ok(None)) => "it has no address".to_owned(),
                Ok(Err(why)) => why.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            if Instant::now() >= deadline {
                return Err(UnknownHost {
                    host: host.clone(),
                    why,
                });
            }
            sleep(HOSTS_INTERVAL).await;
        }
    }
    Ok(())
}

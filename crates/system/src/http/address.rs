//! Addresses of hosts that are given by name.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpStream, lookup_host},
    time::{Instant, timeout_at},
};
use waggle_study::Address;

/// Timeout for one address of a host name; then the next address is tried.
const ONE_ADDRESS_AT_MOST: Duration = Duration::from_secs(5);

/// Timeout for all addresses of a server that was there before.
const FIND_AT_MOST: Duration = Duration::from_secs(20);

/// The first of the host's addresses that accepts a connection.
pub async fn find_first(host: &str, port: u16, deadline: Instant) -> io::Result<SocketAddr> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, "no answer in time");
    let addresses = timeout_at(deadline, lookup_host((host, port)))
        .await
        .map_err(|_| late())??;
    let mut why = io::Error::other("the name has no address");
    for address in addresses {
        let until = deadline.min(Instant::now() + ONE_ADDRESS_AT_MOST);
        match timeout_at(until, TcpStream::connect(address)).await {
            Ok(Ok(_)) => return Ok(address),
            Ok(Err(problem)) => why = problem,
            // The next one may answer: a machine can have addresses that never reply.
            Err(_) => why = late(),
        }
    }
    Err(why)
}

/// The first address of a host that accepts a connection.
pub async fn find_address(address: &Address) -> io::Result<SocketAddr> {
    find_first(&address.host, address.port, Instant::now() + FIND_AT_MOST).await
}

//! A port of a system that is up, as waggle connects to it.

use std::net::SocketAddr;

use waggle_load::Tls;
use waggle_study::Authorization;

/// A port of one replica.
#[derive(Debug, Clone)]
pub struct Peer {
    pub address: SocketAddr,
    /// `None`: connections are not encrypted.
    pub tls: Option<Tls>,
    /// Who one is: in each request that does not say so itself. Requests of the load have it already.
    pub authorization: Option<Authorization>,
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self {
            address,
            tls: None,
            authorization: None,
        }
    }
}

/// The addresses of several.
pub fn addresses(peers: &[Peer]) -> Vec<SocketAddr> {
    peers.iter().map(|peer| peer.address).collect()
}

//! The protocol and TLS settings of connections.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use waggle_spec::Protocol;

use super::tls::Tls;

/// How requests and answers are transported. The default is HTTP/1.1 without TLS.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Transport {
    pub protocol: Protocol,
    pub tls: Option<Tls>,
    /// Connections come from these addresses of this machine in turn, so that more of them can be open, or closed a short time ago,
    /// than one address has ports; empty: the kernel chooses. All are of the targets' family.
    pub source_addresses: Vec<IpAddr>,
}

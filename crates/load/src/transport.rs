//! The protocol and TLS settings of connections.

use serde::{Deserialize, Serialize};

use crate::Tls;

/// How requests and answers are transported. The default is HTTP/1.1 without TLS.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Transport {
    pub protocol: Protocol,
    pub tls: Option<Tls>,
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// Up to `pipelining` requests are sent before the first is answered.
    #[default]
    Http1,
    /// Up to `pipelining` concurrent streams, or fewer if the server allows fewer. Without TLS the server must support it (prior
    /// knowledge); with TLS it must select it by ALPN, else the handshake fails.
    Http2,
}

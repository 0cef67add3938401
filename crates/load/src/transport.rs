//! What lies between a connection's socket and its requests: the protocol, and TLS below it.

use crate::Tls;

/// How requests and answers go over a connection. The default is HTTP/1.1 in the clear.
#[derive(Debug, Clone, Default)]
pub struct Transport {
    pub protocol: Protocol,
    pub tls: Option<Tls>,
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// `pipelining` requests go out before the first is answered.
    #[default]
    Http1,
    /// `pipelining` streams at once, or fewer where the server allows fewer. In the clear the server is taken to speak it
    /// (prior knowledge); over TLS it has to agree by ALPN, or the handshake has failed.
    Http2,
}

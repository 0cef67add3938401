//! TLS, HTTP/2 or both between a connection's socket and its answers. Plain HTTP/1.1 has no stack.
//!
//! Bytes in, bytes out; the socket and the clock are the worker's.

use waggle_spec::Protocol;

use super::http2::{self, StreamSettings};
use crate::{
    failure::HandshakeFailure,
    transport::{
        settings::Transport,
        tls::{ALPN_HTTP2, Tls, session, session::SEALED_BYTES},
    },
};

/// TLS and HTTP/2 of one connection.
#[derive(Debug)]
pub(crate) struct ProtocolStack {
    pub(crate) tls: Option<session::Session>,
    /// Set once TLS is established.
    pub(crate) http2: Option<http2::Session>,
    /// Since when an answer has been pending without received bytes: since the last bytes, or since a request was sent with
    /// nothing else in flight.
    pub(crate) heard: u64,
    /// Since when the socket has accepted no pending bytes.
    pub(crate) moved: u64,
    /// Whether bytes are left in the socket because too many are pending already.
    pub(crate) is_held: bool,
    /// Output of HTTP/2 that was not sent, and not encrypted yet.
    pub(crate) plain: Vec<u8>,
    /// Bytes of it that answer the server's own frames.
    pub(crate) control_bytes: usize,
}

/// No more is read while so many bytes wait that answer the server's own frames: it may send them without end and read nothing.
const CONTROL_MAX_BYTES: usize = 256 * 1024;

/// Creates the stacks of all connections of a worker.
#[derive(Debug)]
pub(crate) struct ProtocolStacks {
    protocol: Protocol,
    tls: Option<Tls>,
    streams: StreamSettings,
    /// Buffer for received bytes that must be decrypted.
    pub(crate) sealed: Box<[u8]>,
}

impl ProtocolStacks {
    /// `None` if there is neither TLS nor HTTP/2.
    pub(crate) fn new(
        transport: &Transport,
        streams: StreamSettings,
        connections: usize,
    ) -> Option<Box<Self>> {
        let protocol = transport.protocol;
        let has_tls = transport.tls.is_some();
        if !has_tls && protocol != Protocol::Http2 {
            return None;
        }
        let tls = transport.tls.as_ref();
        let sealed_bytes = if has_tls { SEALED_BYTES } else { 0 };
        Some(Box::new(Self {
            protocol,
            tls: tls.map(|tls| tls.of_worker(protocol, connections)),
            streams,
            sealed: vec![0; sealed_bytes].into_boxed_slice(),
        }))
    }

    /// The stack of a connection that was just established.
    pub(crate) fn begin(&self, now: u64) -> Result<ProtocolStack, HandshakeFailure> {
        let mut stack = ProtocolStack {
            tls: self.tls.as_ref().map(session::Session::new).transpose()?,
            http2: None,
            heard: now,
            moved: now,
            is_held: false,
            plain: Vec::new(),
            control_bytes: 0,
        };
        if stack.tls.is_none() {
            self.negotiate(&mut stack)?;
        }
        Ok(stack)
    }

    /// TLS is established, or not used: begins HTTP/2 if that is the protocol.
    pub(crate) fn negotiate(&self, stack: &mut ProtocolStack) -> Result<(), HandshakeFailure> {
        let chosen = stack.tls.as_ref().map(session::Session::protocol);
        match (self.protocol, chosen) {
            (Protocol::Http1, _) => return Ok(()),
            (Protocol::Auto, chosen) if chosen != Some(Some(ALPN_HTTP2)) => return Ok(()),
            (Protocol::Http2, Some(chosen)) if chosen != Some(ALPN_HTTP2) => {
                return Err(HandshakeFailure::NoProtocol);
            }
            (Protocol::Auto | Protocol::Http2, _) => {}
        }
        stack.http2 = Some(http2::Session::new(self.streams, &mut stack.plain));
        Ok(())
    }
}

impl ProtocolStack {
    /// Whether nothing more is read before some of the output is sent.
    pub(crate) fn is_stuffed(&self) -> bool {
        self.control_bytes >= CONTROL_MAX_BYTES
    }

    /// Encrypts requests of HTTP/1.1 and appends them to `out`.
    pub(crate) fn seal(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if let Some(tls) = &mut self.tls {
            tls.seal(bytes, out);
        }
    }

    /// Closes in order: appends the last messages to `out`.
    pub(crate) fn close(mut self, out: &mut Vec<u8>) {
        if let Some(http2) = &self.http2 {
            http2.client.close(&mut self.plain);
        }
        match &mut self.tls {
            Some(tls) => {
                if !self.plain.is_empty() {
                    tls.seal(&self.plain, out);
                }
                tls.close(out);
            }
            None => out.append(&mut self.plain),
        }
    }
}

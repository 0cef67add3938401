//! What lies between a connection's socket and its answers: TLS, HTTP/2, or both. HTTP/1.1 in the clear has none of it.
//!
//! Bytes in, bytes out; the socket and the clock are the worker's.

use crate::{
    HandshakeFailure, Protocol, Tls, Transport,
    flight::Flight,
    head::ReadLimits,
    http2::{self, Requests},
    tls::{self, SEALED_BYTES, alpn},
};

/// The layers of one connection.
#[derive(Debug)]
pub(crate) struct Layers {
    pub(crate) tls: Option<tls::Session>,
    /// There once TLS stands.
    pub(crate) http2: Option<http2::Session>,
    /// Since when nothing has come that could have: since the last bytes, or since a request went out with nothing
    /// else under way.
    pub(crate) heard: u64,
    /// Since when the socket has taken nothing that it was to take.
    pub(crate) moved: u64,
    /// Whether bytes are left in the socket because too many wait already.
    pub(crate) is_held: bool,
    /// What HTTP/2 has written and TLS has not sealed.
    plain: Vec<u8>,
}

/// What a worker needs for the layers of all of its connections.
#[derive(Debug)]
pub(crate) struct Layering {
    protocol: Protocol,
    tls: Option<Tls>,
    streams_at_most: usize,
    limits: ReadLimits,
    /// Bytes as they come, where they are to be opened first.
    pub(crate) sealed: Box<[u8]>,
    pub(crate) requests: Requests,
}

impl Layering {
    /// None where there are no layers.
    pub(crate) fn new(
        transport: &Transport,
        limits: ReadLimits,
        (connections, pipelining): (usize, usize),
    ) -> Option<Box<Self>> {
        let protocol = transport.protocol;
        let has_tls = transport.tls.is_some();
        let sealed_bytes = if has_tls { SEALED_BYTES } else { 0 };
        (has_tls || protocol == Protocol::Http2).then(|| {
            Box::new(Self {
                protocol,
                tls: transport
                    .tls
                    .as_ref()
                    .map(|tls| tls.of_worker(protocol, connections)),
                streams_at_most: pipelining,
                limits,
                sealed: vec![0; sealed_bytes].into_boxed_slice(),
                requests: Requests::new(has_tls),
            })
        })
    }

    /// The layers of a connection that was made just now.
    pub(crate) fn begin(&self, now: u64) -> Result<Layers, HandshakeFailure> {
        let mut layers = Layers {
            tls: self.tls.as_ref().map(tls::Session::new).transpose()?,
            http2: None,
            heard: now,
            moved: now,
            is_held: false,
            plain: Vec::new(),
        };
        if layers.tls.is_none() {
            self.speak(&mut layers)?;
        }
        Ok(layers)
    }

    /// Below, all is well: begins what lies above.
    pub(crate) fn speak(&self, layers: &mut Layers) -> Result<(), HandshakeFailure> {
        if self.protocol == Protocol::Http1 {
            return Ok(());
        }
        if let Some(tls) = &layers.tls
            && tls.protocol() != Some(alpn(self.protocol))
        {
            return Err(HandshakeFailure::NoProtocol);
        }
        layers.http2 = http2::Session::new(self.streams_at_most, self.limits);
        match layers.http2 {
            Some(_) => Ok(()),
            None => Err(HandshakeFailure::Malformed),
        }
    }
}

impl Layers {
    /// Whether HTTP/2 takes nothing more before it has read what waits.
    pub(crate) fn is_stuffed(&self) -> bool {
        self.http2.as_ref().is_some_and(http2::Session::is_stuffed)
    }

    /// Seals requests of HTTP/1.1 onto the end of `out`.
    pub(crate) fn seal(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if let Some(tls) = &mut self.tls {
            tls.seal(bytes, out);
        }
    }

    /// Moves all that the layers have to send by themselves to the end of `out`; gives how many bytes of HTTP are in it.
    pub(crate) fn take(&mut self, out: &mut Vec<u8>) -> usize {
        let Some(tls) = &mut self.tls else {
            return self
                .http2
                .as_mut()
                .map_or(0, |http2| http2.take_outbound(out));
        };
        tls.take_sealed(out);
        let length = self
            .http2
            .as_mut()
            .map_or(0, |http2| http2.take_outbound(&mut self.plain));
        if length > 0 {
            tls.seal(&self.plain, out);
            self.plain.clear();
        }
        length
    }

    /// Says good-bye to the other side, onto the end of `out`; gives what was under way.
    pub(crate) fn close(mut self, out: &mut Vec<u8>) -> Vec<Flight> {
        let mut flights = Vec::new();
        if let Some(mut http2) = self.http2.take() {
            flights = http2.give_up_all();
            http2.close(&mut self.plain);
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
        flights
    }
}

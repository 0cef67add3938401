//! TLS of one connection: bytes of the socket in and plain ones out, and back. No socket, no clock.

use std::io::{self, Read, Write};

use rustls::{AlertDescription, CertificateError, ClientConnection, Error, HandshakeKind};

use super::Tls;
use crate::HandshakeFailure;

/// One connection's TLS.
#[derive(Debug)]
pub(crate) struct Session {
    connection: ClientConnection,
}

/// What opening sealed bytes gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opened {
    /// Plain bytes, at the beginning of the place for them.
    pub(crate) length: usize,
    /// The other side has said that nothing follows.
    pub(crate) is_end: bool,
}

/// Sealed bytes taken at a time; with the rest of a record that was held back, they fit into [`PLAIN_BYTES`] when opened.
pub(crate) const SEALED_BYTES: usize = 40 * 1024;
/// Room that opened bytes need.
pub(crate) const PLAIN_BYTES: usize = 64 * 1024;

impl Session {
    pub(crate) fn new(tls: &Tls) -> Result<Self, HandshakeFailure> {
        let mut connection =
            ClientConnection::new(std::sync::Arc::clone(&tls.config), tls.server_name.clone())
                .map_err(|error| failure_of(&error))?;
        // What is sealed goes on to the socket or waits in the connection's own buffer: a limit here would lose the rest.
        connection.set_buffer_limit(None);
        Ok(Self { connection })
    }

    /// Opens sealed bytes into `plain`, which has [`PLAIN_BYTES`].
    pub(crate) fn open(
        &mut self,
        mut sealed: &[u8],
        plain: &mut [u8],
    ) -> Result<Opened, HandshakeFailure> {
        let mut length = 0;
        let mut is_end = false;
        while !sealed.is_empty() && !is_end {
            // An error here is one of its buffers being full, which the reading below prevents but for a message that
            // is longer than any may be.
            self.connection
                .read_tls(&mut sealed)
                .map_err(|_| HandshakeFailure::Malformed)?;
            let state = self
                .connection
                .process_new_packets()
                .map_err(|error| failure_of(&error))?;
            is_end = state.peer_has_closed();
            while length < plain.len() {
                match self.connection.reader().read(&mut plain[length..]) {
                    Ok(0) | Err(_) => break,
                    Ok(more) => length += more,
                }
            }
        }
        Ok(Opened { length, is_end })
    }

    /// Seals plain bytes onto the end of `sealed`.
    pub(crate) fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) {
        self.connection
            .writer()
            .write_all(plain)
            .expect("its buffer has no limit");
        self.take_sealed(sealed);
    }

    /// Takes what TLS itself has to say: messages of the handshake, alerts.
    pub(crate) fn take_sealed(&mut self, sealed: &mut Vec<u8>) {
        while self.connection.wants_write() {
            let written: io::Result<usize> = self.connection.write_tls(sealed);
            written.expect("a buffer in memory takes everything");
        }
    }

    /// Says that nothing follows, so that the other side can tell the end from a cut.
    pub(crate) fn close(&mut self, sealed: &mut Vec<u8>) {
        self.connection.send_close_notify();
        self.take_sealed(sealed);
    }

    pub(crate) fn is_shaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether the handshake went on with an earlier session.
    pub(crate) fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// The protocol that both sides agreed on, if they talked about it.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }
}

fn failure_of(error: &Error) -> HandshakeFailure {
    use CertificateError as Certificate;
    match error {
        Error::InvalidCertificate(certificate) => match certificate {
            Certificate::UnknownIssuer => HandshakeFailure::UnknownIssuer,
            Certificate::Expired
            | Certificate::ExpiredContext { .. }
            | Certificate::NotValidYet
            | Certificate::NotValidYetContext { .. } => HandshakeFailure::Expired,
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                HandshakeFailure::WrongName
            }
            _ => HandshakeFailure::Certificate,
        },
        Error::NoApplicationProtocol
        | Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            HandshakeFailure::NoProtocol
        }
        Error::AlertReceived(_) => HandshakeFailure::Refused,
        Error::NoCertificatesPresented => HandshakeFailure::Certificate,
        _ => HandshakeFailure::Malformed,
    }
}

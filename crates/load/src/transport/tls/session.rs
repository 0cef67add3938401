//! TLS of one connection: decrypts received bytes and encrypts sent ones. No socket, no clock.

use std::{
    io::{self, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustls::{ClientConnection, Error, HandshakeKind};

use super::{
    Tls,
    refusal::{ClientCertificate, Refusal, refusal},
};
use crate::failure::HandshakeFailure;

/// One connection's TLS.
#[derive(Debug)]
pub(crate) struct Session {
    connection: ClientConnection,
    is_client_wanted: Arc<AtomicBool>,
    is_client_given: bool,
}

/// The result of decryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opened {
    /// Length of the plain bytes, at the beginning of the buffer.
    pub(crate) length: usize,
    /// The peer has sent `close_notify`.
    pub(crate) is_end: bool,
}

/// Encrypted bytes read at a time; with the rest of an incomplete record, they fit into [`PLAIN_BYTES`] when decrypted.
pub(crate) const SEALED_BYTES: usize = 40 * 1024;
/// Buffer size for decrypted bytes.
pub(crate) const PLAIN_BYTES: usize = 64 * 1024;

impl Session {
    pub(crate) fn new(tls: &Tls) -> Result<Self, HandshakeFailure> {
        let mut connection =
            ClientConnection::new(Arc::clone(&tls.config), tls.server_name.clone())
                .map_err(|error| refusal(&error, ClientCertificate::default()).failure)?;
        // Encrypted bytes go to the socket or to the connection's own buffer: a limit here would lose the rest.
        connection.set_buffer_limit(None);
        Ok(Self {
            connection,
            is_client_wanted: Arc::clone(&tls.is_client_wanted),
            is_client_given: tls.options.client.is_some(),
        })
    }

    /// Decrypts bytes into `plain`, which has [`PLAIN_BYTES`].
    pub(crate) fn open(&mut self, mut sealed: &[u8], plain: &mut [u8]) -> Result<Opened, Refusal> {
        let mut length = 0;
        let mut is_end = false;
        while !sealed.is_empty() && !is_end {
            // An error means that a buffer is full; the read below prevents that, except for a message above the size limit.
            self.connection
                .read_tls(&mut sealed)
                .map_err(|error| Refusal {
                    failure: HandshakeFailure::Malformed,
                    reason: error.to_string(),
                })?;
            let state = match self.connection.process_new_packets() {
                Ok(state) => state,
                Err(error) => return Err(refusal(&error, self.client_certificate())),
            };
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

    fn client_certificate(&self) -> ClientCertificate {
        ClientCertificate {
            is_wanted: self.is_client_wanted.load(Ordering::Relaxed),
            is_given: self.is_client_given,
        }
    }

    /// Encrypts plain bytes and appends them to `sealed`.
    pub(crate) fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) {
        self.connection
            .writer()
            .write_all(plain)
            .expect("its buffer has no limit");
        self.take_sealed(sealed);
    }

    /// Takes pending messages of TLS itself: handshake, alerts.
    pub(crate) fn take_sealed(&mut self, sealed: &mut Vec<u8>) {
        while self.connection.wants_write() {
            let written: io::Result<usize> = self.connection.write_tls(sealed);
            written.expect("a buffer in memory takes everything");
        }
    }

    /// Sends `close_notify`, so that the peer can distinguish the end from a cut.
    pub(crate) fn close(&mut self, sealed: &mut Vec<u8>) {
        self.connection.send_close_notify();
        self.take_sealed(sealed);
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether the handshake resumed an earlier session.
    pub(crate) fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// The protocol that was negotiated by ALPN, if any.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }
}

impl HandshakeFailure {
    /// Why a client that has I/O of its own could not complete its handshake; `None`: TLS is not the reason.
    #[must_use]
    pub fn of_io(error: &io::Error) -> Option<Self> {
        let cause = error.get_ref()?.downcast_ref::<Error>()?;
        Some(refusal(cause, ClientCertificate::default()).failure)
    }
}

//! The certificate of a connection: whether it is still one that would be accepted.

use std::sync::Arc;

use crate::tls::{PeerCertificate, Tls};

/// A certificate that was accepted in the handshake of a connection.
pub(crate) struct Certificate {
    peer: PeerCertificate,
    tls: Arc<Tls>,
    /// The version of TLS's files by which it was accepted.
    version: u64,
}

impl Certificate {
    /// `version` is that of the files before the handshake.
    pub(crate) fn new(peer: PeerCertificate, tls: Arc<Tls>, version: u64) -> Self {
        Self { peer, tls, version }
    }

    pub(super) fn names(&self) -> &[Box<str>] {
        &self.peer.names
    }

    /// Refuses it if it has expired since the handshake, or if the files of TLS are others now that do not accept it.
    pub(super) fn check(&mut self, second: u64) -> Result<(), &'static str> {
        if second > self.peer.expires {
            return Err("the certificate has expired");
        }
        let version = self.tls.version();
        if version != self.version {
            if !self.tls.accepts(&self.peer) {
                return Err("the certificate is not accepted any longer");
            }
            self.version = version;
        }
        Ok(())
    }
}

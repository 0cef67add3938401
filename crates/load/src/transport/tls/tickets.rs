//! Session tickets of one worker, so that later handshakes are shorter.
//!
//! The store of `rustls` keeps eight tickets per server, too few if many connections are reopened at once; a load has one server
//! name, so this one needs no map.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustls::{
    NamedGroup,
    client::{ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue},
    pki_types::ServerName,
};

/// Most tickets of a worker, for any number of connections.
const TICKETS_MAX: usize = 16_384;
/// A server usually sends two tickets per handshake, of which one is used.
const TICKETS_PER_CONNECTION: usize = 2;

pub(super) fn resumption(is_on: bool, connections: usize) -> Resumption {
    if is_on {
        let most = connections
            .saturating_mul(TICKETS_PER_CONNECTION)
            .min(TICKETS_MAX);
        Resumption::store(Arc::new(Tickets {
            kept: Mutex::default(),
            most,
        }))
    } else {
        Resumption::disabled()
    }
}

/// Belongs to one worker: its lock is never waited for.
#[derive(Debug)]
struct Tickets {
    kept: Mutex<Kept>,
    most: usize,
}

#[derive(Debug, Default)]
struct Kept {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    /// The newest last; each is used once.
    tls13: VecDeque<Tls13ClientSessionValue>,
}

impl Tickets {
    fn lock_kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _server_name: ServerName<'static>, group: NamedGroup) {
        self.lock_kept().group = Some(group);
    }

    fn kx_hint(&self, _server_name: &ServerName<'_>) -> Option<NamedGroup> {
        self.lock_kept().group
    }

    fn set_tls12_session(&self, _server_name: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.lock_kept().tls12 = Some(value);
    }

    fn tls12_session(&self, _server_name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.lock_kept().tls12.clone()
    }

    fn remove_tls12_session(&self, _server_name: &ServerName<'static>) {
        self.lock_kept().tls12 = None;
    }

    fn insert_tls13_ticket(
        &self,
        _server_name: ServerName<'static>,
        value: Tls13ClientSessionValue,
    ) {
        let mut kept = self.lock_kept();
        if kept.tls13.len() == self.most {
            kept.tls13.pop_front();
        }
        kept.tls13.push_back(value);
    }

    fn take_tls13_ticket(
        &self,
        _server_name: &ServerName<'static>,
    ) -> Option<Tls13ClientSessionValue> {
        self.lock_kept().tls13.pop_back()
    }
}

//! Admission of connections: counted for all, and for their client.

use std::{
    net::IpAddr,
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use super::client::{Client, network};
use crate::shared::Shared;

/// Clients without a connection that are remembered until it is looked which of them can be forgotten.
const REMEMBERED_MAX: usize = 1000;

/// An open connection, counted until it is dropped.
pub(crate) struct Admission {
    shared: Arc<Shared>,
    address: IpAddr,
    client: Arc<Client>,
}

/// Why a connection is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotAdmitted {
    /// Too many are open.
    Full,
    /// Too many of the same client are open.
    ClientFull,
}

impl Admission {
    /// Counts a connection from this address.
    pub(crate) fn new(shared: &Arc<Shared>, address: IpAddr) -> Result<Self, NotAdmitted> {
        let address = network(address);
        let client = {
            let mut known = shared.clients.lock();
            if known.len() >= shared.settings.connections_max + REMEMBERED_MAX {
                let now = Instant::now();
                known.retain(|_, client| !client.is_forgotten(now));
            }
            let client = known
                .entry(address)
                .or_insert_with(|| Arc::new(Client::new(address, &shared.settings)));
            // It is not removed while it has a connection, and a new one gets its first here.
            if !client.connections.take(1) {
                return Err(NotAdmitted::ClientFull);
            }
            Arc::clone(client)
        };
        let open = &shared.gauges.connections;
        let before = open.fetch_add(1, Ordering::Relaxed);
        let admission = Self {
            shared: Arc::clone(shared),
            address,
            client,
        };
        if before >= shared.settings.connections_max {
            return Err(NotAdmitted::Full);
        }
        Ok(admission)
    }

    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let open = &self.shared.gauges.connections;
        open.fetch_sub(1, Ordering::Relaxed);
        let mut known = self.shared.clients.lock();
        self.client.connections.give_back(1);
        if self.client.is_forgotten(Instant::now()) {
            known.remove(&self.address);
        }
    }
}

//! What the connections of a fleet share: who is there, and which connections are expected.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
};

use tokio::{
    net::TcpStream,
    sync::{mpsc, oneshot, watch},
};
use tokio_rustls::server::TlsStream;

use super::{
    facts::{FleetError, Notice},
    member::Member,
    turns::Turns,
};
use crate::program::ProgramId;

/// Load connections that agents were asked for, by the number of the agent and of the connection.
type AskedConnections = HashMap<(usize, u64), oneshot::Sender<TlsStream<TcpStream>>>;

/// A load connection that an agent was asked for, until it is there or nobody waits for it any more.
pub(super) struct AskedConnection<'a> {
    shared: &'a Shared,
    key: (usize, u64),
    pub(super) connected: oneshot::Receiver<TlsStream<TcpStream>>,
}

impl Drop for AskedConnection<'_> {
    fn drop(&mut self) {
        self.shared.asked_connections().remove(&self.key);
    }
}

/// What the connections of a fleet share.
pub(super) struct Shared {
    pub(super) of: usize,
    pub(super) token: String,
    pub(super) program: ProgramId,
    /// One place for each agent, in the order of their numbers.
    pub(super) places: Mutex<Vec<Place>>,
    /// Load connections that agents were asked for.
    pub(super) asked: Mutex<AskedConnections>,
    pub(super) next_load: AtomicU64,
    /// Of close readings of clocks.
    pub(super) turns: Turns,
    /// How many agents are there.
    pub(super) joined: watch::Sender<usize>,
    pub(super) notices: mpsc::Sender<Notice>,
}

/// The place of an agent.
#[derive(Default)]
pub(super) struct Place {
    pub(super) member: Option<Member>,
    pub(super) lost: Option<Loss>,
}

/// The last agent of a place that is free.
#[derive(Clone)]
pub(super) struct Loss {
    /// Of its host.
    pub(super) name: String,
    pub(super) why: String,
}

impl Place {
    /// The name of the host of the agent that is there, or was.
    pub(super) fn name(&self) -> Option<&str> {
        let member = self.member.as_ref().map(|member| &member.info.host.name);
        let name = member.or(self.lost.as_ref().map(|loss| &loss.name));
        name.map(String::as_str)
    }

    /// `agent 2 (n2) is lost: …`; `None`: an agent is there, or none ever was.
    pub(super) fn loss_text(&self, number: usize) -> Option<String> {
        let Loss { name, why } = self.lost.as_ref().filter(|_| self.member.is_none())?;
        Some(format!("agent {number} ({name}) is lost: {why}"))
    }
}

impl Shared {
    pub(super) fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn asked_connections(&self) -> MutexGuard<'_, AskedConnections> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this load connection of the agent is expected.
    pub(super) fn expect_connection(&self, number: usize, load: u64) -> AskedConnection<'_> {
        let (sender, connected) = oneshot::channel();
        let key = (number, load);
        self.asked_connections().insert(key, sender);
        AskedConnection {
            shared: self,
            key,
            connected,
        }
    }

    /// Whether so many of the first agents are there.
    pub(super) fn are_there(&self, agents: usize) -> bool {
        let places = self.places();
        let mut first = places.iter().take(agents);
        first.all(|place| place.member.is_some())
    }

    /// Notices are for people: if too many wait, the rest is lost.
    pub(super) fn notice(&self, notice: Notice) {
        self.notices.try_send(notice).ok();
    }

    pub(super) fn error(&self, number: usize, why: impl Into<String>) -> FleetError {
        let places = self.places();
        let name = places.get(number - 1).and_then(Place::name);
        FleetError::Agent {
            number,
            of: self.of,
            name: name.unwrap_or_default().to_owned(),
            why: why.into(),
        }
    }

    /// Why the agent is lost, if it is.
    pub(super) fn loss(&self, number: usize) -> Option<String> {
        let places = self.places();
        let place = places.get(number - 1)?;
        match place.member {
            Some(_) => None,
            None => place.lost.as_ref().map(|loss| loss.why.clone()),
        }
    }
}

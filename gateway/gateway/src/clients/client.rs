//! What each address takes of the limits that all clients share: an IPv4 address, or a network of 64 bits of IPv6.
//!
//! Without limits of its own a single client could take all connections and all memory.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    floods::Floods,
    memory::{ClientMax, Memory},
    share::Share,
    turns::Turns,
};
use crate::settings::Settings;

/// What one client has taken.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) address: IpAddr,
    pub(super) connections: Share,
    /// TLS handshakes that are going on.
    pub(crate) handshakes: Share,
    /// What its requests take whose sender is not known by name.
    pub(crate) memory: Arc<Memory>,
    /// What it does in vain while its name is not known.
    pub(crate) floods: Floods,
    pub(crate) reads: Turns,
    new_topics: Mutex<NewTopics>,
}

/// Topics that a client has named first, in the current minute.
#[derive(Debug)]
struct NewTopics {
    since: Instant,
    count: usize,
    max: usize,
}

/// Time over which new topics are counted.
const NEW_TOPICS_TIME: Duration = Duration::from_mins(1);
/// New topics of a client in that time, if no flag says otherwise.
const NEW_TOPICS_MAX: usize = 60;

impl NewTopics {
    fn new(max: usize) -> Self {
        Self {
            since: Instant::now(),
            count: 0,
            max,
        }
    }

    fn take(&mut self, now: Instant) -> bool {
        if now.duration_since(self.since) >= NEW_TOPICS_TIME {
            (self.since, self.count) = (now, 0);
        }
        self.count += 1;
        self.count <= self.max
    }
}

impl Client {
    pub(super) fn new(address: IpAddr, settings: &Settings) -> Self {
        let limit = |chosen: Option<usize>, whole: usize| match chosen {
            Some(max) => max,
            None if address.is_loopback() => usize::MAX,
            None => whole.div_ceil(2),
        };
        let client = &settings.client;
        let connections = limit(client.client_connections_max, settings.connections_max);
        let reads = client.client_query_concurrency;
        let client_max = if address.is_loopback() {
            ClientMax::of_this_host(settings)
        } else {
            ClientMax::new(settings)
        };
        Self {
            address,
            connections: Share::new(connections),
            handshakes: Share::new(limit(None, settings.tls.tls_handshakes_max)),
            memory: Arc::new(Memory::new(client_max)),
            floods: Floods::new(client_max.floods),
            reads: Turns::new(limit(reads, settings.query_concurrency)),
            new_topics: Mutex::new(NewTopics::new(limit(
                client.client_topics_max,
                2 * NEW_TOPICS_MAX,
            ))),
        }
    }

    /// Whether nothing need be known of it: it has no connection, and of late has named no topic and done nothing in vain.
    pub(super) fn is_forgotten(&self, now: Instant) -> bool {
        let topics = self.lock_topics();
        let is_quiet = topics.count == 0 || now.duration_since(topics.since) >= NEW_TOPICS_TIME;
        is_quiet && self.floods.is_quiet(now) && self.connections.is_unused()
    }

    /// Counts a topic that was not known.
    ///
    /// # Errors
    /// If the client has named too many of them; with the seconds until it may name others.
    pub(super) fn name_topic(self: &Arc<Self>) -> Result<NamedTopic, u64> {
        let now = Instant::now();
        let mut topics = self.lock_topics();
        if topics.take(now) {
            return Ok(NamedTopic {
                client: Arc::clone(self),
                since: topics.since,
            });
        }
        let rest = (topics.since + NEW_TOPICS_TIME).saturating_duration_since(now);
        Err(rest.as_secs() + 1)
    }

    fn lock_topics(&self) -> MutexGuard<'_, NewTopics> {
        let topics = self.new_topics.lock();
        topics.unwrap_or_else(PoisonError::into_inner)
    }
}

/// A topic that a client has named first, and that counts into its budget.
#[derive(Debug)]
pub(crate) struct NamedTopic {
    client: Arc<Client>,
    /// Begin of the minute in which it counts.
    since: Instant,
}

impl NamedTopic {
    /// It is not new: it was there before the client named it.
    pub(crate) fn take_back(self) {
        let mut topics = self.client.lock_topics();
        if topics.since == self.since {
            topics.count = topics.count.saturating_sub(1);
        }
    }
}

/// The clients with open connections, and those that have named topics or done something in vain of late.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<HashMap<IpAddr, Arc<Client>>>);

impl Clients {
    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<IpAddr, Arc<Client>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The network that counts as one client.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_an_address_or_a_network_of_64_bits() {
        let check = |address: &str, expected: &str| {
            let network = network(address.parse().unwrap());
            assert_eq!(network, expected.parse::<IpAddr>().unwrap(), "{address}");
        };
        check("192.0.2.7", "192.0.2.7");
        check("::ffff:192.0.2.7", "192.0.2.7");
        check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
        check("::1", "::1");
    }

    #[test]
    fn new_topics_are_counted_by_the_minute() {
        let mut topics = NewTopics::new(2);
        let now = topics.since;
        assert!(topics.take(now) && topics.take(now) && !topics.take(now));
        let later = now + NEW_TOPICS_TIME;
        assert!(topics.take(later) && topics.take(later) && !topics.take(later));
    }
}

//! The part `load` of a study: the model, how connections are opened, and what is sent.

pub(crate) mod agents;
mod bounds;
mod connections;
mod model;
mod source_addresses;
mod stages;
pub(crate) mod think_time;
mod workers;

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{Arrivals, LevelKind, LoadKind, OnSocketError, Protocol};

pub use self::bounds::{MAX_CONNECTIONS, MAX_RATE_PER_S};
pub(crate) use self::{
    bounds::{MAX_IN_FLIGHT, OPEN_CONNECTIONS, whole_level},
    connections::{apply_keep_alive, close_connections, connect_timeout, header_limits},
    model::{check_rate, load_model, refuse_pipelining, refuse_with_clients},
    source_addresses::source_addresses,
    stages::{duration_of_stages, stages},
    workers::{generators, load_workers},
};
use self::{stages::LoadStage, think_time::Think};
use crate::{
    at::{At, Key, Place},
    parts::{request::Request, scenario::Scenario},
    raw::{DurationText, Rate, Size},
};

/// The load: a model with its keys, and a request or a scenario.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Load {
    /// The load model; there is no default.
    #[schemars(required)]
    pub model: Key<LoadKind>,
    /// Connections, over all workers. Closed: required. Open: 50 by default. Clients: those of each client; required.
    #[schemars(range(min = 1, max = 100_000))]
    pub connections: Key<u32>,
    /// Requests in flight on one connection at once; 1 by default. With a scenario over HTTP/2: sessions at once on one connection.
    /// Closed and open.
    #[schemars(range(min = 1, max = 1_000))]
    pub pipelining: Key<u32>,
    /// Number of clients, each with its own connections. Clients.
    #[schemars(range(min = 1, max = 1_000))]
    pub clients: Key<u32>,
    /// Requests of each client, at least one for each of its connections. Clients.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub requests: Key<u64>,
    /// What an error of a socket, or a timeout, does to its client; end_client by default. Clients.
    pub on_socket_error: Key<OnSocketError>,
    /// Requests that fall due, e.g. `1000/s`. Open.
    pub rate: Key<Rate>,
    /// A load that changes, stage by stage, beginning at 0; in place of `rate` or of a constant number of users. Open and users.
    #[schemars(length(min = 1, max = 1_000))]
    pub stages: Key<Vec<At<LoadStage>>>,
    /// How arrivals are spread; poisson by default. Open.
    pub arrivals: Key<Arrivals>,
    /// Number of users, each with a connection of its own; with `stages` the most at a time, by default their highest target.
    /// Users.
    #[schemars(range(min = 1, max = 100_000))]
    pub users: Key<u32>,
    /// Time between an answer and the user's next request: `1s`, `{ exponential: 1s }` or `{ uniform: [1s, 3s] }`; with a
    /// scenario, between two sessions, and none by default. Users.
    pub think_time: Key<Think>,
    /// Processes that make the load together, each with its share of connections, rate, users, records and rows; 1 by default, at most
    /// 10. With `agents` so many of them make it, all by default.
    #[schemars(range(min = 1, max = 1_000))]
    pub generators: Key<u32>,
    /// Load worker threads, over all generators; one for each CPU given to the load by default, and at least one for each
    /// generator.
    #[schemars(range(min = 1, max = 900))]
    pub workers: Key<u32>,
    /// The CPUs to which load worker threads are pinned, in turn; the system has the others. By default half of all.
    #[schemars(length(min = 1), inner(range(min = 0, max = 1_023)))]
    #[expect(
        dead_code,
        reason = "read from the tree: it holds for the study, and the load is a cell's"
    )]
    pub cpuset: Key<Vec<u32>>,
    /// The version of HTTP; http1 by default. With http2 the system must use it from the first byte, or choose it by ALPN. Loads of
    /// `prepare` and `background` use it, too.
    pub protocol: Key<Protocol>,
    /// Whether a connection is used for more than one request; true by default. With false each request has a connection of its own:
    /// over HTTP/1.1 it asks the server to close the connection after its answer. Not with pipelining or a scenario.
    pub keep_alive: Key<bool>,
    /// How long opening a connection may take; 5s by default, of clients as long as an answer may take.
    pub connect_timeout: Key<DurationText>,
    /// Largest head of an answer, status line and headers together, from 1KiB to 16MiB; 64KiB by default. A larger one is a failure.
    pub max_header_size: Key<Size>,
    /// Most headers of an answer; 1000 by default. An answer with more is a failure.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_headers: Key<u32>,
    /// Addresses of this machine from which connections come in turn, e.g. `127.0.0.2` or `127.0.0.2-127.0.0.9`: one address has some
    /// 28,000 ports for connections to one port. By default the kernel chooses.
    #[schemars(length(min = 1, max = 256))]
    pub source_addresses: Key<Vec<String>>,
    /// What is sent: the same request again and again. Its path is under exactly one of get, put, post, head, delete, patch and
    /// options; or `method` and `path` are both given.
    pub request: Key<Request>,
    /// What is sent, in place of `request`: sessions of several requests.
    pub scenario: Key<Scenario>,
}

impl Load {
    /// Where the level is, if the load has one of this kind.
    pub(crate) fn level_place(&self, kind: LevelKind) -> Option<&Place> {
        match kind {
            LevelKind::Rate => self.rate.place(),
            LevelKind::Users => self.users.place(),
            LevelKind::Connections => self.connections.place(),
        }
    }

    /// Sets the level, which is where the load is; `place` is that of the load.
    pub(crate) fn set_level(&mut self, place: &Place, kind: LevelKind, level: f64) {
        let place = Place {
            path: format!("{}.{}", place.path, kind.name()),
            key: place.key,
            value: place.key,
        };
        match kind {
            LevelKind::Rate => {
                let value = Rate(level.clamp(1e-9, MAX_RATE_PER_S));
                self.rate = Key::Given(At { place, value });
            }
            LevelKind::Users => {
                let value = whole_level(level);
                self.users = Key::Given(At { place, value });
            }
            LevelKind::Connections => {
                let value = whole_level(level);
                self.connections = Key::Given(At { place, value });
            }
        }
    }

    /// Takes the level as invalid, so that nobody asks for it.
    pub(crate) fn forget_level(&mut self, kind: LevelKind) {
        match kind {
            LevelKind::Rate => self.rate = Key::Invalid,
            LevelKind::Users => self.users = Key::Invalid,
            LevelKind::Connections => self.connections = Key::Invalid,
        }
    }
}

//! When requests are sent.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::seconds;

/// The load model: what makes the next request due. Latencies of different models are never compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoadKind {
    /// Each connection keeps `pipelining` requests in flight.
    #[default]
    Closed,
    /// Requests fall due by the clock at `rate`, independent of the answers.
    Open,
    /// Each of `users` sends, waits for the answer, and thinks.
    Users,
    /// Each of `clients` sends `requests` over its `connections`, one after the other on each, and ends; all begin at once.
    Clients,
}

impl LoadKind {
    pub const ALL: [Self; 4] = [Self::Closed, Self::Open, Self::Users, Self::Clients];

    /// Which number is the level of such a load.
    #[must_use]
    pub fn level_kind(self) -> LevelKind {
        match self {
            Self::Closed | Self::Clients => LevelKind::Connections,
            Self::Open => LevelKind::Rate,
            Self::Users => LevelKind::Users,
        }
    }

    /// As studies have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::Users => "users",
            Self::Clients => "clients",
        }
    }
}

/// What a load is for that is not the measured one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadRole {
    /// It fills the system before the measured load.
    #[default]
    Preparation,
    /// It runs beside the measured load.
    Background,
}

/// The number that is the level of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LevelKind {
    /// Requests, or sessions, per second.
    Rate,
    Users,
    Connections,
}

impl LevelKind {
    /// As studies and results have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Users => "users",
            Self::Connections => "connections",
        }
    }
}

impl fmt::Display for LevelKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The load model with its numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadModel {
    Closed {
        connections: u32,
        pipelining: u32,
    },
    Open {
        rate_per_s: f64,
        arrivals: Arrivals,
        connections: u32,
        pipelining: u32,
    },
    Users {
        users: u32,
        think_time: Think,
    },
    /// Each client sends its requests over its own connections and ends.
    Clients {
        clients: u32,
        /// Of each client.
        connections: u32,
        /// Of each client; at least as many as connections.
        requests: u64,
        on_socket_error: OnSocketError,
    },
}

impl LoadModel {
    #[must_use]
    pub fn kind(&self) -> LoadKind {
        match self {
            Self::Closed { .. } => LoadKind::Closed,
            Self::Open { .. } => LoadKind::Open,
            Self::Users { .. } => LoadKind::Users,
            Self::Clients { .. } => LoadKind::Clients,
        }
    }

    /// Connections that it asks for; each user has one.
    #[must_use]
    pub fn connections(&self) -> u32 {
        match self {
            Self::Closed { connections, .. } | Self::Open { connections, .. } => *connections,
            Self::Users { users, .. } => *users,
            Self::Clients {
                clients,
                connections,
                ..
            } => clients.saturating_mul(*connections),
        }
    }

    /// Most requests in flight on each connection.
    #[must_use]
    pub fn pipelining(&self) -> u32 {
        match self {
            Self::Closed { pipelining, .. } | Self::Open { pipelining, .. } => *pipelining,
            Self::Users { .. } | Self::Clients { .. } => 1,
        }
    }

    /// Connections that belong together: how many groups there are, and the connections of each. Those of a client are a group.
    #[must_use]
    pub fn groups(&self) -> (u32, u32) {
        match self {
            Self::Clients {
                clients,
                connections,
                ..
            } => (*clients, *connections),
            Self::Closed { .. } | Self::Open { .. } | Self::Users { .. } => (self.connections(), 1),
        }
    }

    /// An open load with so many connections; another load as it is.
    #[must_use]
    pub fn with_connections(&self, size: u32) -> Self {
        let mut load = self.clone();
        if let Self::Open { connections, .. } = &mut load {
            *connections = size;
        }
        load
    }

    /// Its level, if that can change during the load: by stages, a ramp-up or a recovery.
    #[must_use]
    pub fn changing_level(&self) -> Option<f64> {
        match self {
            Self::Open { rate_per_s, .. } => Some(*rate_per_s),
            Self::Users { users, .. } => Some(f64::from(*users)),
            Self::Closed { .. } | Self::Clients { .. } => None,
        }
    }

    /// Whether the load ends by itself, with the last request of its clients.
    #[must_use]
    pub fn is_clients(&self) -> bool {
        matches!(self, Self::Clients { .. })
    }

    /// The same load at another level: of the rate if it is open, else of the users, the clients or the connections.
    #[must_use]
    pub fn at_level(&self, level: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "levels of users and connections are whole and at least 1; the cast saturates"
        )]
        let whole = level.round() as u32;
        let mut load = self.clone();
        match &mut load {
            Self::Closed { connections, .. } => *connections = whole,
            Self::Open { rate_per_s, .. } => *rate_per_s = level,
            Self::Users { users, .. } => *users = whole,
            Self::Clients { clients, .. } => *clients = whole,
        }
        load
    }
}

/// When requests of an open load fall due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At random, independent of each other.
    #[default]
    Poisson,
    /// At equal distances.
    Uniform,
}

/// What an error of a socket, or a timeout, does to its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnSocketError {
    /// The client ends at once, as Apache Bench does without `-r`.
    EndClient,
    /// The request counts as failed, and the client goes on.
    Count,
}

/// How long a user waits between an answer and the next request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Think {
    Fixed(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
    Uniform {
        from: Duration,
        to: Duration,
    },
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1: `pipelining` requests go out before the first is answered.
    #[default]
    Http1,
    /// HTTP/2: `pipelining` streams at once on a connection.
    Http2,
    /// Over TLS HTTP/2 if the server chooses it (ALPN), else HTTP/1.1.
    Auto,
}

/// The method that is no request, and is refused wherever a method is given, for every version of HTTP. It opens a tunnel (RFC 9110,
/// section 9.3.6). Over HTTP/2 it has neither scheme nor path (RFC 9113, section 8.5), and after its answer the connection or stream
/// belongs to the tunnel: there is no response time to measure and no next request.
pub const TUNNEL_METHOD: &str = "CONNECT";
/// What is said of it.
pub const TUNNEL_OBJECTION: &str = "CONNECT opens a tunnel instead of asking for a resource";

/// A stretch of time in which the level of the load changes evenly to another one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadStage {
    /// 0: the level changes at once.
    #[serde(rename = "duration_s", with = "seconds")]
    pub duration: Duration,
    /// Requests per second if the load is open, else users.
    pub target: f64,
}

//! When requests are sent.

use std::time::Duration;

/// The load model with its numbers.
#[derive(Debug, Clone, PartialEq)]
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

/// What an error of a socket, or a timeout, does to its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnSocketError {
    /// The client ends at once.
    EndClient,
    /// The request counts as failed.
    Count,
}

impl LoadModel {
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

    /// An open load with so many connections; another load as it is.
    #[must_use]
    pub fn with_connections(&self, size: u32) -> Self {
        let mut load = self.clone();
        if let Self::Open { connections, .. } = &mut load {
            *connections = size;
        }
        load
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    Poisson,
    Uniform,
}

/// How long a user thinks between an answer and the next request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Think {
    Fixed(Duration),
    Exponential(Duration),
    Uniform { from: Duration, to: Duration },
}

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
}

impl LoadModel {
    /// Connections that it asks for; each user has one.
    #[must_use]
    pub fn connections(&self) -> u32 {
        match self {
            Self::Closed { connections, .. } | Self::Open { connections, .. } => *connections,
            Self::Users { users, .. } => *users,
        }
    }

    /// The same load at another level: of the rate if it is open, else of the users or the connections.
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

//! What a fleet is asked for, what it says of its agents, and what can go wrong.

use std::{fmt, io, net::SocketAddr, time::Duration};

use crate::{
    clocks::ClockError,
    host::{CpuThrottle, HostFacts},
    tls::TlsError,
};

/// Most agents of a run.
pub(super) const AGENTS_MAX: usize = 10_000;

/// What a runner asks for when it takes in agents.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The run, for messages.
    pub run: String,
    /// Where to listen; port 0: a free one.
    pub listen: SocketAddr,
    /// `HOST` or `HOST:PORT` by which agents reach it, in place of where it listens.
    pub advertise: Vec<String>,
    pub agents: usize,
}

/// Something about an agent that the user should see.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    Joined {
        member: FleetMember,
        of: usize,
    },
    Lost {
        member: FleetMember,
        of: usize,
        why: String,
    },
    Refused {
        address: SocketAddr,
        why: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined { member, of } => {
                let (number, name, address) = (member.number, &member.host.name, member.address);
                write!(f, "agent {number} of {of} joined: {name} ({address})")
            }
            Self::Lost { member, of, why } => {
                let (number, name) = (member.number, &member.host.name);
                write!(f, "agent {number} of {of} ({name}) is lost: {why}")
            }
            Self::Refused { address, why } => {
                write!(f, "a connection from {address} was refused: {why}")
            }
        }
    }
}

/// An agent that has joined.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetMember {
    /// Counted from 1.
    pub number: usize,
    pub address: SocketAddr,
    pub host: HostFacts,
    /// Its program is the same build as the runner's; otherwise it is built for another architecture, and only the version was compared.
    pub is_same_program: bool,
}

/// What is known of an agent after a load.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentUse {
    pub member: FleetMember,
    pub clock: ClockError,
    /// How often its cgroup was throttled meanwhile; `None`: it has no limit that says so.
    pub throttle: Option<CpuThrottle>,
}

/// Why a load cannot be made by agents.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("agents cannot be taken in at {address}: {problem}")]
    Listen {
        address: SocketAddr,
        problem: io::Error,
    },
    #[error("agents cannot be taken in: {0}")]
    Tls(String),
    #[error("agents cannot be taken in: there is no thread for them: {0}")]
    Thread(io::Error),
    #[error("{agents} agents: a run has 1 to {AGENTS_MAX}")]
    Count { agents: usize },
    #[error("{}", missing_text(joined, lost, *of, *after))]
    Missing {
        joined: Vec<String>,
        /// Those that were there, with the reason.
        lost: Vec<String>,
        of: usize,
        after: Duration,
    },
    #[error("agent {number} of {of}{}: {why}", in_brackets(name))]
    Agent {
        number: usize,
        of: usize,
        name: String,
        why: String,
    },
}

fn in_brackets(name: &str) -> String {
    match name {
        "" => String::new(),
        name => format!(" ({name})"),
    }
}

fn missing_text(joined: &[String], lost: &[String], total: usize, after: Duration) -> String {
    let joined_of = joined.len();
    let known = match joined.is_empty() {
        true => String::new(),
        false => format!(": {}", joined.join(", ")),
    };
    let lost: String = lost.iter().map(|lost| format!("; {lost}")).collect();
    format!(
        "{joined_of} of {total} agents had joined after {} s{known}{lost}",
        after.as_secs()
    )
}

impl From<TlsError> for FleetError {
    fn from(problem: TlsError) -> Self {
        Self::Tls(problem.to_string())
    }
}

//! Where the load of a study is made: by agents on other hosts.

use std::{net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

/// The agents that make the load of a study, each a generator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agents {
    pub started: AgentsStarted,
    /// Where the runner takes them in; port 0: a free one.
    pub listen: SocketAddr,
    /// `HOST` or `HOST:PORT` by which they reach the runner; empty: where it listens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advertise: Vec<String>,
    /// How long the runner waits until all have joined.
    pub wait: Duration,
}

/// Who starts agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentsStarted {
    /// Somebody, with the file by which they join.
    ByHand { count: u32 },
    /// The runner, by ssh.
    BySsh {
        /// At least one, as ssh takes them.
        hosts: Vec<String>,
        /// The program there.
        program: String,
    },
}

impl Agents {
    #[must_use]
    pub fn count(&self) -> u32 {
        match &self.started {
            AgentsStarted::ByHand { count } => *count,
            AgentsStarted::BySsh { hosts, .. } => u32::try_from(hosts.len()).unwrap_or(u32::MAX),
        }
    }
}

//! The processes of servers that waggle did not start: found by their sockets, so that what they use is the system's and not that of
//! other programs (docs/design/0084).

mod owners;
mod scan;

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

use self::owners::Served;
use crate::host::{proc, usage::Usage};

/// The servers at some addresses.
#[derive(Debug, Default)]
pub struct ServerProcesses {
    servers: Vec<Server>,
    /// All of those that run on this machine were found.
    is_whole: bool,
}

#[derive(Debug)]
struct Server {
    /// As a replica: `server-0`.
    name: String,
    address: SocketAddr,
    /// With the processes that they had started when they were found.
    processes: BTreeSet<u32>,
    /// What they had used when they were found.
    before: Duration,
    /// `None`: it runs here, and was not found.
    is_here: Option<bool>,
}

impl ServerProcesses {
    /// Finds them anew; names as of replicas.
    pub fn find(servers: impl IntoIterator<Item = (String, SocketAddr)>) -> Self {
        let servers = servers.into_iter().map(|(name, address)| Server {
            name,
            address,
            processes: BTreeSet::new(),
            before: Duration::ZERO,
            is_here: None,
        });
        let mut processes = Self {
            servers: servers.collect(),
            is_whole: true,
        };
        processes.refresh();
        processes
    }

    /// Finds what has come since: a server may connect to its database only when it has something to do. What a process used before
    /// it was found does not count.
    pub fn refresh(&mut self) {
        if self.servers.is_empty() {
            return;
        }
        let scan = scan::scan();
        // A process that serves two of them counts once.
        let mut taken: BTreeSet<u32> = BTreeSet::new();
        for server in &mut self.servers {
            let served = scan.as_ref().map(|scan| scan.served_by(server.address));
            let (is_here, pids) = match served {
                Some(Served::Here(pids)) => (Some(true), pids),
                Some(Served::Elsewhere) => (Some(false), BTreeSet::new()),
                Some(Served::Unknown) | None => (None, BTreeSet::new()),
            };
            let pids: BTreeSet<u32> = pids.difference(&taken).copied().collect();
            taken.extend(&pids);
            let used = server.used_cpu();
            server.is_here = is_here;
            server.processes = pids;
            server.before = server.total().saturating_sub(used);
        }
        self.is_whole = self.servers.iter().all(|server| server.is_here.is_some());
    }

    /// Whether [`ServerProcesses::usage`] has all that run on this machine.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// CPU and memory of those that run here, as of replicas. Their CPU counts from when they were found.
    pub fn usage(&self) -> impl Iterator<Item = Usage> {
        let here = self
            .servers
            .iter()
            .filter(|candidate| !candidate.processes.is_empty());
        here.map(|server| {
            let used = proc::trees_usage(&server.processes);
            let cpu = used.cpu.saturating_sub(server.before);
            proc::Used { cpu, ..used }.into_usage(&server.name)
        })
    }
}

impl Server {
    fn total(&self) -> Duration {
        proc::trees_usage(&self.processes).cpu
    }

    fn used_cpu(&self) -> Duration {
        self.total().saturating_sub(self.before)
    }
}

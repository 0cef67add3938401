//! Which processes serve an address, from what was read of all processes. Pure.
//!
//! They are those that listen there, with all that these started, and those to whose ports these are connected: a proxy's servers, a
//! server's database. Waggle itself and the first process of the machine are none of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, SocketAddr},
};

/// Programs that hold sockets for services which they start later, and start everything else, too.
const INIT: [&str; 2] = ["systemd", "init"];

/// All processes, and the sockets of each network.
#[derive(Debug, Clone, Default)]
pub(super) struct Scan {
    pub(super) processes: BTreeMap<u32, ScannedProcess>,
    pub(super) networks: BTreeMap<u64, Network>,
    /// The network in which waggle connects.
    pub(super) own_network: u64,
    /// The process of waggle.
    pub(super) own_pid: u32,
}

/// One process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ScannedProcess {
    pub(super) parent: u32,
    pub(super) name: String,
    /// Numbers of its sockets; empty also if they may not be read.
    pub(super) sockets: BTreeSet<u64>,
}

/// A network namespace.
#[derive(Debug, Clone, Default)]
pub(super) struct Network {
    /// Its addresses.
    pub(super) addresses: BTreeSet<IpAddr>,
    pub(super) sockets: Vec<Socket>,
}

/// A socket of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Socket {
    pub(super) inode: u64,
    pub(super) local: SocketAddr,
    /// `None`: it listens.
    pub(super) remote: Option<SocketAddr>,
}

/// Who serves an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Served {
    /// It is not of this machine.
    Elsewhere,
    /// These processes; none but waggle itself if it is empty.
    Here(BTreeSet<u32>),
    /// Processes of this machine that cannot be found: those of another user, or a network that cannot be read.
    Unknown,
}

impl Scan {
    pub(super) fn served_by(&self, address: SocketAddr) -> Served {
        let mut waiting = match self.listeners(address) {
            Served::Here(owners) => owners,
            other => return other,
        };
        let mut pids: BTreeSet<u32> = BTreeSet::new();
        while let Some(pid) = waiting.pop_first() {
            if pid == self.own_pid || !pids.insert(pid) {
                continue;
            }
            waiting.extend(self.children(pid));
            for target in self.targets(pid) {
                match self.listeners(target) {
                    Served::Here(owners) => waiting.extend(owners),
                    Served::Elsewhere => {}
                    Served::Unknown => return Served::Unknown,
                }
            }
        }
        Served::Here(pids)
    }

    /// The processes that listen at an address.
    fn listeners(&self, address: SocketAddr) -> Served {
        let own_network = self.networks.get(&self.own_network);
        let others = self.networks.iter();
        let others = others.filter(|(number, _)| **number != self.own_network);
        let mut networks = own_network
            .into_iter()
            .chain(others.map(|(_, network)| network));
        let is_loopback = plain(address.ip()).is_loopback();
        let is_of =
            |network: &&Network| is_loopback || network.addresses.contains(&plain(address.ip()));
        let Some(network) = networks.find(is_of) else {
            return Served::Elsewhere;
        };
        let sockets = network.sockets.iter();
        let listening: Vec<u64> = sockets
            .filter(|socket| socket.remote.is_none() && takes(socket.local, address))
            .map(|socket| socket.inode)
            .collect();
        let holds = |process: &ScannedProcess| {
            let mut sockets = listening.iter();
            sockets.any(|inode| process.sockets.contains(inode))
        };
        let owners = self.processes.iter();
        let owners =
            owners.filter(|(_, owner)| holds(owner) && !INIT.contains(&owner.name.as_str()));
        let owners: BTreeSet<u32> = owners.map(|(pid, _)| *pid).collect();
        match owners.is_empty() {
            true => Served::Unknown,
            false => Served::Here(owners),
        }
    }

    fn children(&self, pid: u32) -> impl Iterator<Item = u32> {
        let processes = self.processes.iter();
        let children = processes.filter(move |(_, process)| process.parent == pid);
        children.map(|(pid, _)| *pid)
    }

    /// The addresses to which a process has connected; not those from which others have connected to it. What it is connected to in
    /// a loopback interface of another network is looked for in that of its own by `listeners`, and most likely not found.
    fn targets(&self, pid: u32) -> Vec<SocketAddr> {
        let Some(process) = self.processes.get(&pid) else {
            return Vec::new();
        };
        let networks = self.networks.values();
        let targets = networks.flat_map(|network| network.targets(process));
        let distinct: BTreeSet<SocketAddr> = targets.collect();
        distinct.into_iter().collect()
    }
}

impl Network {
    fn targets(&self, process: &ScannedProcess) -> impl Iterator<Item = SocketAddr> {
        let sockets = self.sockets.iter();
        sockets
            .filter(|socket| process.sockets.contains(&socket.inode))
            .filter(|socket| !self.listens(socket.local))
            .filter_map(|socket| socket.remote)
    }

    fn listens(&self, local: SocketAddr) -> bool {
        let mut sockets = self.sockets.iter();
        sockets.any(|listener| listener.remote.is_none() && takes(listener.local, local))
    }
}

/// Whether connections to an address come to a socket that listens at `local`.
fn takes(local: SocketAddr, address: SocketAddr) -> bool {
    let (local_ip, ip) = (plain(local.ip()), plain(address.ip()));
    local.port() == address.port() && (local_ip.is_unspecified() || local_ip == ip)
}

/// An address of IPv4 that is written as one of IPv6 is one of IPv4.
pub(super) fn plain(ip: IpAddr) -> IpAddr {
    ip.to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAGGLE: u32 = 100;
    const HERE: u64 = 1;
    const CONTAINER: u64 = 2;

    fn process(parent: u32, name: &str, sockets: &[u64]) -> ScannedProcess {
        ScannedProcess {
            parent,
            name: name.to_owned(),
            sockets: sockets.iter().copied().collect(),
        }
    }

    fn socket(inode: u64, local: &str, remote: &str) -> Socket {
        Socket {
            inode,
            local: local.parse().unwrap(),
            remote: remote.parse().ok(),
        }
    }

    /// A machine with a server and its workers, a proxy, a database, a container, a server of another user and one of systemd.
    fn scan() -> Scan {
        let here = Network {
            addresses: ["127.0.0.1", "::1", "192.0.2.7"]
                .map(|ip| ip.parse().unwrap())
                .into(),
            sockets: vec![
                socket(10, "0.0.0.0:80", "-"),
                socket(11, "[::]:81", "-"),
                socket(12, "127.0.0.1:5432", "-"),
                socket(13, "127.0.0.1:82", "-"),
                socket(14, "127.0.0.1:83", "-"),
                socket(15, "127.0.0.1:84", "-"),
                socket(16, "127.0.0.1:85", "-"),
                socket(17, "127.0.0.1:86", "-"),
                // The server's connection to its database, and that of waggle to the server.
                socket(20, "127.0.0.1:40000", "127.0.0.1:5432"),
                socket(21, "127.0.0.1:5432", "127.0.0.1:40000"),
                socket(22, "127.0.0.1:40001", "127.0.0.1:80"),
                socket(23, "127.0.0.1:80", "127.0.0.1:40001"),
                // A proxy to a container, to another host, and to what cannot be read.
                socket(24, "172.17.0.1:40002", "172.17.0.2:8080"),
                socket(25, "192.0.2.7:40003", "198.51.100.1:443"),
                socket(26, "127.0.0.1:40004", "127.0.0.1:84"),
            ],
        };
        let container = Network {
            addresses: ["127.0.0.1", "172.17.0.2"]
                .map(|ip| ip.parse().unwrap())
                .into(),
            sockets: vec![socket(30, "0.0.0.0:8080", "-")],
        };
        let processes = [
            (1, process(0, "systemd", &[10, 15])),
            (50, process(1, "shell", &[])),
            (WAGGLE, process(50, "waggle", &[17, 22])),
            (101, process(WAGGLE, "supervisor", &[])),
            (200, process(50, "server", &[10])),
            (201, process(200, "worker", &[10, 20, 23])),
            (202, process(201, "helper", &[])),
            (300, process(1, "postgres", &[12])),
            (301, process(300, "postgres", &[21])),
            (400, process(1, "docker-proxy", &[13, 24])),
            (500, process(1, "node", &[30])),
            (600, process(1, "ssh", &[14, 25])),
            (700, process(1, "proxy", &[16, 26])),
            (800, process(50, "editor", &[11])),
            (801, process(800, "bash", &[])),
        ];
        Scan {
            processes: processes.into(),
            networks: [(HERE, here), (CONTAINER, container)].into(),
            own_network: HERE,
            own_pid: WAGGLE,
        }
    }

    #[test]
    fn a_server_is_found_with_all_that_serves_it() {
        let scan = scan();
        let check = |address: &str, expected: Served| {
            let served = scan.served_by(address.parse().unwrap());
            assert_eq!(served, expected, "{address}");
        };
        let here = |pids: &[u32]| Served::Here(pids.iter().copied().collect());
        // Its workers and what these started, and the database to which one of them is connected.
        check("127.0.0.1:80", here(&[200, 201, 202, 300, 301]));
        check("192.0.2.7:80", here(&[200, 201, 202, 300, 301]));
        check("[::ffff:127.0.0.1]:80", here(&[200, 201, 202, 300, 301]));
        check("127.0.0.1:5432", here(&[300, 301]));
        check("127.0.0.1:81", here(&[800, 801]));
        // In a container, by its address and by a proxy.
        check("172.17.0.2:8080", here(&[500]));
        check("127.0.0.1:82", here(&[400, 500]));
        // A tunnel to another host.
        check("127.0.0.1:83", here(&[600]));
        check("198.51.100.1:443", Served::Elsewhere);
        // A socket of the first process alone, directly and behind a proxy; and no socket at all.
        check("127.0.0.1:84", Served::Unknown);
        check("127.0.0.1:85", Served::Unknown);
        check("127.0.0.1:99", Served::Unknown);
        check("192.0.2.7:5432", Served::Unknown);
        // A server in waggle's own process.
        check("127.0.0.1:86", here(&[]));
    }

    #[test]
    fn waggle_and_what_it_started_are_no_part_of_a_server_that_started_it() {
        let mut scan = scan();
        scan.processes.get_mut(&WAGGLE).unwrap().parent = 202;
        let served = scan.served_by("127.0.0.1:80".parse().unwrap());
        assert_eq!(served, Served::Here([200, 201, 202, 300, 301].into()));
    }
}

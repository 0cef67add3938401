//! Reads what `owners` needs of all processes, from `/proc`.

use std::{collections::BTreeSet, fs, net::IpAddr, os::linux::fs::MetadataExt, path::Path};

use procfs::{
    net::{TcpNetEntry, TcpState},
    process::{Process, all_processes},
};

use super::owners::{Network, Scan, ScannedProcess, Socket, plain};

/// `None`: `/proc` cannot be read.
pub(super) fn scan() -> Option<Scan> {
    let mut scan = Scan {
        own_network: network_of(Path::new("/proc/thread-self"))?,
        own_pid: std::process::id(),
        ..Scan::default()
    };
    for process in all_processes().ok()?.filter_map(Result::ok) {
        let Ok(stat) = process.stat() else {
            continue;
        };
        let (Ok(pid), Ok(parent)) = (u32::try_from(stat.pid), u32::try_from(stat.ppid)) else {
            continue;
        };
        let folder = format!("/proc/{pid}");
        let folder = Path::new(&folder);
        if let Some(number) = network_of(folder)
            && !scan.networks.contains_key(&number)
        {
            scan.networks.insert(number, network(&process, folder));
        }
        let scanned = ScannedProcess {
            parent,
            name: stat.comm,
            sockets: sockets_of(folder),
        };
        scan.processes.insert(pid, scanned);
    }
    Some(scan)
}

/// The number of a process's or thread's network.
fn network_of(folder: &Path) -> Option<u64> {
    Some(fs::metadata(folder.join("ns/net")).ok()?.st_ino())
}

fn network(process: &Process, folder: &Path) -> Network {
    let tables = [process.tcp(), process.tcp6()];
    let entries = tables.into_iter().filter_map(Result::ok).flatten();
    let routes = fs::read_to_string(folder.join("net/fib_trie")).unwrap_or_default();
    let sixes = fs::read_to_string(folder.join("net/if_inet6")).unwrap_or_default();
    Network {
        addresses: local_addresses(&routes)
            .into_iter()
            .chain(local_sixes(&sixes))
            .collect(),
        sockets: entries.filter_map(|entry| socket(&entry)).collect(),
    }
}

fn socket(entry: &TcpNetEntry) -> Option<Socket> {
    let remote = match entry.state {
        TcpState::Listen => None,
        TcpState::Established => Some(entry.remote_address),
        _ => return None,
    };
    Some(Socket {
        inode: entry.inode,
        local: entry.local_address,
        remote,
    })
}

/// Numbers of the sockets that a process holds; empty if they may not be read.
fn sockets_of(folder: &Path) -> BTreeSet<u64> {
    let descriptors = fs::read_dir(folder.join("fd")).into_iter().flatten();
    let targets = descriptors.filter_map(|descriptor| fs::read_link(descriptor.ok()?.path()).ok());
    let number = |target: std::path::PathBuf| {
        let text = target.to_str()?.strip_prefix("socket:[")?;
        text.strip_suffix(']')?.parse().ok()
    };
    targets.filter_map(number).collect()
}

/// Addresses of IPv4: `|-- 127.0.0.1` before `/32 host LOCAL` in `fib_trie`.
fn local_addresses(routes: &str) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    let mut last: Option<IpAddr> = None;
    for line in routes.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse().ok();
        } else if line == "/32 host LOCAL" {
            addresses.extend(last);
        }
    }
    addresses
}

/// Addresses of IPv6: 32 hexadecimal digits at the start of each line of `if_inet6`.
fn local_sixes(text: &str) -> impl Iterator<Item = IpAddr> {
    text.lines().filter_map(|line| {
        let number = u128::from_str_radix(line.get(..32)?, 16).ok()?;
        Some(plain(IpAddr::V6(number.into())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_a_network_are_read() {
        let routes = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\nLocal:\n     +-- 127.0.0.0/8 2 0 2\n        \
                      |-- 127.0.0.0\n           /8 host LOCAL\n        |-- 127.0.0.1\n           /32 host LOCAL\n        |-- \
                      127.255.255.255\n           /32 link BROADCAST\n";
        let addresses = local_addresses(routes);
        assert_eq!(addresses, ["127.0.0.1".parse::<IpAddr>().unwrap()]);
        let sixes = "00000000000000000000000000000001 01 80 10 80       lo\nshort\n";
        let addresses: Vec<IpAddr> = local_sixes(sixes).collect();
        assert_eq!(addresses, ["::1".parse::<IpAddr>().unwrap()]);
    }

    #[test]
    fn this_process_and_its_sockets_are_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let scan = scan().unwrap();
        let process = &scan.processes[&std::process::id()];
        let network = &scan.networks[&scan.own_network];
        let address = listener.local_addr().unwrap();
        let listens = |socket: &&Socket| socket.local == address && socket.remote.is_none();
        let socket = network.sockets.iter().find(listens).unwrap();
        assert!(process.sockets.contains(&socket.inode));
        assert!(network.addresses.contains(&address.ip()));
    }
}

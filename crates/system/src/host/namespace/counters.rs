//! What the kernel counts in the network of the calling thread.

use std::{fs, io};

use waggle_results::NetworkCounts;

/// The counters of the calling thread's network since it was made.
pub fn read_counts() -> io::Result<NetworkCounts> {
    // `/proc/net` is the network of the process's first thread.
    let extended = fs::read_to_string("/proc/thread-self/net/netstat")?;
    let basic = fs::read_to_string("/proc/thread-self/net/snmp")?;
    Ok(parse(&extended, &basic))
}

fn parse(extended: &str, basic: &str) -> NetworkCounts {
    let of_listeners = |name| counter(extended, "TcpExt:", name);
    let of_segments = |name| counter(basic, "Tcp:", name);
    NetworkCounts {
        listen_overflows: of_listeners("ListenOverflows"),
        listen_drops: of_listeners("ListenDrops"),
        syn_cookies: of_listeners("SyncookiesSent"),
        retransmissions: of_segments("RetransSegs"),
        resets: of_segments("OutRsts"),
    }
}

/// A counter of a group. Each group has a line of names and a line of values; a counter that the kernel does not have is 0.
fn counter(text: &str, group: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return 0;
    };
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    let pair = pairs.find(|(known, _)| *known == name);
    pair.and_then(|(_, value)| value.parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use waggle_results::NetworkCounts;

    use super::parse;

    #[test]
    fn counters_are_found_by_their_names() {
        let extended = "TcpExt: SyncookiesSent ListenOverflows New ListenDrops\nTcpExt: 3 5 9 7\nIpExt: ListenDrops\nIpExt: 1\n";
        let basic = "Ip: RetransSegs\nIp: 99\nTcp: MaxConn RetransSegs OutRsts\nTcp: -1 11 13\n";
        let expected = NetworkCounts {
            listen_overflows: 5,
            listen_drops: 7,
            syn_cookies: 3,
            retransmissions: 11,
            resets: 13,
        };
        assert_eq!(parse(extended, basic), expected);
        assert_eq!(parse("", "Tcp: OutRsts\n"), NetworkCounts::default());
    }
}

//! Free ports of the loopback address that nobody else gets while their component starts: no connection, because the kernel does
//! not give them to connections; no other waggle on this machine, because each marks its ports.
//!
//! A component binds its port itself, and seconds may pass from the release of the port to that. A port that the kernel gives to
//! connections can be one of them in that moment, and then the component ends with "address in use".

use std::{
    collections::hash_map::RandomState,
    fs,
    hash::{BuildHasher, Hasher},
    io,
    net::{Ipv4Addr, SocketAddr},
    ops::RangeInclusive,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr as UnixAddress, UnixDatagram},
    },
};

use tokio::net::TcpSocket;

/// The ports that the kernel gives to connections: the first and the last one.
const CONNECTIONS: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// Below are the standard ports of most servers.
const LOWEST: u16 = 20_000;
/// A range with fewer ports is not used: many systems may be up on one machine.
const PORTS_MIN: u16 = 512;

/// A port that is bound, but on which nobody listens.
#[derive(Debug)]
pub(super) struct FreePort {
    pub address: SocketAddr,
    /// Until its component starts.
    pub holder: TcpSocket,
    /// As long as its system is up; absent if the kernel selected the port.
    pub mark: Option<PortMark>,
}

/// The sign for other waggles that a port is in use, although nobody may listen on it now. It ends with the process, leaves no
/// file, and belongs to the network namespace, as ports do.
#[derive(Debug)]
pub(super) struct PortMark(#[expect(dead_code, reason = "it is held, not used")] UnixDatagram);

impl PortMark {
    fn set(port: u16) -> io::Result<Self> {
        let name = UnixAddress::from_abstract_name(format!("waggle/port/{port}"))?;
        UnixDatagram::bind_addr(&name).map(Self)
    }
}

/// A free port outside the range of connections; one that the kernel selects if there is none.
pub(super) fn find_free_port() -> io::Result<FreePort> {
    let connections = fs::read_to_string(CONNECTIONS).ok();
    let ports = connections.as_deref().and_then(ports_without_connections);
    match ports.and_then(find_in) {
        Some(free) => Ok(free),
        None => {
            let holder = bind(0)?;
            Ok(FreePort {
                address: holder.local_addr()?,
                holder,
                mark: None,
            })
        }
    }
}

/// The first free port of the range, from a random one on.
fn find_in(ports: RangeInclusive<u16>) -> Option<FreePort> {
    let count = u64::from(*ports.end() - *ports.start()) + 1;
    let first = RandomState::new().build_hasher().finish() % count;
    let places = (0..count).map(|place| (first + place) % count);
    let mut ports = places
        .map(|place| *ports.start() + u16::try_from(place).expect("below the count of ports"));
    ports.find_map(take)
}

/// The port, marked and held, unless it is in use.
fn take(port: u16) -> Option<FreePort> {
    let mark = PortMark::set(port).ok()?;
    let holder = bind(port).ok()?;
    Some(FreePort {
        address: holder.local_addr().ok()?,
        holder,
        mark: Some(mark),
    })
}

/// Binds a port on which no connection lingers: the component may be a program that could not bind such a port.
fn bind(port: u16) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(false)?;
    socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
    Ok(socket)
}

/// The ports above those of connections, or those below; none if the text is not that of the kernel, or if connections get
/// nearly all ports.
fn ports_without_connections(range: &str) -> Option<RangeInclusive<u16>> {
    let mut ends = range.split_whitespace().map(str::parse::<u16>);
    let (Some(Ok(first)), Some(Ok(last)), None) = (ends.next(), ends.next(), ends.next()) else {
        return None;
    };
    let above = last.checked_add(1).map(|lowest| lowest..=u16::MAX);
    let below = first.checked_sub(1).map(|highest| LOWEST..=highest);
    let is_enough = |ports: &RangeInclusive<u16>| {
        ports.end().checked_sub(*ports.start()) >= Some(PORTS_MIN - 1)
    };
    [above, below].into_iter().flatten().find(is_enough)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::{PortMark, find_free_port, find_in, ports_without_connections};

    #[test]
    fn the_ports_of_connections_are_left_out() {
        for (range, expected) in [
            ("32768\t60999\n", Some(61_000..=65_535)),
            ("1024\t65000\n", Some(65_001..=65_535)),
            ("32768\t65535\n", Some(20_000..=32_767)),
            ("32768\t65100\n", Some(20_000..=32_767)),
            ("1024\t65535\n", None),
            ("20400\t65500\n", None),
            ("", None),
            ("32768\n", None),
            ("1 2 3", None),
            ("a b", None),
            ("32768 99999", None),
        ] {
            assert_eq!(ports_without_connections(range), expected, "{range:?}");
        }
    }

    #[tokio::test]
    async fn a_port_is_free_and_marked_until_its_mark_ends() {
        let free = find_free_port().unwrap();
        let port = free.address.port();
        assert!(TcpListener::bind(free.address).is_err(), "it is held");
        drop(free.holder);
        TcpListener::bind(free.address).expect("its component binds it");
        if let Some(mark) = free.mark {
            assert!(
                PortMark::set(port).is_err(),
                "another waggle has no use of it"
            );
            drop(mark);
            PortMark::set(port).expect("its system is down");
        }
    }

    #[tokio::test]
    async fn a_port_that_is_marked_or_taken_is_passed_over() {
        let [first, second] = [find_free_port().unwrap(), find_free_port().unwrap()];
        assert_ne!(first.address, second.address);
        let port = first.address.port();
        assert!(find_in(port..=port).is_none(), "held");
        drop(first.holder);
        if first.mark.is_some() {
            assert!(find_in(port..=port).is_none(), "marked");
        }
        drop(first.mark);
        let again = find_in(port..=port).expect("free again");
        assert_eq!(again.address.port(), port);
    }
}

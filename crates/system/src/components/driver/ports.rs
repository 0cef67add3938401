//! The ports of a system's components: free ones on the loopback address, reserved until their component starts, and those of
//! external components.

use std::{
    io,
    net::{SocketAddr, TcpListener},
};

use tokio::net::TcpSocket;

use super::free_port::{FreePort, PortMark, find_free_port};

/// One port of one replica.
#[derive(Debug)]
pub(super) struct HeldPort {
    pub component: String,
    pub replica: u32,
    pub name: String,
    pub address: SocketAddr,
    /// The address that other components see: with the host's name if it was given by name.
    pub written: String,
    /// Keeps other processes from taking the port until the component starts.
    holder: Option<TcpSocket>,
    /// Keeps other waggles from selecting the port while the system is up.
    #[expect(dead_code, reason = "it is held, not used")]
    mark: Option<PortMark>,
    /// Of a component that runs already.
    is_external: bool,
}

/// One port of one replica of an external component.
#[derive(Debug)]
pub(super) struct ExternalPort<'a> {
    pub component: &'a str,
    pub replica: u32,
    pub name: &'a str,
    pub address: SocketAddr,
    /// With the host's name if it was given by name.
    pub written: String,
}

/// Every port of a trial's system.
#[derive(Debug, Default)]
pub(super) struct Ports {
    held: Vec<HeldPort>,
}

impl Ports {
    pub(super) fn hold(&mut self, component: &str, replica: u32, name: &str) -> io::Result<()> {
        let FreePort {
            address,
            holder,
            mark,
        } = find_free_port()?;
        self.held.push(HeldPort {
            component: component.to_owned(),
            replica,
            name: name.to_owned(),
            address,
            written: address.to_string(),
            holder: Some(holder),
            mark,
            is_external: false,
        });
        Ok(())
    }

    /// Notes the address of an external component.
    pub(super) fn note(&mut self, port: ExternalPort<'_>) {
        self.held.push(HeldPort {
            component: port.component.to_owned(),
            replica: port.replica,
            name: port.name.to_owned(),
            address: port.address,
            written: port.written,
            holder: None,
            mark: None,
            is_external: true,
        });
    }

    /// Notes the address of a replica that is not on this machine.
    pub(super) fn note_elsewhere(
        &mut self,
        component: &str,
        replica: u32,
        name: &str,
        address: SocketAddr,
        written: String,
    ) {
        self.held.push(HeldPort {
            component: component.to_owned(),
            replica,
            name: name.to_owned(),
            address,
            written,
            holder: None,
            mark: None,
            is_external: false,
        });
    }

    /// The replicas of external components, each with the address of its first port.
    pub(super) fn external(&self) -> Vec<(String, SocketAddr)> {
        let mut replicas: Vec<(String, SocketAddr)> = Vec::new();
        for port in self.held.iter().filter(|port| port.is_external) {
            let name = format!("{}-{}", port.component, port.replica);
            if !replicas.iter().any(|(known, _)| *known == name) {
                replicas.push((name, port.address));
            }
        }
        replicas
    }

    /// Releases a replica's ports: the replica will bind them itself.
    pub(super) fn release(&mut self, component: &str, replica: u32) {
        for port in self
            .held
            .iter_mut()
            .filter(|port| port.component == component && port.replica == replica)
        {
            port.holder = None;
        }
    }

    pub(super) fn of_replica(
        &self,
        component: &str,
        replica: u32,
        name: &str,
    ) -> Option<SocketAddr> {
        let port = self.held.iter().find(|port| {
            port.component == component && port.replica == replica && port.name == name
        })?;
        Some(port.address)
    }

    pub(super) fn of_component(&self, component: &str, name: &str) -> Vec<SocketAddr> {
        let ports = self.all_of(component, name);
        ports.map(|port| port.address).collect()
    }

    /// The addresses that other components see.
    pub(super) fn addresses(&self, component: &str, name: &str) -> Vec<String> {
        let ports = self.all_of(component, name);
        ports.map(|port| port.written.clone()).collect()
    }

    /// The host of a component's first replica, as others see it; `None`: it has no port.
    pub(super) fn written_host(&self, component: &str) -> Option<&str> {
        let mut ports = self.held.iter();
        let first = ports.find(|port| port.component == component)?;
        let (host, _) = first.written.rsplit_once(':')?;
        Some(host)
    }

    fn all_of(&self, component: &str, name: &str) -> impl Iterator<Item = &HeldPort> {
        self.held
            .iter()
            .filter(move |port| port.component == component && port.name == name)
    }

    /// Reserves the ports of a replica that was killed, until the result is dropped. Nothing listens on them, so connections are
    /// refused, and no connection of the load gets one of them as its own port. A port that cannot be bound, because old
    /// connections linger on it, is skipped.
    pub(super) fn keep(&self, component: &str, replica: u32) -> Vec<TcpSocket> {
        let ports = self
            .held
            .iter()
            .filter(|port| port.component == component && port.replica == replica);
        ports
            .filter_map(|port| reserve(port.address).ok())
            .collect()
    }

    /// Whether another process uses a port of a replica that has ended.
    pub(super) fn is_taken(&self, component: &str, replica: u32) -> bool {
        let mut ports = self
            .held
            .iter()
            .filter(|port| port.component == component && port.replica == replica);
        ports.any(|port| {
            matches!(TcpListener::bind(port.address), Err(problem) if problem.kind() == io::ErrorKind::AddrInUse)
        })
    }
}

/// Binds a port without listening on it.
fn reserve(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::{
        io::ErrorKind,
        net::{TcpListener, TcpStream},
    };

    use super::{ExternalPort, Ports};

    #[tokio::test]
    async fn ports_are_held_until_released_and_a_thief_is_noticed() {
        let mut ports = Ports::default();
        ports.hold("a", 0, "http").unwrap();
        ports.hold("a", 1, "http").unwrap();
        let [first, second] = ports.of_component("a", "http")[..] else {
            panic!("two were held")
        };
        assert_ne!(first, second);
        assert_eq!(ports.of_replica("a", 1, "http"), Some(second));
        assert_eq!(
            (
                ports.of_replica("a", 2, "http"),
                ports.of_replica("a", 0, "x")
            ),
            (None, None)
        );
        ports.note(ExternalPort {
            component: "b",
            replica: 0,
            name: "http",
            address: first,
            written: "b.lab:80".to_owned(),
        });
        assert_eq!(ports.of_component("b", "http"), [first]);
        assert_eq!(ports.addresses("b", "http"), ["b.lab:80"]);
        let hosts = ["a", "b", "c"].map(|component| ports.written_host(component));
        assert_eq!(hosts, [Some("127.0.0.1"), Some("b.lab"), None]);
        assert_eq!(ports.addresses("a", "http")[1], second.to_string());
        assert!(TcpListener::bind(first).is_err());
        ports.release("a", 0);
        assert!(!ports.is_taken("a", 0));
        let thief = TcpListener::bind(first).unwrap();
        assert!(ports.is_taken("a", 0));
        drop(thief);
        assert!(!ports.is_taken("a", 0));
    }

    #[tokio::test]
    async fn the_ports_of_the_dead_are_kept_and_refuse_connections() {
        let mut ports = Ports::default();
        ports.hold("a", 0, "http").unwrap();
        let address = ports.of_replica("a", 0, "http").unwrap();
        ports.release("a", 0);
        let kept = ports.keep("a", 0);
        assert_eq!(kept.len(), 1);
        let refused = TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        drop(kept);
        TcpListener::bind(address).unwrap();
    }
}

//! Free ports on the loopback address, held until the component that gets them starts.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
};

/// One port of one replica.
#[derive(Debug)]
pub(crate) struct HeldPort {
    pub(crate) component: String,
    pub(crate) replica: u32,
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
    /// Keeps others away until the component starts.
    holder: Option<TcpListener>,
}

/// Every port of a trial's system.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    held: Vec<HeldPort>,
}

impl Ports {
    pub(crate) fn hold(&mut self, component: &str, replica: u32, name: &str) -> io::Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        self.held.push(HeldPort {
            component: component.to_owned(),
            replica,
            name: name.to_owned(),
            address: listener.local_addr()?,
            holder: Some(listener),
        });
        Ok(())
    }

    /// Lets go of a replica's ports, for it is about to take them itself.
    pub(crate) fn release(&mut self, component: &str, replica: u32) {
        for port in self
            .held
            .iter_mut()
            .filter(|port| port.component == component && port.replica == replica)
        {
            port.holder = None;
        }
    }

    pub(crate) fn of_replica(
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

    pub(crate) fn of_component(&self, component: &str, name: &str) -> Vec<SocketAddr> {
        let ports = self
            .held
            .iter()
            .filter(|port| port.component == component && port.name == name);
        ports.map(|port| port.address).collect()
    }

    /// Whether a port of a replica that has ended belongs to somebody else.
    pub(crate) fn is_taken(&self, component: &str, replica: u32) -> bool {
        let mut ports = self
            .held
            .iter()
            .filter(|port| port.component == component && port.replica == replica);
        ports.any(|port| {
            matches!(TcpListener::bind(port.address), Err(problem) if problem.kind() == io::ErrorKind::AddrInUse)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::Ports;

    #[test]
    fn ports_are_held_until_released_and_a_thief_is_noticed() {
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
        assert!(TcpListener::bind(first).is_err());
        ports.release("a", 0);
        assert!(!ports.is_taken("a", 0));
        let thief = TcpListener::bind(first).unwrap();
        assert!(ports.is_taken("a", 0));
        drop(thief);
        assert!(!ports.is_taken("a", 0));
    }
}

//! The TLS of the ports of the components that are up.

use std::path::Path;

use waggle_load::{Roots, Tls, TlsOptions};
use waggle_study::{Component, PortTls, Trust};

use super::ProcessDriver;
use crate::{
    components::certificates::Certificates,
    http::{peer::Peer, transport::read_pem},
    problem::Problem,
};

impl ProcessDriver {
    /// The folder of the system's certificates, if it has any.
    pub fn certificates(&self) -> Option<&Path> {
        self.certificates.as_ref().map(Certificates::folder)
    }

    /// A port of every replica of a component, as waggle connects to it.
    pub(super) fn peers_of(&self, component: &str, port: &str) -> Vec<Peer> {
        let tls = self.port_tls.borrow();
        let tls = tls.get(&(component.to_owned(), port.to_owned()));
        let components = self.system.components.iter();
        let mut given = components
            .filter(|known| known.name == component)
            .flat_map(|known| known.external.iter().flatten());
        let given = given.find(|known| known.name == port);
        let authorization = given.and_then(|given| given.authorization.as_ref());
        let addresses = self.ports.of_component(component, port).into_iter();
        addresses
            .map(|address| Peer {
                address,
                tls: tls.cloned(),
                authorization: authorization.cloned(),
            })
            .collect()
    }

    /// A port of one replica, as waggle connects to it.
    pub(super) fn peer_of(&self, component: &str, replica: u32, port: &str) -> Option<Peer> {
        let address = self.ports.of_replica(component, replica, port)?;
        let mut peers = self.peers_of(component, port).into_iter();
        peers.find(|peer| peer.address == address)
    }

    /// Sets up the TLS of a component's ports, if that was not done since its start. An error says what is not there yet.
    pub(super) fn set_up_tls(&self, component: &Component) -> Result<(), Problem> {
        for asked in &component.tls {
            let key = (component.name.clone(), asked.port.clone());
            if !self.port_tls.borrow().contains_key(&key) {
                let tls = self.tls(component, asked)?;
                self.port_tls.borrow_mut().insert(key, tls);
            }
        }
        Ok(())
    }

    fn tls(&self, component: &Component, asked: &PortTls) -> Result<Tls, Problem> {
        let certificates = self.certificates.as_ref();
        let roots = match &asked.trust {
            Trust::Unchecked => Roots::Unchecked,
            Trust::SystemAuthority => {
                let certificates = certificates
                    .ok_or_else(|| Problem("the system has no certificates".to_owned()))?;
                Roots::Pem(certificates.authority().as_bytes().to_vec())
            }
            Trust::File(_) => Roots::Pem(self.authorities(component, &asked.port)?),
        };
        let client = asked.client.as_ref().map(|name| self.client_pair(name));
        let server_name = asked.server_name.clone();
        let address = self.ports.of_replica(&component.name, 0, &asked.port);
        let server_name = server_name.or_else(|| Some(address?.ip().to_string()));
        let options = TlsOptions {
            server_name: server_name.unwrap_or_default(),
            roots,
            client: client.transpose()?,
            resumes: true,
        };
        let tls = Tls::new(options);
        tls.map_err(|problem| Problem(format!("TLS of port {}: {problem}", asked.port)))
    }

    /// A certificate of the system, and its key.
    fn client_pair(&self, name: &str) -> Result<(Vec<u8>, Vec<u8>), Problem> {
        let signed = self.certificates.as_ref();
        let signed = signed.and_then(|known| known.pair(name));
        let bytes = |text: &str| text.as_bytes().to_vec();
        signed
            .map(|(certificate, key)| (bytes(certificate), bytes(key)))
            .ok_or_else(|| Problem(format!("the system has no certificate \"{name}\"")))
    }

    /// The authorities that every replica has written.
    fn authorities(&self, component: &Component, port: &str) -> Result<Vec<u8>, Problem> {
        let running = self.running.borrow();
        let replicas = running
            .iter()
            .filter(|running| self.system.components[running.component].name == component.name);
        let mut pem = Vec::new();
        for (_, file) in replicas
            .flat_map(|running| &running.authority_files)
            .filter(|(name, _)| name == port)
        {
            pem.extend(read_pem(file).map_err(|problem| problem.to_string())?);
            pem.push(b'\n');
        }
        Ok(pem)
    }
}

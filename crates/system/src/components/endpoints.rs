//! The endpoints of a system that is up.

use waggle_study::System;

use crate::{
    components::driver::{Driver, Failure},
    http::peer::Peer,
};

/// An endpoint at every replica of its component; at least one.
pub fn endpoints<D: Driver>(system: &System, driver: &D, name: &str) -> Result<Vec<Peer>, Failure> {
    let endpoint = system
        .endpoints
        .iter()
        .find(|endpoint| endpoint.name == name);
    let endpoint =
        endpoint.ok_or_else(|| Failure::new(format!("the system has no endpoint \"{name}\"")))?;
    let peers = driver.peers(&endpoint.component, &endpoint.port);
    if peers.is_empty() {
        return Err(Failure::new(format!("endpoint \"{name}\" has no address")));
    }
    Ok(peers)
}

/// An endpoint at the first replica of its component.
pub fn endpoint<D: Driver>(system: &System, driver: &D, name: &str) -> Result<Peer, Failure> {
    Ok(endpoints(system, driver, name)?.swap_remove(0))
}

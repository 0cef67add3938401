//! The addresses of the endpoints of a system that is up.

use std::net::SocketAddr;

use waggle_study::System;

use crate::driver::{Driver, Failure};

/// The addresses of an endpoint at every replica of its component; at least one.
pub(crate) fn endpoints<D: Driver>(
    system: &System,
    driver: &D,
    name: &str,
) -> Result<Vec<SocketAddr>, Failure> {
    let endpoint = system
        .endpoints
        .iter()
        .find(|endpoint| endpoint.name == name);
    let endpoint =
        endpoint.ok_or_else(|| Failure::new(format!("the system has no endpoint \"{name}\"")))?;
    let addresses = driver.addresses(&endpoint.component, &endpoint.port);
    if addresses.is_empty() {
        return Err(Failure::new(format!("endpoint \"{name}\" has no address")));
    }
    Ok(addresses)
}

/// The address of an endpoint at the first replica of its component.
pub(crate) fn endpoint<D: Driver>(
    system: &System,
    driver: &D,
    name: &str,
) -> Result<SocketAddr, Failure> {
    Ok(endpoints(system, driver, name)?[0])
}

//! The networks of a study, tried before anything is started.

use std::thread;

use waggle_study::{Network, Study};
use waggle_system::host::namespace::Namespace;

use crate::trial::error::RunError;

/// Tries each network of a study, before anything is started.
pub(crate) fn check_networks(study: &Study) -> Result<(), RunError> {
    let has_networks = study.cells.iter().any(|cell| cell.network.is_some());
    if has_networks && study.has_duets() {
        return Err(RunError::NetworkInDuet);
    }
    let mut tried: Vec<&Network> = Vec::new();
    for network in study.cells.iter().filter_map(|cell| cell.network.as_ref()) {
        if tried.contains(&network) {
            continue;
        }
        tried.push(network);
        // A thread of its own, which takes the network with it.
        let attempt = thread::scope(|scope| {
            let attempt = scope.spawn(|| Namespace::enter(network).map(drop));
            attempt.join()
        });
        attempt.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    }
    Ok(())
}

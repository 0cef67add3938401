//! Networks of trials: a network namespace each, with its loopback interface.
//!
//! A namespace belongs to a thread. The runner's thread enters it before a system is brought up; processes and threads that it
//! starts from then on are in it, too: the system, the load, the probes. It leaves it when the system is down. A namespace ends with
//! the last process in it.

mod counters;
mod netlink;
mod user;

use std::{fs, io, path::PathBuf};

pub use counters::read_counts;
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{Mode, OFlags},
    thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space},
};
pub use user::allow_namespaces;
use waggle_results::NetworkInfo;
use waggle_study::Network;

/// The namespace of the calling thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// The calling thread is in a network of its own until this value is dropped, as far as the kernel lets it go back.
#[derive(Debug)]
pub struct Namespace {
    /// Where the thread was before.
    outside: OwnedFd,
}

/// Why there is no such network.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    #[error(
        "a network namespace cannot be made: {0}; it needs root, or a kernel that lets other users make user namespaces \
         (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces)"
    )]
    Refused(io::Error),
    #[error("network.{key} cannot be set: {why}")]
    Setting { key: String, why: String },
}

impl Namespace {
    /// Moves the calling thread into a new network.
    pub fn enter(network: &Network) -> Result<Self, NetworkError> {
        let outside = rustix::fs::open(OWN, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(refusal)?;
        unshare_network().map_err(refusal)?;
        // From here on an error moves the thread back.
        let namespace = Self { outside };
        netlink::set_up(network)?;
        for (name, value) in &network.sysctl {
            set(name, value)?;
        }
        Ok(namespace)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // In a user namespace the machine's own network cannot be entered again. Then the thread stays where it is, with nobody else in
        // it, until it enters the network of its next system: all cells of a study have one, or none has.
        move_into_link_name_space(self.outside.as_fd(), Some(LinkNameSpaceType::Network)).ok();
    }
}

/// A network for the results, without counts.
#[must_use]
pub fn network_info(network: &Network) -> NetworkInfo {
    NetworkInfo {
        rate_bits_per_s: network.rate_bits_per_s,
        delay_s: network.delay.as_secs_f64(),
        loss: network.loss,
        mtu: network.packet_bytes(),
        sysctl: network.sysctl.clone(),
        counts: None,
    }
}

#[expect(
    unsafe_code,
    reason = "rustix has no safe call: other namespaces than that of the network have effects on files"
)]
fn unshare_network() -> rustix::io::Result<()> {
    // SAFETY: a new network namespace leaves the table of open files as it is.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }
}

fn refusal(problem: rustix::io::Errno) -> NetworkError {
    NetworkError::Refused(problem.into())
}

/// Sets a setting of the kernel in the calling thread's network.
fn set(name: &str, value: &str) -> Result<(), NetworkError> {
    let file: PathBuf = ["/proc/sys", &name.replace('.', "/")].iter().collect();
    let why = match fs::write(&file, value) {
        Ok(()) => return Ok(()),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => {
            "the kernel has no such setting of a network of a trial's own; some are those of the whole machine".to_owned()
        }
        Err(problem) if problem.kind() == io::ErrorKind::InvalidInput => {
            format!("the kernel refuses the value {value}")
        }
        Err(problem) => problem.to_string(),
    };
    Err(NetworkError::Setting {
        key: format!("sysctl: {name}"),
        why,
    })
}

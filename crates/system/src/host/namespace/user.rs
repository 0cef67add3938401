//! Network namespaces without root: in a user namespace of this process, where the kernel allows it.

use std::{fs, io};

use rustix::{
    process::{getegid, geteuid},
    thread::{CapabilitySet, UnshareFlags, capabilities},
};

/// Lets this process make network namespaces: moves it into a user namespace, unless it may make them already. Its user and group
/// keep their numbers. To be called while the process has one thread. If the kernel allows no user namespace, nothing happens:
/// networks are then refused by name when a run begins.
///
/// # Errors
/// The process is in a user namespace, and the kernel refuses its user or group there: it has none, and should end.
pub fn allow_namespaces() -> io::Result<()> {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    if capabilities(None).is_ok_and(|sets| sets.effective.contains(needed)) {
        return Ok(());
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    if unshare_user().is_err() {
        return Ok(());
    }
    // Without this the kernel lets nobody map a group.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

#[expect(
    unsafe_code,
    reason = "rustix has no safe call: other namespaces than that of users have effects on files"
)]
fn unshare_user() -> io::Result<()> {
    // SAFETY: a new user namespace leaves the table of open files as it is.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }?)
}

//! Binds a socket to an address of its own before it is connected. One of the few `unsafe` system calls is here.

use std::{
    io,
    mem::size_of,
    net::{IpAddr, SocketAddr},
    os::fd::{AsRawFd, OwnedFd},
};

use rustix::{
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType},
};

/// Binds a socket to an address; the port is chosen when it is connected. So the ports of an address are used up by connections to
/// one target only, not by all together.
pub(crate) fn bind(socket: &OwnedFd, source: IpAddr) -> Result<(), Errno> {
    choose_port_late(socket)?;
    rustix::net::bind(socket, &SocketAddr::new(source, 0))
}

/// Whether sockets of this machine, in this network, can have the address.
pub(crate) fn check(source: IpAddr) -> Result<(), Errno> {
    let socket = rustix::net::socket_with(
        family(source),
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    bind(&socket, source)
}

pub(crate) fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    }
}

#[expect(unsafe_code, reason = "rustix does not have this option of sockets")]
fn choose_port_late(socket: &OwnedFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes from the address, which is that of a value of that size.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            length,
        )
    };
    match result {
        0 => Ok(()),
        _ => {
            let code = io::Error::last_os_error().raw_os_error();
            Err(Errno::from_raw_os_error(code.unwrap_or_default()))
        }
    }
}

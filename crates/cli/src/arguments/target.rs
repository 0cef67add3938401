//! Where connections go: an address of a URL's host, or of another one, that accepts them.

use std::{
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use waggle_convert::Target;

use super::bad_value::BadValue;

/// One `--connect-to`, as in curl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConnectTo {
    from: (String, Option<u16>),
    to: (String, Option<u16>),
}

/// The address of the target, and a remark about how it was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReachedServer {
    pub(crate) address: SocketAddr,
    pub(crate) remark: Option<String>,
}

/// Host and port of connections, if they differ from the URL.
pub(crate) fn connect_override<'a>(
    target: &'a Target,
    connect_to: &'a [ConnectTo],
) -> Option<(&'a str, u16)> {
    let mut rules = connect_to.iter();
    rules.find_map(|rule| rule.instead_of(&target.host, target.port))
}

/// An address of the host (or of the one of `connect_to`) that accepts a connection.
///
/// # Errors
/// The name cannot be resolved, or no address accepts a connection.
pub(crate) fn reach(
    target: &Target,
    connect_to: &[ConnectTo],
    timeout: Duration,
) -> Result<ReachedServer> {
    let (host, port) = connect_override(target, connect_to).unwrap_or((&target.host, target.port));
    let addresses: Vec<SocketAddr> = (host, port)
        .to_socket_addrs()
        .with_context(|| format!("cannot resolve {host}"))?
        .collect();
    let mut refusals: Vec<String> = Vec::new();
    for address in &addresses {
        match TcpStream::connect_timeout(address, timeout) {
            Ok(_) => {
                let tried = match refusals.as_slice() {
                    [] => String::new(),
                    refusals => format!("; before it: {}", refusals.join(", ")),
                };
                let remark = (addresses.len() > 1).then(|| {
                    format!(
                        "{host} has {} addresses; all requests go to {address}, the first that accepts{tried}",
                        addresses.len()
                    )
                });
                return Ok(ReachedServer {
                    address: *address,
                    remark,
                });
            }
            Err(problem) => refusals.push(format!("{address}: {problem}")),
        }
    }
    match refusals.as_slice() {
        [] => bail!("{host} has no address"),
        refusals => bail!("cannot connect to {host}: {}", refusals.join(", ")),
    }
}

impl ConnectTo {
    /// `HOST1:PORT1:HOST2:PORT2`; IPv6 addresses are in brackets.
    pub(crate) fn parse(text: &str) -> Result<Self, BadValue> {
        let parts = parts(text);
        let [host1, port1, host2, port2] = parts.as_slice() else {
            return Err("expected HOST1:PORT1:HOST2:PORT2, with IPv6 addresses in brackets".into());
        };
        let port = |text: &str| match text {
            "" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|_| format!("{text:?} is not a port")),
        };
        Ok(Self {
            from: (host1.clone(), port(port1)?),
            to: (host2.clone(), port(port2)?),
        })
    }

    fn instead_of<'a>(&'a self, host: &'a str, port: u16) -> Option<(&'a str, u16)> {
        let (from_host, from_port) = &self.from;
        let fits = (from_host.is_empty() || from_host.eq_ignore_ascii_case(host))
            && from_port.is_none_or(|from| from == port);
        let (to_host, to_port) = &self.to;
        let host = if to_host.is_empty() { host } else { to_host };
        fits.then_some((host, to_port.unwrap_or(port)))
    }
}

/// Splits at colons outside brackets, and removes the brackets.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut bracketed = false;
    for letter in text.chars() {
        match letter {
            '[' => bracketed = true,
            ']' => bracketed = false,
            ':' if !bracketed => parts.push(String::new()),
            letter => parts
                .last_mut()
                .expect("it begins with one part")
                .push(letter),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_to_works_as_in_curl() {
        let check = |rule: &str, host: &str, port: u16, expected: Option<(&str, u16)>| {
            let rule = ConnectTo::parse(rule).unwrap();
            assert_eq!(rule.instead_of(host, port), expected);
        };
        check("a:80:b:81", "a", 80, Some(("b", 81)));
        check("a:80:b:81", "A", 80, Some(("b", 81)));
        check("a:80:b:81", "a", 82, None);
        check("a:80:b:81", "c", 80, None);
        check("::b:81", "c", 7, Some(("b", 81)));
        check("a:::81", "a", 7, Some(("a", 81)));
        check("a:80:[::1]:", "a", 80, Some(("::1", 80)));
        for wrong in ["a:80", "a:80:b:81:c", "a:x:b:81", ""] {
            assert!(ConnectTo::parse(wrong).is_err(), "{wrong}");
        }
    }
}

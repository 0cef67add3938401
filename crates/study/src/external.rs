//! Components that waggle does not start, and their addresses.

use std::{fmt, net::IpAddr};

use crate::ExternalTls;

/// A component that runs already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalComponent {
    /// Of the component.
    pub name: String,
    /// Who one is there is said by a kubeconfig. Headers with secrets of the system do not say so then.
    pub has_identity: bool,
    /// At least one; all have the same number of addresses.
    pub ports: Vec<ExternalPort>,
}

/// A port of a component that runs already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalPort {
    pub name: String,
    /// One for each replica, at least one; empty until a kubeconfig was read.
    pub at: Vec<Address>,
    /// `None`: connections are not encrypted.
    pub tls: Option<ExternalTls>,
    /// In every request that waggle sends to it.
    pub authorization: Option<Authorization>,
}

/// A kubeconfig that a study names, for the port of a component that runs already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kubeconfig {
    /// As written: a path, or `${env.NAME}` with one in it.
    pub file: String,
    /// `None`: the file's own current context.
    pub context: Option<String>,
    pub component: String,
    pub port: String,
    /// The system's endpoints at that component.
    pub endpoints: Vec<String>,
    /// Line and column at which the study names it, counted from 1.
    pub at: (u32, u32),
}

/// The value of the header `Authorization`: who one is. Shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Authorization {
    pub value: String,
}

impl Authorization {
    pub(crate) fn new(value: String) -> Self {
        Self { value }
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorization").finish_non_exhaustive()
    }
}

/// Certificates or a key, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// In a file, relative to the study's folder.
    File(String),
    /// The text itself, which is shown nowhere.
    Text(Vec<u8>),
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => f.debug_tuple("File").field(file).finish(),
            Self::Text(_) => f.debug_tuple("Text").finish_non_exhaustive(),
        }
    }
}

/// Where a server takes connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
}

impl fmt::Display for Address {
    /// `HOST:PORT`, with brackets around an address of IPv6.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl Address {
    /// Whether the address is on this machine; a name other than localhost counts as another machine.
    #[must_use]
    pub fn is_on_this_machine(&self) -> bool {
        let address: Option<IpAddr> = self.host.parse().ok();
        address.map_or(self.host.eq_ignore_ascii_case("localhost"), |address| {
            address.is_loopback()
        })
    }
}

impl fmt::Display for ExternalPort {
    /// `broker 10.0.0.1:9092, 10.0.0.2:9092`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() {
            return write!(f, "{} of a kubeconfig", self.name);
        }
        let addresses: Vec<String> = self.at.iter().map(ToString::to_string).collect();
        write!(f, "{} {}", self.name, addresses.join(", "))
    }
}

impl fmt::Display for ExternalComponent {
    /// Its name and its ports.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports: Vec<String> = self.ports.iter().map(ToString::to_string).collect();
        write!(f, "{} ({})", self.name, ports.join("; "))
    }
}

/// Parses `HOST:PORT`; without a port it has the standard one, if there is one.
pub(crate) fn address(text: &str, standard_port: Option<u16>) -> Result<Address, &'static str> {
    if text.contains("//") {
        return Err("it is a URL");
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, behind) = rest.split_once(']').ok_or("its [ is not closed")?;
            let is_address = host.parse::<std::net::Ipv6Addr>().is_ok();
            let port = match behind.strip_prefix(':') {
                Some("") => return Err("it has no port after the colon"),
                Some(port) => port,
                None => behind,
            };
            (is_address.then_some(host), port)
        }
        None => match text.split_once(':') {
            Some((_, "")) => return Err("it has no port after the colon"),
            Some((host, port)) => (Some(host), port),
            None => (Some(text), ""),
        },
    };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    let host = host
        .filter(|host| !host.is_empty() && host.bytes().all(is_letter))
        .ok_or("its host is neither a name nor an address")?;
    let port = match port {
        "" => standard_port.ok_or("it has no port")?,
        port => port
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or("its port is no number from 1 to 65535")?,
    };
    Ok(Address {
        host: host.to_owned(),
        port,
    })
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn addresses_are_taken_apart() {
        let check = |text: &str, expected: Result<(&str, u16), &str>| {
            let result = address(text, None);
            let read = result
                .as_ref()
                .map(|address| (address.host.as_str(), address.port));
            assert_eq!(read.map_err(|why| *why), expected, "{text}");
            if let Ok(result) = &result {
                assert_eq!(result.to_string(), text);
            }
        };
        check("127.0.0.1:9092", Ok(("127.0.0.1", 9092)));
        check("kafka-0.kafka.lab:9092", Ok(("kafka-0.kafka.lab", 9092)));
        check("[::1]:1", Ok(("::1", 1)));
        check("localhost", Err("it has no port"));
        check("[::1]", Err("it has no port"));
        check("[::1]:", Err("it has no port after the colon"));
        check("localhost:", Err("it has no port after the colon"));
        check(":80", Err("its host is neither a name nor an address"));
        check("http://h:80", Err("it is a URL"));
        check("h:0", Err("its port is no number from 1 to 65535"));
        check("h:65536", Err("its port is no number from 1 to 65535"));
        check("[x]:1", Err("its host is neither a name nor an address"));
        check("a b:1", Err("its host is neither a name nor an address"));
    }
}

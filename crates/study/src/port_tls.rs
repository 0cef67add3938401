//! TLS of a component's ports, and the certificates that are made for it.

/// A certificate that is made when the system is brought up, signed by an authority of that system. It serves a server and a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    pub name: String,
    /// The common name of its subject.
    pub common_name: String,
    /// The organizations of its subject.
    pub organizations: Vec<String>,
    /// DNS names and addresses for which it is valid, besides those of this machine's loopback interface.
    pub hosts: Vec<String>,
}

/// How waggle connects to a port that speaks TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortTls {
    pub port: String,
    pub trust: Trust,
    /// The certificate that is presented to the server, by its name.
    pub client: Option<String>,
    /// The name that the server's certificate must have; `None`: the address.
    pub server_name: Option<String>,
}

/// Which certificates of a server are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Those that the system's own authority signed.
    SystemAuthority,
    /// Those of the authorities in this file, in PEM, which the component may write itself; the text may have `${…}`.
    File(String),
    /// All.
    Unchecked,
}

//! The checked system: its parameters, components, endpoints, probes and functional check.
//!
//! Strings of a component may hold `${…}`: a parameter's name, `dir` (the replica's own folder), `replica` (its number from 0),
//! `system_dir` (the folder of the system's file), `listen` (the address on which it binds its ports), `host` (the name or address by
//! which others reach it), `port.NAME` (one of its ports), `program.NAME` (the path of that program), `COMPONENT.port.NAME` (a port of
//! another component's first replica), `COMPONENT.host` (the host of that replica), `COMPONENT.address.NAME` (host and port),
//! `COMPONENT.addresses.NAME` (those of all of its replicas, `127.0.0.1:1,127.0.0.1:2`), `ca.cert`, `certificate.NAME.cert` and
//! `certificate.NAME.key` (files of certificates), or `secret.NAME` (a random word, the same for all components of a system that
//! is up). They are replaced when the system is brought up; `$${` is a plain `${`.

use std::time::Duration;

use crate::{
    Address, Arguments, Artifact, Certificate, Expect, ExternalPort, Level, LimitTexts, Manifests,
    Pem, PortTls, Probe, SetupStep, SystemMetric, When, Workload,
};

/// A checked `system.yaml`.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    pub name: String,
    pub summary: String,
    pub parameters: Vec<Parameter>,
    pub artifacts: Vec<Artifact>,
    /// Made each time when the system is brought up.
    pub certificates: Vec<Certificate>,
    /// In the order of starting: a component comes after those it depends on.
    pub components: Vec<Component>,
    pub endpoints: Vec<Endpoint>,
    /// What is applied in a cluster in place of processes; its components are workloads.
    pub manifests: Option<Manifests>,
    /// The endpoint that a kubeconfig has the server of; `None`: a study cannot name one.
    pub kubeconfig: Option<String>,
    pub probes: Vec<Probe>,
    pub metrics: Vec<SystemMetric>,
    /// The functional check, run in this order before any load.
    pub verify: Vec<Check>,
    /// A server that runs already; its one component is neither started nor stopped.
    pub external: Option<External>,
}

impl System {
    /// Whether load at an endpoint goes over TLS.
    #[must_use]
    pub fn is_encrypted(&self, endpoint: &str) -> bool {
        if let Some(server) = &self.external {
            return server.is_tls;
        }
        let endpoints = self.endpoints.iter().filter(|known| known.name == endpoint);
        let mut ports = endpoints.flat_map(|endpoint| {
            let components = self.components.iter();
            let owners = components.filter(|known| known.name == endpoint.component);
            owners.map(|component| component.is_encrypted(&endpoint.port))
        });
        ports.any(|is_encrypted| is_encrypted)
    }
}

impl System {
    /// The endpoint that a kubeconfig has the server of.
    pub(crate) fn kubeconfig_endpoint(&self) -> Option<&Endpoint> {
        let name = self.kubeconfig.as_ref()?;
        self.endpoints
            .iter()
            .find(|endpoint| endpoint.name == *name)
    }
}

/// A server that runs already, by its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct External {
    /// Scheme, host and port as they were written.
    pub url: String,
    /// Host and port as in the URL, for the Host header.
    pub authority: String,
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
    pub is_tls: bool,
    pub tls: ExternalTls,
    /// Where connections go; `None`: to `host` and `port`.
    pub connect_to: Option<Address>,
    /// Whether the load's own requests are sent once before the load.
    pub smoke_test: bool,
}

impl External {
    /// Where connections go.
    #[must_use]
    pub fn address(&self) -> Address {
        self.connect_to.clone().unwrap_or_else(|| Address {
            host: self.host.clone(),
            port: self.port,
        })
    }
}

/// Certificates and keys for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalTls {
    /// The server's certificate is accepted without a check.
    pub insecure_skip_verify: bool,
    /// The authorities to trust; `None`: this machine's.
    pub ca: Option<Pem>,
    /// The client's certificate and its private key, which may be the same file.
    pub client: Option<(Pem, Pem)>,
    /// The name that the server's certificate must have; `None`: the host of its address.
    pub server_name: Option<String>,
    /// Whether a handshake may resume an earlier session.
    pub resumes: bool,
}

impl Default for ExternalTls {
    fn default() -> Self {
        Self {
            insecure_skip_verify: false,
            ca: None,
            client: None,
            server_name: None,
            resumes: true,
        }
    }
}

/// What a study may set.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub summary: String,
    pub kind: ParameterKind,
    /// Whether `none` is a value, too.
    pub is_optional: bool,
    pub default: Level,
}

/// The values a parameter takes.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterKind {
    Integer {
        min: i64,
        max: i64,
    },
    Number {
        min: f64,
        max: f64,
    },
    Duration {
        min: Duration,
        max: Duration,
    },
    /// In bytes.
    Size {
        min: u64,
        max: u64,
    },
    Boolean,
    /// Letters, digits, `-`, `_` and `.`.
    Text,
    OneOf(Vec<String>),
}

/// One process (or several alike) of the system.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    pub name: String,
    pub when: When,
    /// A number or `${parameter}`.
    pub replicas: String,
    /// Components that must be ready before this one is started.
    pub depends_on: Vec<String>,
    /// Names of the ports it listens on; a free one on 127.0.0.1 is found for each.
    pub ports: Vec<String>,
    /// Those of them that speak TLS.
    pub tls: Vec<PortTls>,
    /// Name and text of each, written into the replica's own folder before it starts.
    pub files: Vec<(String, String)>,
    pub process: ProcessDriver,
    /// What it is among the manifests of the system; it is then no process.
    pub workload: Option<Workload>,
    /// For each replica; [`System::limits`] has their amounts.
    pub limits: LimitTexts,
    pub ready: ReadyCheck,
    /// Names of secrets that the first replica writes, each with its file in the replica's own folder.
    pub secrets: Vec<(String, String)>,
    /// Made once, in this order, when it is ready and before the components that depend on it start.
    pub setup: Vec<SetupStep>,
    /// How long it has between SIGTERM and SIGKILL.
    pub stop_timeout: Duration,
    /// Its ports if it already runs. It is then neither started nor stopped, and has nothing that only a start needs.
    pub external: Option<Vec<ExternalPort>>,
}

impl Component {
    /// The secrets that are known once it is ready and its setup is done.
    pub fn given_secrets(&self) -> impl Iterator<Item = &str> {
        let captures = self.setup.iter().flat_map(|step| &step.captures);
        let all = self.secrets.iter().chain(captures);
        all.map(|(name, _)| name.as_str())
    }

    /// How long it may take to remove what was made in it; nothing is made in one that waggle starts that would remain.
    #[must_use]
    pub fn undo_timeout(&self) -> Duration {
        let steps = self.setup.iter().filter(|_| self.external.is_some());
        let undo = steps.filter_map(|step| step.undo.as_ref());
        undo.map(|undo| undo.timeout).sum()
    }

    /// Whether a port speaks TLS.
    #[must_use]
    pub fn is_encrypted(&self, port: &str) -> bool {
        let mut given = self.external.iter().flatten();
        self.tls.iter().any(|tls| tls.port == port)
            || given.any(|given| given.name == port && given.tls.is_some())
    }
}

/// How the process driver starts it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProcessDriver {
    /// Programs that are searched next to the `waggle` program, then on PATH; the first is run if `command` names none.
    pub command: Vec<String>,
    /// What comes after it in some configurations; `configured` has put it there.
    pub arguments: Vec<Arguments>,
    pub environment: Vec<(String, String)>,
    /// Variables that it has from waggle's environment.
    pub environment_from: Vec<String>,
    /// Arguments that make it print its version.
    pub version_arguments: Vec<String>,
}

/// When it counts as ready.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadyCheck {
    /// GET answers 2xx.
    Http { port: String, path: String },
    /// A connection is accepted.
    Tcp { port: String },
}

impl ReadyCheck {
    /// The port that is checked.
    #[must_use]
    pub fn port(&self) -> &str {
        match self {
            Self::Http { port, .. } | Self::Tcp { port } => port,
        }
    }
}

/// The target of load: a port of every replica of a component.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    pub name: String,
    pub when: When,
    pub component: String,
    pub port: String,
}

/// One step of the functional check. Its path, headers, body and texts of `expect` may have `{{name}}`: a value that an earlier
/// step captured. That step is done in every configuration in which this one is.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    pub name: String,
    pub when: When,
    pub endpoint: String,
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub expect: Expect,
    /// Variables of later steps, each with the JSONPath of its value.
    pub captures: Vec<(String, String)>,
    /// The step is repeated until it holds or this time is up.
    pub timeout: Duration,
}

//! The part `system` of a study, key by key.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Name, OneOrSeveral};
use crate::{
    Level, System,
    at::{At, Entries, Key},
    parts::{limits::Limits, oauth2::Oauth2, pods::system::ComponentPods, tls::Tls},
};

/// The ports of a component that runs already, each with one `HOST:PORT` or several.
pub(crate) type ExternalPorts = Entries<OneOrSeveral<At<String>>>;

/// Which system, with which parameters; or the URL of a server that runs already.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UseSystem {
    /// Name of the system: a folder in `systems/`.
    #[serde(rename = "use")]
    pub name: Key<Name>,
    /// In place of `use`: a server that runs already, e.g. `http://127.0.0.1:8080`. It is neither started nor stopped.
    pub url: Key<String>,
    /// Certificates and keys. For `url` with https, and for the ports of `external` that speak TLS.
    pub tls: Key<Tls>,
    /// Connect to this `HOST:PORT` in place of the URL's; the Host header and the name in the certificate stay the URL's. For
    /// `url`.
    pub connect_to: Key<String>,
    /// Send the load's own requests once before the load, and start it only if they are answered as expected; true by default.
    /// For `url`.
    pub smoke_test: Key<bool>,
    /// Values for the system's parameters; the others keep their defaults.
    pub set: Key<Entries<Level>>,
    /// Components that run already, each with the addresses of its ports, e.g. `kafka: { broker: "10.0.0.7:9092" }`; a list
    /// if it has several replicas. They are neither started nor stopped. For `use`.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub external: Key<Entries<ExternalPorts>>,
    /// A cluster that runs already: the system's API is the server of this kubeconfig. It is neither started nor stopped. For `use`,
    /// with a system that has a `kubeconfig`.
    pub kubeconfig: Key<Kubeconfig>,
    /// Secrets of such components, each from an environment variable, e.g. `influxdb: ${env.INFLUX_TOKEN}`. For `use`.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub secrets: Key<Entries<String>>,
    /// Where the token of `${oauth2.token}` in headers comes from.
    pub oauth2: Key<Oauth2>,
    /// Limits of components, e.g. `registry: { cpus: 0.5, memory: 1GiB }`, in place of those that the system gives them; each replica
    /// has its own. Values may be `${factor}`. For `use`.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub limits: Key<IndexMap<String, At<Limits>>>,
    /// The CPUs of the system's components; by default those that the load does not have. For `use`.
    #[schemars(length(min = 1), inner(range(min = 0, max = 1_023)))]
    pub cpuset: Key<Vec<u32>>,
    /// The components of the system as pods of a cluster, in place of processes of this machine. Those of `external` stay where they
    /// are. For `use`.
    pub pods: Key<ComponentPods>,
}

/// A context of a kubeconfig: where the API is, whom to trust, and who one is there.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kubeconfig {
    /// The file, relative to the study's folder; may begin with `~/`, or be `${env.NAME}` and nothing else.
    #[schemars(required)]
    pub file: Key<String>,
    /// Which context; the file's `current-context` by default.
    pub context: Key<String>,
}

/// The names of the components that a study does not start.
pub(crate) fn external_names<'a>(
    raw: Option<&'a UseSystem>,
    system: Option<&'a System>,
) -> BTreeSet<&'a str> {
    let given = raw.into_iter().flat_map(|raw| raw.external.entries());
    let given = given.map(|(name, _)| name);
    let kubeconfig = raw.and_then(|raw| raw.kubeconfig.value());
    let endpoint = kubeconfig.and_then(|_| system?.kubeconfig_endpoint());
    let of_kubeconfig = endpoint.map(|endpoint| &endpoint.component);
    given.chain(of_kubeconfig).map(String::as_str).collect()
}

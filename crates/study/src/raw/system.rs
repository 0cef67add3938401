//! A system file, key by key.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Arguments, Artifact, Conditions, DurationText, Helm, Name, PatchedFields, SetupStep, Size,
    VerifyCapture,
};
use crate::{
    Level,
    at::{At, Entries, Key},
    parts::{
        limits::Limits,
        probe::Probe,
        request::{Expect, Method},
        system_metric::SystemMetric,
        tls::certificates::Certificate,
    },
};

/// A system: its parameters, components, endpoints, probes and functional check.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "waggle system")]
pub(crate) struct System {
    /// Name of the system, and of its folder.
    #[schemars(required)]
    pub system: Option<Name>,
    /// What it is, in a sentence.
    #[schemars(required)]
    pub summary: Option<String>,
    /// What a study may set.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub parameters: Key<IndexMap<String, At<Parameter>>>,
    /// Programs of others that are fetched if they are not installed.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub artifacts: Key<IndexMap<String, At<Artifact>>>,
    /// Certificates that are made when the system is brought up, signed by an authority of its own. `${certificate.NAME.cert}`,
    /// `${certificate.NAME.key}` and `${ca.cert}` are their files, in PEM.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub certificates: Key<IndexMap<String, At<Certificate>>>,
    /// Variables of every component's environment, in addition to its own; may hold `${…}`, but no secret and no `port.NAME`. A
    /// component's own variable of the same name wins.
    pub environment: Key<IndexMap<String, At<String>>>,
    /// In place of processes: files and folders of Kubernetes manifests, beside this file. They are applied for each start of the
    /// system, and removed when it is stopped; each object must be new.
    #[schemars(length(min = 1, max = 100))]
    pub manifests: Key<Vec<At<String>>>,
    /// The same with the manifests of a chart.
    pub helm: Key<Helm>,
    /// Where they are applied: a namespace that is there. By default that of the run.
    pub namespace: Key<String>,
    /// What is changed in them before they are applied: objects (`deployment/shop`) with fields (`spec.replicas`,
    /// `spec.template.spec.containers[name=shop].image`) and values, which may hold `${parameter}`.
    pub patches: Key<IndexMap<String, At<PatchedFields>>>,
    /// Conditions of other objects (`kafka/events: Ready`) that must be true before the system counts as ready. Deployments,
    /// StatefulSets, DaemonSets, Jobs and pods are waited for anyway.
    pub wait: Key<IndexMap<String, At<String>>>,
    /// Its processes; or workloads of its manifests.
    #[schemars(required, extend("x-waggle-keys" = "name"))]
    pub components: Key<Entries<Component>>,
    /// The targets of load: a port of every replica of a component.
    #[schemars(required, extend("x-waggle-keys" = "name"))]
    pub endpoints: Key<Entries<Endpoint>>,
    /// The endpoint whose address, certificates and identity are those of a kubeconfig if a study names one (`system.kubeconfig`).
    pub kubeconfig: Key<String>,
    /// What watches the stores in which records arrive.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub probes: Key<IndexMap<String, At<Probe>>>,
    /// Metrics of the system that are read repeatedly while load runs.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub metrics: Key<IndexMap<String, At<SystemMetric>>>,
    /// The functional check, run in this order before any load.
    pub verify: Key<Vec<At<Verify>>>,
}

/// A parameter: exactly one of integer, number, duration, size, boolean, text and one_of, and a default.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameter {
    /// What it decides.
    #[schemars(required)]
    pub summary: Option<String>,
    /// A whole number within bounds.
    pub integer: Key<Bounds>,
    /// A number within bounds, e.g. from 0.1 to 8.
    pub number: Key<NumberBounds>,
    /// A duration within bounds.
    pub duration: Key<DurationBounds>,
    /// A size within bounds, e.g. from 1kB to 4MiB.
    pub size: Key<SizeBounds>,
    /// true or false; written `boolean: {}`.
    pub boolean: Key<Flag>,
    /// Letters, digits, `-`, `_` and `.`, at most 64; written `text: {}`.
    pub text: Key<Flag>,
    /// One of these words.
    #[schemars(length(min = 1))]
    pub one_of: Key<Vec<String>>,
    /// Whether `none` is a value, too; false by default.
    pub optional: Option<bool>,
    /// Its value if a study sets none.
    #[schemars(required)]
    pub default: Key<Level>,
}

/// Bounds of a whole number.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bounds {
    /// The least value.
    #[schemars(required)]
    pub min: Option<i64>,
    /// The greatest value.
    #[schemars(required)]
    pub max: Option<i64>,
}

/// Bounds of a number.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NumberBounds {
    /// The least value.
    #[schemars(required)]
    pub min: Option<f64>,
    /// The greatest value.
    #[schemars(required)]
    pub max: Option<f64>,
}

/// Bounds of a duration.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DurationBounds {
    /// The shortest.
    #[schemars(required)]
    pub min: Option<DurationText>,
    /// The longest.
    #[schemars(required)]
    pub max: Option<DurationText>,
}

/// Bounds of a size.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SizeBounds {
    /// The smallest.
    #[schemars(required)]
    pub min: Option<Size>,
    /// The largest.
    #[schemars(required)]
    pub max: Option<Size>,
}

/// A kind without further keys.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flag {}

/// One process, or several alike.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Component {
    /// In which configurations it exists, e.g. `{ backend: kafka }`: each parameter has that level, or one of those in a list;
    /// in all by default.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub when: Key<Conditions>,
    /// How many; a number or `${parameter}`; 1 by default.
    pub replicas: Key<Replicas>,
    /// Components that must be ready before this one is started.
    pub depends_on: Key<Vec<At<String>>>,
    /// Names of the ports it listens on; a free one on 127.0.0.1 is found for each.
    pub ports: Key<Vec<At<Name>>>,
    /// The ports that speak TLS, each with how waggle connects to it; written `https: {}` if the system's own authority signed the
    /// server's certificate, and the server asks for none.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub tls: Key<IndexMap<String, At<PortTls>>>,
    /// Text files, by name, written into its own folder (`${dir}`) before it starts; may hold `${…}`, `$${` is a plain `${`.
    pub files: Key<IndexMap<String, At<String>>>,
    /// How it is started as a process.
    pub process: Key<Process>,
    /// In place of `process`: the object of the manifests that makes its pods, e.g. `deployment/shop`.
    pub workload: Key<String>,
    /// The Service by which a workload is reached; `ports` are its ports. Without it, or if it is headless, each pod that is ready
    /// is reached by its own address.
    pub service: Key<String>,
    /// How much CPU and memory each replica may use; a value may be `${parameter}`. No limit by default.
    pub limits: Key<Limits>,
    /// When it counts as ready. A workload is ready when Kubernetes says so.
    pub ready: Key<ReadyCheck>,
    /// What it writes into files of its own folder, once it is ready: `${secret.NAME}` for those that depend on it, and for requests.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub secrets: Key<IndexMap<String, WrittenSecret>>,
    /// Requests made once, in this order, when it is ready and before the components that depend on it start.
    pub setup: Key<Vec<At<SetupStep>>>,
    /// Time between SIGTERM and SIGKILL, 0s for SIGKILL at once; 10s by default.
    pub stop_timeout: Key<DurationText>,
}

/// A secret that a component writes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenSecret {
    /// The file, in the folder of the first replica; its text without spaces and line ends around it is the secret.
    #[schemars(required)]
    pub file: Key<String>,
}

/// How waggle connects to a port that speaks TLS.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PortTls {
    /// A file of the certificate authorities to trust, in PEM, which the component may write; may hold `${…}`, e.g.
    /// `${dir}/ca.pem`. By default the system's own authority.
    pub ca: Key<String>,
    /// The certificate that is presented to the server: one of `certificates`.
    pub client: Key<String>,
    /// The name that the server's certificate must have; by default its address.
    pub server_name: Key<String>,
    /// Accept the server's certificate without a check; false by default.
    pub insecure_skip_verify: Option<bool>,
}

/// How many replicas: a number, or a parameter's name in `${…}`.
#[derive(Debug, Deserialize)]
#[serde(from = "Level")]
pub(crate) struct Replicas(pub String);

impl From<Level> for Replicas {
    fn from(level: Level) -> Self {
        Self(level.to_string())
    }
}

impl JsonSchema for Replicas {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Replicas".into()
    }

    fn json_schema(_generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["integer", "string"], "minimum": 1 })
    }
}

/// How a process is started.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Process {
    /// The program and its arguments; may hold `${…}`: a parameter, `dir`, `replica`, `system_dir`, `listen`, `host`, `port.NAME`,
    /// `program.NAME`, `COMPONENT.port.NAME`, `COMPONENT.host`, `COMPONENT.address.NAME`, `COMPONENT.addresses.NAME`, `ca.cert`,
    /// `certificate.NAME.cert`, `certificate.NAME.key`.
    #[schemars(required, length(min = 1))]
    pub command: Key<Vec<At<String>>>,
    /// Further arguments, which it has in some configurations only.
    pub arguments: Key<Vec<At<Arguments>>>,
    /// Variables of its environment; may hold `${…}` too, `secret.NAME` among them.
    pub environment: Key<IndexMap<String, At<String>>>,
    /// Environment variables that it has from waggle's environment, if they are set there, e.g. `JAVA_HOME`. Besides them and its own it
    /// has PATH, HOME, LANG, TMPDIR and the proxies (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, in capitals or not).
    pub environment_from: Key<Vec<At<String>>>,
    /// Arguments that make it print its version.
    pub version_arguments: Option<Vec<String>>,
}

/// When a component counts as ready: exactly one key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadyCheck {
    /// GET answers 2xx.
    pub http: Key<HttpReady>,
    /// A connection is accepted.
    pub tcp: Key<TcpReady>,
}

/// GET answers 2xx.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HttpReady {
    /// One of the component's ports.
    #[schemars(required)]
    pub port: Key<String>,
    /// Path and query.
    #[schemars(required)]
    pub path: Key<String>,
}

/// A connection is accepted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TcpReady {
    /// One of the component's ports.
    #[schemars(required)]
    pub port: Key<String>,
}

/// A target of load.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Endpoint {
    /// In which configurations it exists; in all in which its component does, by default.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub when: Key<Conditions>,
    /// One of the components.
    #[schemars(required)]
    pub component: Key<String>,
    /// One of its ports.
    #[schemars(required)]
    pub port: Key<String>,
}

/// One step of the functional check. Its method is the key of its path: exactly one of get, put, post, …; or
/// `method` with `path`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verify {
    /// What holds if the step passes.
    #[schemars(required)]
    pub name: Key<String>,
    /// In which configurations it is done; in all in which its endpoint exists, by default.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub when: Key<Conditions>,
    /// One of the endpoints.
    #[schemars(required)]
    pub endpoint: Key<String>,
    #[serde(rename = "$waggle::Part")]
    #[schemars(flatten)]
    pub method: At<Method>,
    /// Header fields; may hold `${secret.NAME}`, parameters and `{{NAME}}`, which an earlier step captured.
    pub headers: Key<IndexMap<String, At<String>>>,
    /// The body; may hold the same.
    pub body: Key<String>,
    /// Which answers are a success; any 2xx by default. Its texts may hold `{{NAME}}`.
    pub expect: Key<Expect>,
    /// What later steps need of the answer, as `{{NAME}}` in their paths, headers, bodies and texts of `expect`.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub capture: Key<IndexMap<String, VerifyCapture>>,
    /// The step is repeated until it holds or this time is up; 5s by default.
    pub timeout: Key<DurationText>,
}

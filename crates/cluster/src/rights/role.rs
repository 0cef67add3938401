//! The rights of one namespace that are enough for a run, and those of the cluster for facts of nodes.

use crate::api::{Kind, Verb};

/// The service account, its Role and its binding.
const ACCOUNT: &str = "waggle";

/// What a right is for, its resource and its verbs.
type Right = (&'static str, Kind, &'static str, &'static [Verb]);

/// Rights within the namespace.
const RIGHTS: [Right; 11] = [
    (
        "whether the namespace is there, and was not made for another run",
        Kind::Namespace,
        "",
        &[Verb::Get],
    ),
    (
        "the lease that keeps a second run out",
        Kind::Lease,
        "",
        &[Verb::List, Verb::Create, Verb::Update, Verb::Delete],
    ),
    (
        "what all objects of a run belong to",
        Kind::ConfigMap,
        "",
        &[Verb::Create, Verb::Delete],
    ),
    (
        "the token and certificates of agents; none is read",
        Kind::Secret,
        "",
        &[Verb::Create, Verb::Delete],
    ),
    (
        "the names of replicas of a system as pods",
        Kind::Service,
        "",
        &[Verb::Create, Verb::Delete],
    ),
    (
        "agents and the runner",
        Kind::Job,
        "",
        &[Verb::Get, Verb::Create, Verb::Delete],
    ),
    (
        "replicas of a system as pods",
        Kind::StatefulSet,
        "",
        &[Verb::Create, Verb::Delete],
    ),
    (
        "where pods are, and why they do not run",
        Kind::Pod,
        "",
        &[Verb::List],
    ),
    ("what they wrote", Kind::Pod, "log", &[Verb::Get]),
    (
        "files to and from the runner (get: before Kubernetes 1.35)",
        Kind::Pod,
        "exec",
        &[Verb::Create, Verb::Get],
    ),
    ("why pods are not made", Kind::Event, "", &[Verb::List]),
];

/// Rights in the whole cluster, for facts of nodes alone.
const NODE_RIGHTS: [Right; 4] = [
    (
        "kernel, runtime, instance type and zone of the nodes of a run; what a plan needs",
        Kind::Node,
        "",
        &[Verb::Get, Verb::List],
    ),
    (
        "what else runs on these nodes, and what it asks for",
        Kind::Pod,
        "",
        &[Verb::List],
    ),
    (
        "which Service has the address of the system",
        Kind::Service,
        "",
        &[Verb::List],
    ),
    (
        "whether its pods are on the nodes of agents",
        Kind::EndpointSlice,
        "",
        &[Verb::List],
    ),
];

/// The manifests of a service account with all rights that a run needs in this namespace; `nodes`: and of a ClusterRole for facts of
/// nodes, without which they are unknown.
#[must_use]
pub fn rbac(namespace: &str, nodes: bool) -> String {
    let mut text = format!(
        "# What waggle needs in namespace {namespace}. A run uses it from within the cluster, and so may whoever starts runs.\n\
         apiVersion: v1\n\
         kind: ServiceAccount\n\
         metadata:\n  name: {ACCOUNT}\n  namespace: {namespace}\n\
         ---\n\
         apiVersion: rbac.authorization.k8s.io/v1\n\
         kind: Role\n\
         metadata:\n  name: {ACCOUNT}\n  namespace: {namespace}\n\
         rules:\n"
    );
    RIGHTS.iter().for_each(|right| text.push_str(&rule(right)));
    text.push_str(&format!(
        "---\n\
         apiVersion: rbac.authorization.k8s.io/v1\n\
         kind: RoleBinding\n\
         metadata:\n  name: {ACCOUNT}\n  namespace: {namespace}\n\
         roleRef: {{ apiGroup: rbac.authorization.k8s.io, kind: Role, name: {ACCOUNT} }}\n\
         subjects: [{{ kind: ServiceAccount, name: {ACCOUNT}, namespace: {namespace} }}]\n"
    ));
    if nodes {
        text.push_str(&node_rights(namespace));
    }
    text
}

/// Names of the cluster's objects have the namespace: another one has its own binding.
fn node_rights(namespace: &str) -> String {
    let name = format!("{ACCOUNT}-nodes-{namespace}");
    let mut text = format!(
        "---\n\
         apiVersion: rbac.authorization.k8s.io/v1\n\
         kind: ClusterRole\n\
         metadata:\n  name: {name}\n\
         rules:\n"
    );
    NODE_RIGHTS
        .iter()
        .for_each(|right| text.push_str(&rule(right)));
    text.push_str(&format!(
        "---\n\
         apiVersion: rbac.authorization.k8s.io/v1\n\
         kind: ClusterRoleBinding\n\
         metadata:\n  name: {name}\n\
         roleRef: {{ apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {name} }}\n\
         subjects: [{{ kind: ServiceAccount, name: {ACCOUNT}, namespace: {namespace} }}]\n"
    ));
    text
}

fn rule((purpose, kind, part, verbs): &Right) -> String {
    let resource = match *part {
        "" => kind.resource().to_owned(),
        part => format!("{}/{part}", kind.resource()),
    };
    let verbs: Vec<&str> = verbs.iter().map(|verb| verb.name()).collect();
    format!(
        "  # {purpose}\n  - apiGroups: [\"{}\"]\n    resources: [{resource}]\n    verbs: [{}]\n",
        kind.group(),
        verbs.join(", ")
    )
}

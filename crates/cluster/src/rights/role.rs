//! The rights of one namespace that are enough for a run, and those of the cluster for facts of nodes.

use crate::api::{ForeignKind, Kind, Target, Verb};

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

/// Rights within the namespace for a system of manifests, beside those for the kinds of its objects.
const SYSTEM_RIGHTS: [Right; 3] = [
    (
        "where the system is reached",
        Kind::Service,
        "",
        &[Verb::Get],
    ),
    (
        "pods that faults of a study kill",
        Kind::Pod,
        "",
        &[Verb::Delete],
    ),
    (
        "volumes that pods of the system leave",
        Kind::PersistentVolumeClaim,
        "",
        &[Verb::List, Verb::Delete],
    ),
];
/// Within the namespace, for faults that drain nodes.
const EVICTION_RIGHT: Right = (
    "pods that leave a node that a fault of a study drains",
    Kind::Pod,
    "eviction",
    &[Verb::Create],
);
/// In the whole cluster, for such faults.
const CORDON_RIGHT: Right = (
    "nodes that a fault of a study drains: they are cordoned, and uncordoned at the end",
    Kind::Node,
    "",
    &[Verb::Get, Verb::List, Verb::Patch],
);
/// In the whole cluster, for a system of manifests.
const USAGE_RIGHT: Right = (
    "CPU and memory of the system's pods, which only kubelets know; it allows all that kubelets do, so leave it out if that is too much",
    Kind::Node,
    "proxy",
    &[Verb::Get],
);
/// Of each kind of a system's objects. A Secret is not read.
const OBJECT_VERBS: [Verb; 4] = [Verb::Get, Verb::Create, Verb::Patch, Verb::Delete];
const SECRET_VERBS: [Verb; 3] = [Verb::Create, Verb::Patch, Verb::Delete];

/// The options of `waggle cluster rbac` with which it prints a right, beginning with a space; empty: it prints it without any.
pub(crate) fn rbac_options(what: &Target) -> &'static str {
    let is_of = |right: &Right| {
        let (_, _, _, verbs) = right;
        resource_of(right) == what.resource && verbs.contains(&what.verb)
    };
    match &what.namespace {
        None if NODE_RIGHTS.iter().any(is_of) => " --nodes",
        None if is_of(&CORDON_RIGHT) => " --drain",
        None if is_of(&USAGE_RIGHT) => " --nodes --system FILE",
        _ if RIGHTS.iter().any(is_of) => "",
        Some(_) if is_of(&EVICTION_RIGHT) => " --drain",
        Some(_) => " --system FILE",
        None => "",
    }
}

/// The rights that drains need: verb, kind and part of each; `true`: of the namespace.
pub(crate) fn drain_rights() -> impl Iterator<Item = (Verb, Kind, &'static str, bool)> {
    let rights = [(CORDON_RIGHT, false), (EVICTION_RIGHT, true)];
    rights
        .into_iter()
        .flat_map(|((_, kind, part, verbs), is_of_namespace)| {
            verbs
                .iter()
                .map(move |verb| (*verb, kind, part, is_of_namespace))
        })
}

/// A kind of the objects of a system's manifests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KindRight {
    /// Empty: of the core.
    pub group: String,
    /// As a Role names it.
    pub resource: String,
}

/// What a cluster calls a kind as a rule: the guess of Kubernetes' own clients.
#[must_use]
pub fn guess_kind(api_version: &str, kind: &str) -> ForeignKind {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let word = kind.to_ascii_lowercase();
    let resource = match word.as_str() {
        "endpoints" => word,
        _ if word.ends_with('s') => format!("{word}es"),
        _ => match word.strip_suffix('y') {
            Some(begin) => format!("{begin}ies"),
            None => format!("{word}s"),
        },
    };
    ForeignKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        resource,
    }
}

/// What is allowed in the whole cluster, if it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterRight {
    /// To read nodes and what runs on them; without it these facts are unknown.
    NodeFacts,
    /// To drain nodes as a fault of a study.
    Drains,
}

/// The manifests of a service account with all rights that a run needs in this namespace; `cluster_rights`: each as a `ClusterRole`;
/// `kinds`: those of the objects of the system, if it is manifests or a chart.
#[must_use]
pub fn rbac(namespace: &str, cluster_rights: &[ClusterRight], kinds: &[KindRight]) -> String {
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
    if !kinds.is_empty() {
        SYSTEM_RIGHTS
            .iter()
            .for_each(|right| text.push_str(&rule(right)));
        kinds
            .iter()
            .for_each(|kind| text.push_str(&object_rule(kind)));
    }
    if cluster_rights.contains(&ClusterRight::Drains) {
        text.push_str(&rule(&EVICTION_RIGHT));
    }
    text.push_str(&format!(
        "---\n\
         apiVersion: rbac.authorization.k8s.io/v1\n\
         kind: RoleBinding\n\
         metadata:\n  name: {ACCOUNT}\n  namespace: {namespace}\n\
         roleRef: {{ apiGroup: rbac.authorization.k8s.io, kind: Role, name: {ACCOUNT} }}\n\
         subjects: [{{ kind: ServiceAccount, name: {ACCOUNT}, namespace: {namespace} }}]\n"
    ));
    for right in cluster_rights {
        text.push_str(&match right {
            ClusterRight::NodeFacts => {
                let usage = (!kinds.is_empty()).then_some(&USAGE_RIGHT);
                cluster_role("nodes", namespace, NODE_RIGHTS.iter().chain(usage))
            }
            ClusterRight::Drains => cluster_role("drain", namespace, [&CORDON_RIGHT]),
        });
    }
    text
}

/// Names of the cluster's objects have the namespace: another one has its own binding.
fn cluster_role<'a>(
    what: &str,
    namespace: &str,
    rights: impl IntoIterator<Item = &'a Right>,
) -> String {
    let name = format!("{ACCOUNT}-{what}-{namespace}");
    let mut text = format!(
        "---\n\
         apiVersion: rbac.authorization.k8s.io/v1\n\
         kind: ClusterRole\n\
         metadata:\n  name: {name}\n\
         rules:\n"
    );
    for right in rights {
        text.push_str(&rule(right));
    }
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

fn object_rule(KindRight { group, resource }: &KindRight) -> String {
    let verbs = match (group.as_str(), resource.as_str()) {
        ("", "secrets") => &SECRET_VERBS[..],
        _ => &OBJECT_VERBS,
    };
    let verbs: Vec<&str> = verbs.iter().map(|verb| verb.name()).collect();
    let verbs = verbs.join(", ");
    format!(
        "  # objects of the system's manifests\n  - apiGroups: [\"{group}\"]\n    resources: [{resource}]\n    verbs: [{verbs}]\n"
    )
}

/// With its subresource.
fn resource_of((_, kind, part, _): &Right) -> String {
    match *part {
        "" => kind.resource().to_owned(),
        part => format!("{}/{part}", kind.resource()),
    }
}

fn rule(right: &Right) -> String {
    let (purpose, kind, _, verbs) = right;
    let resource = resource_of(right);
    let verbs: Vec<&str> = verbs.iter().map(|verb| verb.name()).collect();
    format!(
        "  # {purpose}\n  - apiGroups: [\"{}\"]\n    resources: [{resource}]\n    verbs: [{}]\n",
        kind.group(),
        verbs.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_is_told_with_the_options_that_print_it() {
        let check = |verb: Verb, resource: &str, namespace: Option<&str>, expected: &str| {
            let what = Target {
                verb,
                resource: resource.to_owned(),
                namespace: namespace.map(str::to_owned),
                name: None,
            };
            assert_eq!(rbac_options(&what), expected, "{what}");
        };
        let namespace = Some("load");
        check(Verb::Create, "pods/exec", namespace, "");
        check(Verb::Create, "statefulsets", namespace, "");
        check(Verb::Patch, "statefulsets", namespace, " --system FILE");
        check(Verb::Create, "deployments", namespace, " --system FILE");
        check(Verb::Delete, "pods", namespace, " --system FILE");
        check(Verb::Create, "pods/eviction", namespace, " --drain");
        check(Verb::Get, "nodes", None, " --nodes");
        check(Verb::Patch, "nodes", None, " --drain");
        check(Verb::Get, "nodes/proxy", None, " --nodes --system FILE");
    }
}

//! `system.pods`: what must hold for the components of a system as pods, each replica one.

use std::collections::BTreeMap;

use waggle_spec::{AgentsStarted, PodSpread, RunnerPod, SystemPods};

use super::Checker;
use crate::{
    Component, System,
    at::{At, Key, Place},
    parts::pods::{
        names::check_name,
        options::{cluster_place, pod, size_from},
        system::ComponentPods,
    },
    raw::{self, external_names},
    tree::quote,
};

const SCRATCH_DEFAULT: u64 = 10 << 30;
const SCRATCH_MIN: u64 = 16 << 20;
/// Longest name of a component that is a StatefulSet; its pods have longer ones.
const NAME_MAX_BYTES: usize = 40;

/// The parts of a study that must fit its system as pods.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beside<'a> {
    pub study: &'a raw::Study,
    /// `None`: it has a mistake.
    pub system: Option<&'a System>,
    pub agents: Option<&'a waggle_spec::Agents>,
    pub runner: Option<&'a RunnerPod>,
}

/// `None`: something in it is wrong, which is reported.
pub(crate) fn system_pods(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<ComponentPods>,
    beside: Beside<'_>,
) -> Option<SystemPods> {
    refuse_parts(checker, place, beside);
    refuse_other_namespaces(checker, &keys.namespace, beside);
    if let Some(system) = beside.system {
        check_components(checker, place, &started_components(system, beside.study));
    }
    let pod = pod(checker, &keys.pod_keys());
    let cluster = cluster_place(checker, &keys.place_keys());
    let scratch = size_from(checker, &keys.scratch, SCRATCH_DEFAULT, SCRATCH_MIN);
    let class = (keys.storage_class)
        .check(|given| check_name(checker, given, "the name of a StorageClass"));
    let pod = pod?;
    Some(SystemPods {
        place: cluster?,
        image: pod.image,
        pull: pod.pull,
        pull_secrets: pod.pull_secrets,
        node_selector: pod.node_selector,
        tolerations: pod.tolerations,
        beside_agents: keys.beside_agents.or_default(false)?,
        spread: keys.spread.or_default(PodSpread::Preferred)?,
        scratch_bytes: scratch?,
        storage_class: class?,
    })
}

/// The components that waggle starts.
fn started_components<'a>(system: &'a System, study: &raw::Study) -> Vec<&'a Component> {
    let external = external_names(study.system.value(), Some(system));
    let components = system.components.iter();
    components
        .filter(|component| !external.contains(component.name.as_str()))
        .collect()
}

/// What is about this machine alone, or needs what only processes have.
fn refuse_parts(
    checker: &mut Checker<'_>,
    place: &Place,
    Beside { study, system, .. }: Beside<'_>,
) {
    let in_tree = |part: &str, key: &str| {
        let part = checker.root().child(part);
        part.is_some_and(|part| part.child(key).is_some())
    };
    let keys = study.system.value();
    let has_tls = system.is_some_and(|system| has_tls(system, study));
    let reasons = [
        (
            keys.is_some_and(|keys| keys.url.is_some()),
            "system.url: a server that runs already is not started",
        ),
        (
            study.network.is_some(),
            "network: the network of a trial is on this machine",
        ),
        (
            in_tree("system", "cpuset"),
            "system.cpuset: these are CPUs of this machine",
        ),
        (
            in_tree("load", "cpuset"),
            "load.cpuset: these are CPUs of this machine",
        ),
        (
            in_tree("load", "source_addresses"),
            "load.source_addresses: these are addresses of this machine",
        ),
    ];
    for (_, why) in reasons.into_iter().filter(|(is_given, _)| *is_given) {
        let mistake = place.key_mistake(format!("cannot be combined with {why}"));
        checker.report(mistake.with_expected("one of them"));
    }
    if has_tls {
        let why = "cannot be combined with this system, which has certificates, ports with TLS or a kubeconfig: TLS of systems as pods is \
                   not supported";
        let mistake = place.key_mistake(why);
        checker.report(mistake.with_expected("a system without TLS, or processes"));
    }
}

fn has_tls(system: &System, study: &raw::Study) -> bool {
    let started = started_components(system, study);
    !system.certificates.is_empty()
        || system.kubeconfig.is_some()
        || started.iter().any(|component| !component.tls.is_empty())
}

/// The pods of one run are in one namespace, where its objects belong to each other.
fn refuse_other_namespaces(checker: &mut Checker<'_>, given: &Key<String>, beside: Beside<'_>) {
    let Some(At { place, value }) = given.content() else {
        return;
    };
    let runner = beside.runner.map(|runner| &runner.place);
    let agents = beside.agents.and_then(|agents| match &agents.started {
        AgentsStarted::InKubernetes(pods) => Some(&pods.place),
        AgentsStarted::ByHand { .. } | AgentsStarted::BySsh { .. } => None,
    });
    let others = [("runner", runner), ("agents", agents)];
    for (part, other) in others {
        let namespace = other.and_then(|place| place.namespace.as_ref());
        if let Some(namespace) = namespace.filter(|namespace| *namespace != value) {
            let what = format!(
                "is {}, and {part}.kubernetes.namespace is {}",
                quote(value),
                quote(namespace)
            );
            let mistake = place.mistake(what);
            checker.report(mistake.with_expected("the same namespace, or one of the two keys"));
        }
    }
}

/// The name of a component is that of its StatefulSet, with `-` for `_`.
fn check_components(checker: &mut Checker<'_>, place: &Place, components: &[&Component]) {
    let mut by_name: BTreeMap<String, &str> = BTreeMap::new();
    for component in components {
        let name = &component.name;
        let in_cluster = name.replace('_', "-");
        let is_dns_name = !in_cluster.ends_with('-')
            && in_cluster.len() <= NAME_MAX_BYTES
            && !in_cluster.bytes().any(|byte| byte.is_ascii_uppercase());
        if !is_dns_name {
            let what = format!(
                "cannot be combined with component {name}, whose name is no name of a StatefulSet"
            );
            let expected = format!(
                "components of lower-case letters, digits, - and _, at most {NAME_MAX_BYTES}, with no - or _ at the end"
            );
            checker.report(place.key_mistake(what).with_expected(expected));
        }
        if let Some(other) = by_name.insert(in_cluster.clone(), name) {
            let what = format!(
                "cannot be combined with components {other} and {name}, which are both {in_cluster} in a cluster"
            );
            let mistake = place.key_mistake(what);
            checker.report(mistake.with_expected("names that differ in more than - and _"));
        }
    }
}

//! `agents.kubernetes`: agents as the pods of an Indexed Job.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{AgentSpread, AgentToleration, ImagePull};

use super::names::check_name;
use crate::{
    at::{At, Key},
    check::Checker,
    raw::Size,
    tree::quote,
};

/// The pods of an Indexed Job, each an agent with CPUs and memory of its own. Needs a waggle with support for Kubernetes, and only what
/// `waggle cluster rbac` prints.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentPods {
    /// The image of this waggle, with its tag or digest.
    #[schemars(required)]
    pub image: Key<String>,
    /// The kubeconfig, relative to the study's folder; by default that of the environment (KUBECONFIG, or `~/.kube/config`), or within
    /// a pod its service account.
    pub kubeconfig: Key<String>,
    /// Which context; the file's `current-context` by default.
    pub context: Key<String>,
    /// Where the pods are; that of the context by default. One run has it at a time.
    pub namespace: Key<String>,
    /// The namespace is made for the run, and removed with it; false by default.
    pub make_namespace: Key<bool>,
    /// When a node pulls the image; if_not_present by default.
    pub pull: Key<ImagePull>,
    /// Secrets of the namespace with which the image is pulled.
    #[schemars(length(min = 1, max = 10))]
    pub pull_secrets: Key<Vec<At<String>>>,
    /// Whole CPUs of each agent, as request and limit; 1 by default.
    #[schemars(range(min = 1, max = 1_024))]
    pub cpus: Key<u32>,
    /// Memory of each agent, as request and limit, from 64MiB; 512MiB by default.
    pub memory: Key<Size>,
    /// Labels that nodes of agents have.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub node_selector: Key<IndexMap<String, At<String>>>,
    /// Taints of nodes that agents do not mind.
    #[schemars(length(min = 1, max = 20))]
    pub tolerations: Key<Vec<At<Toleration>>>,
    /// Labels of the system's pods: none of them is on the node of an agent, or the agent does not start. Without it they may share
    /// nodes, and the report says where each was.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub apart_from: Key<IndexMap<String, At<String>>>,
    /// Namespaces of those pods; that of the agents by default.
    #[schemars(length(min = 1, max = 20))]
    pub apart_from_namespaces: Key<Vec<At<String>>>,
    /// How agents are spread over nodes; even by default.
    pub spread: Key<AgentSpread>,
}

/// A taint that agents do not mind.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Toleration {
    /// Its key; every taint by default.
    pub key: Key<String>,
    /// Its value; whatever it is by default.
    pub value: Key<String>,
    /// NoSchedule, PreferNoSchedule or NoExecute; every effect by default.
    pub effect: Key<String>,
}

const MEMORY_DEFAULT: u64 = 512 << 20;
const MEMORY_MIN: u64 = 64 << 20;
const NAMESPACE: &str = "a namespace: lower-case letters, digits and -, at most 63";
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// `None`: something in it is wrong, which is reported.
pub(super) fn agent_pods(
    checker: &mut Checker<'_>,
    At { value: keys, .. }: &At<AgentPods>,
    count: u32,
) -> Option<waggle_spec::AgentPods> {
    let image = keys.image.content();
    let image = image.and_then(|image| check_name(checker, image, "an image with its tag"));
    let namespace = (keys.namespace).check(|given| namespace_name(checker, given));
    let makes_namespace = keys.make_namespace.value().copied().unwrap_or(false);
    if let (true, None, Some(place)) = (
        makes_namespace,
        keys.namespace.content(),
        keys.make_namespace.place(),
    ) {
        let mistake = place.key_mistake("lacks its name");
        checker.report(mistake.with_expected("namespace beside it"));
    }
    let memory = keys.memory.or_default(Size(MEMORY_DEFAULT));
    let memory = memory.filter(|Size(bytes)| *bytes >= MEMORY_MIN);
    if let (None, Some(place)) = (&memory, keys.memory.place()) {
        let mistake = place.mistake("is too little");
        checker.report(mistake.with_expected("at least 64MiB"));
    }
    let tolerations = keys.tolerations.value().map_or_else(Vec::new, Clone::clone);
    let tolerations = tolerations
        .iter()
        .map(|given| toleration(checker, &given.value));
    let tolerations: Vec<Option<_>> = tolerations.collect();
    let spaces = keys.apart_from_namespaces.value();
    let spaces = spaces.map_or_else(Vec::new, Clone::clone);
    let spaces: Vec<Option<_>> = spaces
        .iter()
        .map(|given| namespace_name(checker, given))
        .collect();
    if let (false, Some(place)) = (
        keys.apart_from.is_some(),
        keys.apart_from_namespaces.place(),
    ) {
        let mistake = place.key_mistake("belongs to apart_from");
        checker.report(mistake.with_expected("apart_from, the labels of the pods"));
    }
    Some(waggle_spec::AgentPods {
        count,
        kubeconfig: keys.kubeconfig.value().cloned(),
        context: keys.context.value().cloned(),
        namespace: namespace?,
        makes_namespace,
        image: image?,
        pull: keys.pull.or_default(ImagePull::default())?,
        pull_secrets: texts(&keys.pull_secrets),
        cpus: keys.cpus.or_default(1)?,
        memory_bytes: memory?.0,
        node_selector: labels(&keys.node_selector),
        tolerations: tolerations.into_iter().collect::<Option<_>>()?,
        apart_from: labels(&keys.apart_from),
        apart_from_namespaces: spaces.into_iter().collect::<Option<_>>()?,
        spread: keys.spread.or_default(AgentSpread::default())?,
    })
}

fn namespace_name(checker: &mut Checker<'_>, At { place, value }: &At<String>) -> Option<String> {
    let is_letter =
        |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
    let is_name = (1..=63).contains(&value.len())
        && value.bytes().all(is_letter)
        && !value.starts_with('-')
        && !value.ends_with('-');
    if !is_name {
        let mistake = place.mistake(format!("is {}", quote(value)));
        checker.report(mistake.with_expected(NAMESPACE));
    }
    is_name.then(|| value.clone())
}

fn toleration(checker: &mut Checker<'_>, keys: &Toleration) -> Option<AgentToleration> {
    let effect = keys.effect.content();
    if let Some(At { place, value }) = effect
        && !EFFECTS.contains(&value.as_str())
    {
        let mistake = place.mistake(format!("is {}", quote(value)));
        checker.report(mistake.with_expected(EFFECTS.join(", ")));
        return None;
    }
    if let (None, Some(place)) = (keys.key.value(), keys.value.place()) {
        let mistake = place.key_mistake("belongs to a key");
        checker.report(mistake.with_expected("key beside it"));
        return None;
    }
    Some(AgentToleration {
        key: keys.key.value().cloned().unwrap_or_default(),
        value: keys.value.value().cloned(),
        effect: keys.effect.value().cloned(),
    })
}

fn labels(given: &Key<IndexMap<String, At<String>>>) -> BTreeMap<String, String> {
    let entries = given.value().into_iter().flatten();
    entries
        .map(|(name, text)| (name.clone(), text.value.clone()))
        .collect()
}

fn texts(given: &Key<Vec<At<String>>>) -> Vec<String> {
    let texts = given.value().into_iter().flatten();
    texts.map(|text| text.value.clone()).collect()
}

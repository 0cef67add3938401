//! What the pods of agents, that of the runner and those of a system have in common.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{ClusterPlace, ImagePull, PodOptions, PodToleration};
use waggle_units::format_size;

use super::names::check_name;
use crate::{
    at::{At, Key},
    check::Checker,
    raw::Size,
    tree::quote,
};

/// A taint that the pods do not mind.
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
pub(crate) const NAMESPACE: &str = "a namespace: lower-case letters, digits and -, at most 63";
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// The keys of a pod.
pub(crate) struct PodKeys<'a> {
    pub image: &'a Key<String>,
    pub pull: &'a Key<ImagePull>,
    pub pull_secrets: &'a Key<Vec<At<String>>>,
    pub node_selector: &'a Key<IndexMap<String, At<String>>>,
    pub tolerations: &'a Key<Vec<At<Toleration>>>,
}

/// How much of a node a pod has.
pub(crate) struct SizeKeys<'a> {
    pub cpus: &'a Key<u32>,
    pub memory: &'a Key<Size>,
}

/// The keys of a namespace of a cluster.
pub(crate) struct PlaceKeys<'a> {
    pub kubeconfig: &'a Key<String>,
    pub context: &'a Key<String>,
    pub namespace: &'a Key<String>,
}

/// A pod, whatever its size.
pub(crate) struct Pod {
    pub image: String,
    pub pull: ImagePull,
    pub pull_secrets: Vec<String>,
    pub node_selector: BTreeMap<String, String>,
    pub tolerations: Vec<PodToleration>,
}

/// `None`: something in it is wrong, which is reported.
pub(crate) fn pod_options(
    checker: &mut Checker<'_>,
    keys: &PodKeys<'_>,
    size: &SizeKeys<'_>,
) -> Option<PodOptions> {
    let pod = pod(checker, keys);
    let memory = size_from(checker, size.memory, MEMORY_DEFAULT, MEMORY_MIN);
    let pod = pod?;
    Some(PodOptions {
        image: pod.image,
        pull: pod.pull,
        pull_secrets: pod.pull_secrets,
        cpus: size.cpus.or_default(1)?,
        memory_bytes: memory?,
        node_selector: pod.node_selector,
        tolerations: pod.tolerations,
    })
}

/// A size of at least `min`; `None`: something in it is wrong, which is reported.
pub(crate) fn size_from(
    checker: &mut Checker<'_>,
    given: &Key<Size>,
    default: u64,
    min: u64,
) -> Option<u64> {
    let Size(bytes) = given.or_default(Size(default))?;
    if bytes >= min {
        return Some(bytes);
    }
    let mistake = given.place()?.mistake("is too little");
    checker.report(mistake.with_expected(format!("at least {}", format_size(min))));
    None
}

/// `None`: something in it is wrong, which is reported.
pub(crate) fn cluster_place(
    checker: &mut Checker<'_>,
    keys: &PlaceKeys<'_>,
) -> Option<ClusterPlace> {
    let namespace = (keys.namespace).check(|given| namespace_name(checker, given));
    Some(ClusterPlace {
        kubeconfig: keys.kubeconfig.value().cloned(),
        context: keys.context.value().cloned(),
        namespace: namespace?,
    })
}

/// `None`: something in it is wrong, which is reported.
pub(crate) fn pod(checker: &mut Checker<'_>, keys: &PodKeys<'_>) -> Option<Pod> {
    let image = keys.image.content();
    let image = image.and_then(|image| check_name(checker, image, "an image with its tag"));
    let tolerations = keys.tolerations.value().map_or_else(Vec::new, Clone::clone);
    let tolerations = tolerations
        .iter()
        .map(|given| toleration(checker, &given.value));
    let tolerations: Vec<Option<_>> = tolerations.collect();
    Some(Pod {
        image: image?,
        pull: keys.pull.or_default(ImagePull::default())?,
        pull_secrets: texts(keys.pull_secrets),
        node_selector: labels(keys.node_selector),
        tolerations: tolerations.into_iter().collect::<Option<_>>()?,
    })
}

pub(crate) fn namespace_name(
    checker: &mut Checker<'_>,
    At { place, value }: &At<String>,
) -> Option<String> {
    let is_name = is_namespace(value);
    if !is_name {
        let mistake = place.mistake(format!("is {}", quote(value)));
        checker.report(mistake.with_expected(NAMESPACE));
    }
    is_name.then(|| value.clone())
}

/// Whether Kubernetes takes a text as the name of a namespace or of a Service.
pub(crate) fn is_namespace(text: &str) -> bool {
    let is_letter =
        |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(is_letter)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn toleration(checker: &mut Checker<'_>, keys: &Toleration) -> Option<PodToleration> {
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
    Some(PodToleration {
        key: keys.key.value().cloned().unwrap_or_default(),
        value: keys.value.value().cloned(),
        effect: keys.effect.value().cloned(),
    })
}

pub(crate) fn labels(given: &Key<IndexMap<String, At<String>>>) -> BTreeMap<String, String> {
    let entries = given.value().into_iter().flatten();
    entries
        .map(|(name, text)| (name.clone(), text.value.clone()))
        .collect()
}

fn texts(given: &Key<Vec<At<String>>>) -> Vec<String> {
    let texts = given.value().into_iter().flatten();
    texts.map(|text| text.value.clone()).collect()
}

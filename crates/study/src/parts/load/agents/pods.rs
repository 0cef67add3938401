//! What the pods of agents and that of the runner have in common.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{ImagePull, PodOptions, PodToleration};

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
pub(super) struct PodKeys<'a> {
    pub image: &'a Key<String>,
    pub pull: &'a Key<ImagePull>,
    pub pull_secrets: &'a Key<Vec<At<String>>>,
    pub cpus: &'a Key<u32>,
    pub memory: &'a Key<Size>,
    pub node_selector: &'a Key<IndexMap<String, At<String>>>,
    pub tolerations: &'a Key<Vec<At<Toleration>>>,
}

/// `None`: something in it is wrong, which is reported.
pub(super) fn pod_options(checker: &mut Checker<'_>, keys: &PodKeys<'_>) -> Option<PodOptions> {
    let image = keys.image.content();
    let image = image.and_then(|image| check_name(checker, image, "an image with its tag"));
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
    Some(PodOptions {
        image: image?,
        pull: keys.pull.or_default(ImagePull::default())?,
        pull_secrets: texts(keys.pull_secrets),
        cpus: keys.cpus.or_default(1)?,
        memory_bytes: memory?.0,
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

pub(super) fn labels(given: &Key<IndexMap<String, At<String>>>) -> BTreeMap<String, String> {
    let entries = given.value().into_iter().flatten();
    entries
        .map(|(name, text)| (name.clone(), text.value.clone()))
        .collect()
}

fn texts(given: &Key<Vec<At<String>>>) -> Vec<String> {
    let texts = given.value().into_iter().flatten();
    texts.map(|text| text.value.clone()).collect()
}

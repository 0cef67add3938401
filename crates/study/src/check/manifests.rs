//! The keys of a system that is the user's own manifests or chart, and of its components, which are workloads of them.

use indexmap::IndexMap;

use super::{Checker, system_text::Names};
use crate::{
    Chart, Component, FieldPath, Level, LimitTexts, ManifestSource, Manifests, ObjectName, Patch,
    ProcessDriver, ReadyCheck, Workload,
    at::{At, Key, Place},
    manifests::REMOVAL_TIMEOUT,
    mistake::Finding,
    nearest::{list, nearest_word},
    parts::{
        pods::options::{NAMESPACE, is_namespace, namespace_name},
        texts::{refuse_key, refuse_unknown_names, require_key},
    },
    raw,
    tree::quote,
};

/// How messages name such a system.
const KIND: &str = "manifests or a chart";
/// The kinds of objects that make pods, and of which single ones can be killed.
const WORKLOAD_KINDS: [&str; 3] = ["deployment", "statefulset", "daemonset"];
/// Longest name of a release: helm's own limit.
const RELEASE_MAX_BYTES: usize = 53;
const OBJECT: &str = "KIND/NAME, e.g. deployment/shop";
const PATH: &str = "a path below the folder of this file";

/// Whether a system is manifests or a chart, also with mistakes in them.
pub(super) fn is_manifests(keys: &raw::System) -> bool {
    !matches!((&keys.manifests, &keys.helm), (Key::Missing, Key::Missing))
}

/// What is applied in place of processes; `Some(None)`: nothing, `None`: it has a mistake. `parameters` are the names of all.
#[expect(clippy::option_option, reason = "a mistake, nothing, or a value")]
pub(super) fn manifests(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<raw::System>,
    parameters: &[String],
) -> Option<Option<Manifests>> {
    if !is_manifests(keys) {
        refuse_without_manifests(checker, keys);
        return Some(None);
    }
    refuse_process_keys(checker, keys);
    let release = keys.system.as_ref().map(|name| default_release(&name.0));
    let source = match (&keys.manifests, &keys.helm) {
        (Key::Given(files), Key::Missing) => {
            let paths = files.value.iter().map(|path| inner_path(checker, path));
            let paths: Vec<Option<String>> = paths.collect();
            let paths: Option<Vec<String>> = paths.into_iter().collect();
            paths.map(ManifestSource::Files)
        }
        (Key::Missing, Key::Given(helm)) => {
            chart(checker, helm, release, parameters).map(ManifestSource::Chart)
        }
        (Key::Given(_), Key::Given(_)) => {
            let what = "the system has both manifests and helm";
            checker.report(Finding::new(place.key, what).with_expected("one of them"));
            None
        }
        _ => None,
    };
    let namespace = keys.namespace.check(|given| namespace_name(checker, given));
    let patches = patches(checker, &keys.patches, parameters);
    let conditions = conditions(checker, &keys.wait);
    Some(Some(Manifests {
        source: source?,
        namespace: namespace?,
        patches: patches?,
        conditions: conditions?,
    }))
}

fn refuse_without_manifests(checker: &mut Checker<'_>, keys: &raw::System) {
    let given = [
        keys.namespace.place(),
        keys.patches.place(),
        keys.wait.place(),
    ];
    for place in given.into_iter().flatten() {
        let mistake = place.key_mistake("belongs to manifests or helm");
        checker.report(mistake.with_expected("one of them beside it"));
    }
}

/// Reports what only processes have.
fn refuse_process_keys(checker: &mut Checker<'_>, keys: &raw::System) {
    refuse_key(checker, &keys.artifacts, KIND);
    refuse_key(checker, &keys.certificates, KIND);
    refuse_key(checker, &keys.environment, KIND);
    refuse_key(checker, &keys.kubeconfig, KIND);
}

/// A path that stays in the folder of the system.
fn inner_path(checker: &mut Checker<'_>, At { place, value }: &At<String>) -> Option<String> {
    let path = value.trim_end_matches('/');
    let stays_inside = path.split('/').all(|step| !step.is_empty() && step != "..");
    if !stays_inside {
        checker.report(
            place
                .mistake(format!("is {}", quote(value)))
                .with_expected(PATH),
        );
    }
    stays_inside.then(|| path.to_owned())
}

fn chart(
    checker: &mut Checker<'_>,
    At { value: keys, .. }: &At<raw::Helm>,
    default_release: Option<String>,
    parameters: &[String],
) -> Option<Chart> {
    let chart = keys.chart.content();
    let chart = chart.and_then(|chart| inner_path(checker, chart));
    let values = keys.values.check(|values| inner_path(checker, values));
    let release = match &keys.release {
        Key::Missing => default_release,
        Key::Invalid => None,
        Key::Given(given) => release(checker, given),
    };
    let mut set = Vec::new();
    for (path, value) in keys.set.value().into_iter().flatten() {
        check_value(checker, value, parameters);
        set.push((path.clone(), value.value.clone()));
    }
    (!keys.set.is_invalid()).then_some(())?;
    Some(Chart {
        chart: chart?,
        release: release?,
        values: values?,
        set,
    })
}

/// The name of the system as Kubernetes takes names.
fn default_release(system: &str) -> String {
    let name = system.to_ascii_lowercase().replace(['_', '.'], "-");
    let end = name.floor_char_boundary(RELEASE_MAX_BYTES);
    name[..end].trim_matches('-').to_owned()
}

fn release(checker: &mut Checker<'_>, At { place, value }: &At<String>) -> Option<String> {
    let is_name = value.len() <= RELEASE_MAX_BYTES && is_namespace(value);
    if !is_name {
        let mistake = place.mistake(format!("is {}", quote(value)));
        let expected = format!("lower-case letters, digits and -, at most {RELEASE_MAX_BYTES}");
        checker.report(mistake.with_expected(expected));
    }
    is_name.then(|| value.clone())
}

/// Reports a value with a name that is no parameter.
fn check_value(checker: &mut Checker<'_>, At { place, value }: &At<Level>, parameters: &[String]) {
    if let Level::Text(text) = value {
        let text = At {
            place: place.clone(),
            value: text.clone(),
        };
        refuse_unknown_names(checker, &text, parameters, &[]);
    }
}

fn patches(
    checker: &mut Checker<'_>,
    given: &Key<IndexMap<String, At<raw::PatchedFields>>>,
    parameters: &[String],
) -> Option<Vec<Patch>> {
    let mut patches: Vec<Patch> = Vec::new();
    let mut is_complete = !given.is_invalid();
    for (name, At { place, value }) in given.value().into_iter().flatten() {
        let object = object_name(checker, place, name);
        if object
            .as_ref()
            .is_some_and(|object| patches.iter().any(|known| known.object == *object))
        {
            let mistake = place.key_mistake("is there twice");
            checker.report(mistake.with_expected("each object once"));
        }
        let mut fields = Vec::new();
        for (path, level) in value {
            check_value(checker, level, parameters);
            match path.parse::<FieldPath>() {
                Ok(path) => fields.push((path, level.value.clone())),
                Err(why) => {
                    is_complete = false;
                    let mistake = place.mistake_in(level.place.key, format!("has {path:?}: {why}"));
                    let expected = "a field, e.g. spec.template.spec.containers[name=shop].image";
                    checker.report(mistake.with_expected(expected));
                }
            }
        }
        match object {
            Some(object) => patches.push(Patch { object, fields }),
            None => is_complete = false,
        }
    }
    is_complete.then_some(patches)
}

fn object_name(checker: &mut Checker<'_>, place: &Place, name: &str) -> Option<ObjectName> {
    let object = ObjectName::parse(name);
    if object.is_none() {
        checker.report(place.key_mistake("is no object").with_expected(OBJECT));
    }
    object
}

fn conditions(
    checker: &mut Checker<'_>,
    given: &Key<IndexMap<String, At<String>>>,
) -> Option<Vec<(ObjectName, String)>> {
    let mut conditions = Vec::new();
    let mut is_complete = !given.is_invalid();
    for (name, At { place, value }) in given.value().into_iter().flatten() {
        let object = object_name(checker, place, name);
        let is_condition = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_condition {
            let mistake = place.mistake(format!("is {}", quote(value)));
            checker.report(mistake.with_expected("the type of a condition, e.g. Ready"));
        }
        match object.filter(|_| is_condition) {
            Some(object) => conditions.push((object, value.clone())),
            None => is_complete = false,
        }
    }
    is_complete.then_some(conditions)
}

/// A component that is a workload of the manifests.
pub(super) fn workload_component(
    checker: &mut Checker<'_>,
    names: &Names<'_>,
    name: &str,
    At { place, value: keys }: &At<raw::Component>,
    ports: Vec<String>,
) -> Option<Component> {
    refuse_keys_of_processes(checker, keys);
    let given = require_key(checker, place, &keys.workload, "workload", OBJECT);
    let object = given.and_then(|given| workload(checker, given));
    let service = keys.service.check(|given| service_name(checker, given));
    Some(Component {
        name: name.to_owned(),
        when: names.when_of(name),
        // Known when it is up.
        replicas: String::new(),
        depends_on: Vec::new(),
        tls: Vec::new(),
        files: Vec::new(),
        process: ProcessDriver::default(),
        workload: Some(Workload {
            object: object?,
            service: service?,
        }),
        limits: LimitTexts::default(),
        // Kubernetes says it.
        ready: ReadyCheck::Tcp {
            port: String::new(),
        },
        secrets: Vec::new(),
        setup: Vec::new(),
        stop_timeout: REMOVAL_TIMEOUT,
        external: None,
        ports,
    })
}

fn service_name(checker: &mut Checker<'_>, At { place, value }: &At<String>) -> Option<String> {
    let is_name = is_namespace(value);
    if !is_name {
        let mistake = place.mistake(format!("is {}", quote(value)));
        checker.report(mistake.with_expected(NAMESPACE.replace("a namespace", "a Service")));
    }
    is_name.then(|| value.clone())
}

fn workload(checker: &mut Checker<'_>, At { place, value }: &At<String>) -> Option<ObjectName> {
    let object = ObjectName::parse(value);
    let is_workload = |object: &ObjectName| WORKLOAD_KINDS.contains(&object.kind.as_str());
    let workload = object.clone().filter(is_workload);
    if workload.is_none() {
        let mistake = place.mistake(format!("is {}", quote(value)));
        let kinds = WORKLOAD_KINDS.map(|kind| format!("{kind}/NAME"));
        let mistake = mistake.with_expected(list(kinds.iter().map(String::as_str)));
        let kind = object.map(|object| object.kind);
        let near = kind.and_then(|kind| nearest_word(&kind, WORKLOAD_KINDS));
        checker.report(mistake.with_suggestion(near));
    }
    workload
}

/// Reports what only a process has.
fn refuse_keys_of_processes(checker: &mut Checker<'_>, keys: &raw::Component) {
    const KIND: &str = "a workload";
    refuse_key(checker, &keys.replicas, KIND);
    refuse_key(checker, &keys.depends_on, KIND);
    refuse_key(checker, &keys.tls, KIND);
    refuse_key(checker, &keys.files, KIND);
    refuse_key(checker, &keys.process, KIND);
    refuse_key(checker, &keys.limits, KIND);
    refuse_key(checker, &keys.ready, KIND);
    refuse_key(checker, &keys.secrets, KIND);
    refuse_key(checker, &keys.setup, KIND);
    refuse_key(checker, &keys.stop_timeout, KIND);
}

/// Reports keys of a workload in a component that is a process.
pub(super) fn refuse_workload(checker: &mut Checker<'_>, keys: &raw::Component) {
    for place in [keys.workload.place(), keys.service.place()]
        .into_iter()
        .flatten()
    {
        let mistake = place.key_mistake("belongs to a system with manifests or helm");
        checker.report(mistake.with_expected("process, or manifests or helm in this file"));
    }
}

//! What a system needs besides its processes: artifacts that are fetched, conditions, files, requests made once.

use std::time::Duration;

use indexmap::IndexMap;

use waggle_template::placeholder::{Part, parts};

use super::{
    Checker, path_text,
    set::refusal,
    system_text::{Names, Secrets},
    verify,
};
use crate::{
    Arguments, Artifact, Component, Parameter, SetupStep, Undo, When,
    at::{At, Bounds, Key},
    mistake::Finding,
    nearest::{list, nearest_word},
    origin::TOKEN,
    parts::{
        inherited_variables::inherited_variables,
        limits::Declared,
        request::{Called, expect},
        texts::refuse_unknown_names,
    },
    raw,
    substitute::is_secret,
};

const SETUP_TIMEOUT: Duration = Duration::from_secs(10);
const UNDO_TIMEOUT: Duration = Duration::from_secs(60);
const TIMEOUT_BOUNDS: Bounds = Bounds(Duration::from_millis(10), Duration::from_secs(600));
/// Longest text of a file.
const FILE_MAX_BYTES: usize = 1024 * 1024;
/// Longest version of an artifact.
const VERSION_MAX_BYTES: usize = 64;

/// Reads conditions under which something exists. `names` are the names of all parameters, `known` the parameters without
/// mistakes.
pub(super) struct Conditions<'a> {
    pub(super) names: &'a [String],
    pub(super) known: &'a [Parameter],
}

/// What the texts and the conditions of a system's file may name.
#[derive(Clone, Copy)]
pub(super) struct Definitions<'a> {
    pub(super) names: &'a Names,
    pub(super) conditions: &'a Conditions<'a>,
}

impl<'a> Conditions<'a> {
    /// As limits name them.
    pub(super) fn to_declared(&self) -> Declared<'a> {
        let Self { names, known } = *self;
        Declared { names, known }
    }

    /// Reads the conditions under the key at `path`.
    pub(super) fn read(&self, checker: &mut Checker<'_>, given: &Key<raw::Conditions>) -> When {
        let mut conditions = Vec::new();
        let Some(At { place, value }) = given.content() else {
            return When(conditions);
        };
        for (name, levels) in value {
            let (level_place, raw::Levels(levels)) = (&levels.place, &levels.value);
            if !self.names.contains(name) {
                let names = || self.names.iter().map(String::as_str);
                let what = format!("names {name:?}, which is no parameter");
                let mistake = place.mistake_in(level_place.key, what);
                let expected = if self.names.is_empty() {
                    "a system with parameters".to_owned()
                } else {
                    list(names())
                };
                let near = nearest_word(name, names());
                checker.report(mistake.with_expected(expected).with_suggestion(near));
            }
            let parameter = self.known.iter().find(|known| known.name == *name);
            for level in levels {
                if let Some((expected, near)) =
                    parameter.and_then(|parameter| refusal(parameter, level))
                {
                    let mistake = level_place.mistake(format!("is {level}"));
                    checker.report(mistake.with_expected(expected).with_suggestion(near));
                }
            }
            conditions.push((name.clone(), levels.clone()));
        }
        When(conditions)
    }

    /// When each component exists.
    pub(super) fn of_components(
        &self,
        checker: &mut Checker<'_>,
        components: &[(String, raw::Component)],
    ) -> IndexMap<String, When> {
        let when =
            |(name, raw): &(String, raw::Component)| (name.clone(), self.read(checker, &raw.when));
        components.iter().map(when).collect()
    }
}

/// Every artifact.
pub(super) fn artifacts(
    checker: &mut Checker<'_>,
    raw: Option<IndexMap<String, raw::Artifact>>,
) -> Vec<Artifact> {
    let artifacts: Vec<_> = raw
        .into_iter()
        .flatten()
        .filter_map(|(name, raw)| artifact(checker, name, raw))
        .collect();
    refuse_shared_programs(checker, &artifacts);
    artifacts
}

fn artifact(checker: &mut Checker<'_>, name: String, raw: raw::Artifact) -> Option<Artifact> {
    let path = |key: &'static str| ["artifacts", name.as_str(), key];
    if let Some(version) = &raw.version {
        let is_clean = version
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-+_".contains(&byte));
        if !is_clean || version.is_empty() || version.len() > VERSION_MAX_BYTES {
            let what = format!(
                "artifacts.{name}.version is {}",
                crate::tree::quote(version)
            );
            checker.report(
                Finding::new(checker.position_of(&path("version")), what)
                    .with_expected("letters, digits and . - + _, for it names a folder"),
            );
        }
    }
    let programs = raw.programs.unwrap_or_default();
    let requires = raw.requires.unwrap_or_default();
    for (key, words) in [("programs", &programs), ("requires", &requires)] {
        for (index, word) in words.iter().enumerate() {
            if word.is_empty() || word.contains(['/', '$']) {
                let position =
                    checker.position_of(&[&path(key)[..], &[&index.to_string()]].concat());
                let what = format!("artifacts.{name}.{key} has {}", crate::tree::quote(word));
                checker.report(Finding::new(position, what).with_expected("the name of a program"));
            }
        }
    }
    let fetch = raw.fetch?;
    let stays_inside = fetch
        .split('/')
        .all(|step| !step.is_empty() && step != "..");
    if !stays_inside {
        let what = format!("artifacts.{name}.fetch is {}", crate::tree::quote(&fetch));
        checker.report(
            Finding::new(checker.position_of(&path("fetch")), what)
                .with_expected("a script in the system's folder, e.g. fetch/NAME"),
        );
    }
    let environment_from = inherited_variables(checker, &raw.environment_from, &[]);
    Some(Artifact {
        version: raw.version?,
        programs,
        fetch,
        requires,
        environment_from,
        note: raw.note,
        name,
    })
}

/// Reports a program that two artifacts provide.
fn refuse_shared_programs(checker: &mut Checker<'_>, artifacts: &[Artifact]) {
    for (index, artifact) in artifacts.iter().enumerate() {
        for program in &artifact.programs {
            if let Some(other) = artifacts[..index]
                .iter()
                .find(|other| other.programs.contains(program))
            {
                let position = checker.key(&["artifacts", &artifact.name, "programs"]);
                let what = format!(
                    "program {program:?} belongs to the artifacts {} and {}",
                    other.name, artifact.name
                );
                checker.report(
                    Finding::new(position, what).with_expected("one artifact for each program"),
                );
            }
        }
    }
}

/// A component's files, by name.
pub(super) fn files(
    checker: &mut Checker<'_>,
    names: &Names,
    component: &str,
    raw: Option<IndexMap<String, String>>,
) -> Vec<(String, String)> {
    let files: Vec<_> = raw.into_iter().flatten().collect();
    for (name, text) in &files {
        let path = ["components", component, "files", name.as_str()];
        let is_clean = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if !is_clean || name.starts_with('.') || name.is_empty() {
            let what = format!("{} is no name for a file", crate::tree::quote(name));
            checker.report(
                Finding::new(checker.key(&path), what)
                    .with_expected("letters, digits and . _ -, the first no dot"),
            );
        }
        if text.len() > FILE_MAX_BYTES {
            let what = format!("{} has {} bytes", path_text(&path), text.len());
            checker.report(
                Finding::new(checker.position_of(&path), what)
                    .with_expected(format!("at most {FILE_MAX_BYTES}")),
            );
        }
        let scope = names.of_component(component, Secrets::Allowed);
        let position = checker.position_of(&path);
        names.check_text(checker, position, &scope, text);
    }
    files
}

/// The secrets that a component writes: names, each with its file.
pub(super) fn written_secrets(
    checker: &mut Checker<'_>,
    component: &str,
    raw: Option<IndexMap<String, raw::WrittenSecret>>,
) -> Vec<(String, String)> {
    let mut secrets = Vec::new();
    for (name, raw::WrittenSecret { file }) in raw.into_iter().flatten() {
        let path = ["components", component, "secrets", name.as_str()];
        let Some(file) = file else { continue };
        let is_inside = file
            .split('/')
            .all(|step| !step.is_empty() && step != ".." && step != ".");
        if !is_inside || file.contains('$') {
            let path = [&path[..], &["file"]].concat();
            let what = format!("{} is {}", path_text(&path), crate::tree::quote(&file));
            checker.report(
                Finding::new(checker.position_of(&path), what)
                    .with_expected("a file in the component's own folder, e.g. data/token"),
            );
        }
        secrets.push((name, file));
    }
    secrets
}

/// Reports a secret that is given twice in a configuration.
pub(super) fn refuse_secrets_given_twice(checker: &mut Checker<'_>, components: &[Component]) {
    let mut known: Vec<(&str, &Component)> = Vec::new();
    for component in components {
        for name in component.given_secrets() {
            let is_beside = |other: &Component| {
                let (condition, other) = (&component.when, &other.when);
                condition.follows_from(other) || other.follows_from(condition)
            };
            let other = known
                .iter()
                .find(|(known, other)| *known == name && is_beside(other));
            if let Some((_, other)) = other {
                let position = checker.key(&["components", &component.name]);
                let what = match other.name == component.name {
                    true => format!("component {} gives secret {name:?} twice", other.name),
                    false => format!(
                        "components {} and {} give secret {name:?}",
                        other.name, component.name
                    ),
                };
                checker.report(Finding::new(position, what).with_expected("a name for each"));
            }
            known.push((name, component));
        }
    }
}

/// The arguments that a command has in some configurations.
pub(super) fn arguments(
    checker: &mut Checker<'_>,
    Definitions { names, conditions }: Definitions<'_>,
    component: &str,
    raw: Option<Vec<raw::Arguments>>,
) -> Vec<Arguments> {
    let mut all = Vec::new();
    for (index, raw) in raw.into_iter().flatten().enumerate() {
        let index = index.to_string();
        let path = ["components", component, "process", "arguments", &index];
        let when = conditions.read(checker, &raw.when);
        let mut scope = names.of_component(component, Secrets::Refused);
        scope.when = scope.when.intersect(&when);
        let add = raw.add.unwrap_or_default();
        for (word, text) in add.iter().enumerate() {
            let position = checker.position_of(&[&path[..], &["add", &word.to_string()]].concat());
            names.check_text(checker, position, &scope, text);
        }
        all.push(Arguments { when, add });
    }
    all
}

/// One request of a component's setup.
pub(super) fn setup_step(
    checker: &mut Checker<'_>,
    Definitions { names, conditions }: Definitions<'_>,
    component: &str,
    keys: &raw::SetupStep,
) -> Option<SetupStep> {
    let when = conditions.read(checker, &keys.when);
    let called = keys.method.check(checker);
    if let Some(called) = &called {
        refuse_unknown_names(checker, called.path, conditions.names, &[]);
    }
    let headers = checker.header_fields(&keys.headers);
    let mut scope = names.of_component(component, Secrets::InRequest);
    scope.when = scope.when.intersect(&when);
    for At { place, value } in request_texts(&keys.headers, &keys.body) {
        names.check_text(checker, place.value, &scope, value);
    }
    let port = keys.port.content();
    let port = port.and_then(|port| names.port(checker, component, port));
    let findings = &mut checker.findings;
    let timeout = (keys.timeout).check_bounds(SETUP_TIMEOUT, TIMEOUT_BOUNDS, findings);
    let method = called.as_ref().map(|called| called.method.as_str());
    let expect = expect(checker, &keys.expect, method);
    let captures = verify::captures(checker, &keys.capture);
    let undo = keys.undo.value();
    let undo = undo.map(|keys| undo_request(checker, conditions.names, keys));
    let Called { method, path } = called?;
    let retry_on = keys.retry_on.value();
    Some(SetupStep {
        name: keys.name.value()?.clone(),
        when,
        port: port?,
        method,
        path: path.value.clone(),
        headers,
        body: keys.body.value().cloned().unwrap_or_default(),
        expect,
        captures,
        retry_on: retry_on.map_or_else(Vec::new, |raw::Status(codes)| codes.clone()),
        timeout: timeout?,
        undo: match undo {
            None => None,
            Some(undo) => Some(undo?),
        },
    })
}

/// The request that removes what a step of a setup has made.
fn undo_request(
    checker: &mut Checker<'_>,
    parameters: &[String],
    keys: &raw::Undo,
) -> Option<Undo> {
    let called = keys.method.check(checker);
    if let Some(called) = &called {
        refuse_unknown_names(checker, called.path, parameters, &[]);
    }
    let headers = checker.header_fields(&keys.headers);
    check_request_texts(checker, parameters, &keys.headers, &keys.body);
    for At { place, value } in request_texts(&keys.headers, &keys.body) {
        if value.contains(&format!("${{{TOKEN}}}")) {
            let what = "a token may have expired when something is undone";
            checker.report(Finding::new(place.value, what).with_expected("${secret.NAME}"));
        }
    }
    let timeout = (keys.timeout).check_bounds(UNDO_TIMEOUT, TIMEOUT_BOUNDS, &mut checker.findings);
    let Called { method, path } = called?;
    let status = keys.status.value();
    Some(Undo {
        method,
        path: path.value.clone(),
        headers,
        body: keys.body.value().cloned().unwrap_or_default(),
        status: status.map_or_else(|| vec![404], |raw::Status(codes)| codes.clone()),
        timeout: timeout?,
    })
}

/// The values of header fields, and the body.
fn request_texts<'k>(
    headers: &'k Key<IndexMap<String, At<String>>>,
    body: &'k Key<String>,
) -> impl Iterator<Item = &'k At<String>> {
    let headers = headers.value().into_iter().flat_map(IndexMap::values);
    headers.chain(body.content())
}

/// Checks the texts of a request that waggle sends to the system: only secrets and parameters can be put into them.
pub(super) fn check_request_texts(
    checker: &mut Checker<'_>,
    parameters: &[String],
    headers: &Key<IndexMap<String, At<String>>>,
    body: &Key<String>,
) {
    for At { place, value } in request_texts(headers, body) {
        let names = parts(value);
        let is_known = |part: &Part<'_>| match part {
            Part::Name(name) => is_secret(name) || parameters.iter().any(|known| known == name),
            Part::Literal(_) => true,
        };
        let what = match &names {
            None => "a ${ without its }".to_owned(),
            Some(parts) => match parts.iter().find(|part| !is_known(part)) {
                Some(Part::Name(name)) => format!("${{{name}}} is not defined here"),
                _ => continue,
            },
        };
        let finding = Finding::new(place.value, what);
        checker.report(finding.with_expected("${secret.NAME} or a parameter"));
    }
}

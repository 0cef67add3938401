//! What a system needs besides its processes: artifacts that are fetched, conditions, files, requests made once.

use std::time::Duration;

use indexmap::IndexMap;

use waggle_template::placeholder::{Part, parts};

use super::{
    Checker,
    set::refusal,
    system_text::{Names, Secrets},
    verify,
};
use crate::{
    Arguments, Artifact, Component, Parameter, SetupStep, Undo, When,
    at::{At, Bounds, Key, Place},
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
    tree::quote,
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
    pub(super) names: &'a Names<'a>,
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
        keys: &raw::System,
    ) -> IndexMap<String, When> {
        let components = keys.components.entries();
        components
            .map(|(name, given)| (name.clone(), self.read(checker, &given.value.when)))
            .collect()
    }
}

/// Every artifact.
pub(super) fn artifacts(
    checker: &mut Checker<'_>,
    given: &Key<IndexMap<String, At<raw::Artifact>>>,
) -> Vec<Artifact> {
    let artifacts = || given.value().into_iter().flatten();
    let checked: Vec<_> = artifacts()
        .filter_map(|(name, given)| artifact(checker, name, &given.value))
        .collect();
    let programs = |name: &str| {
        let (_, given) = artifacts().find(|(known, _)| *known == name)?;
        given.value.programs.place()
    };
    refuse_shared_programs(checker, &checked, programs);
    checked
}

fn artifact(checker: &mut Checker<'_>, name: &str, keys: &raw::Artifact) -> Option<Artifact> {
    if let Some(At {
        place,
        value: version,
    }) = keys.version.content()
    {
        let is_clean = version
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-+_".contains(&byte));
        if !is_clean || version.is_empty() || version.len() > VERSION_MAX_BYTES {
            let mistake = place.mistake(format!("is {}", quote(version)));
            let expected = "letters, digits and . - + _, for it names a folder";
            checker.report(mistake.with_expected(expected));
        }
    }
    let programs = program_names(checker, &keys.programs);
    let requires = program_names(checker, &keys.requires);
    let At {
        place,
        value: fetch,
    } = keys.fetch.content()?;
    let stays_inside = fetch
        .split('/')
        .all(|step| !step.is_empty() && step != "..");
    if !stays_inside {
        let mistake = place.mistake(format!("is {}", quote(fetch)));
        checker.report(mistake.with_expected("a script in the system's folder, e.g. fetch/NAME"));
    }
    let environment_from = inherited_variables(checker, &keys.environment_from, &[]);
    Some(Artifact {
        version: keys.version.value()?.clone(),
        programs,
        fetch: fetch.clone(),
        requires,
        environment_from,
        note: keys.note.clone(),
        name: name.to_owned(),
    })
}

/// The names of programs in a list.
fn program_names(checker: &mut Checker<'_>, given: &Key<Vec<At<String>>>) -> Vec<String> {
    let Some(At { place, value }) = given.content() else {
        return Vec::new();
    };
    for word in value {
        if word.value.is_empty() || word.value.contains(['/', '$']) {
            let what = format!("has {}", quote(&word.value));
            let mistake = place.mistake_in(word.place.value, what);
            checker.report(mistake.with_expected("the name of a program"));
        }
    }
    value.iter().map(|word| word.value.clone()).collect()
}

/// Reports a program that two artifacts provide.
fn refuse_shared_programs<'k>(
    checker: &mut Checker<'_>,
    artifacts: &[Artifact],
    place: impl Fn(&str) -> Option<&'k Place>,
) {
    for (index, artifact) in artifacts.iter().enumerate() {
        for program in &artifact.programs {
            if let Some(other) = artifacts[..index]
                .iter()
                .find(|other| other.programs.contains(program))
            {
                let what = format!(
                    "program {program:?} belongs to the artifacts {} and {}",
                    other.name, artifact.name
                );
                if let Some(place) = place(&artifact.name) {
                    let finding = Finding::new(place.key, what);
                    checker.report(finding.with_expected("one artifact for each program"));
                }
            }
        }
    }
}

/// A component's files, by name.
pub(super) fn files(
    checker: &mut Checker<'_>,
    names: &Names<'_>,
    component: &str,
    given: &Key<IndexMap<String, At<String>>>,
) -> Vec<(String, String)> {
    for (name, At { place, value: text }) in given.value().into_iter().flatten() {
        let is_clean = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if !is_clean || name.starts_with('.') || name.is_empty() {
            let what = format!("{} is no name for a file", quote(name));
            let finding = Finding::new(place.key, what);
            checker.report(finding.with_expected("letters, digits and . _ -, the first no dot"));
        }
        if text.len() > FILE_MAX_BYTES {
            let mistake = place.mistake(format!("has {} bytes", text.len()));
            checker.report(mistake.with_expected(format!("at most {FILE_MAX_BYTES}")));
        }
    }
    let scope = names.of_component(component, Secrets::Allowed);
    names.check_named_texts(checker, &scope, given)
}

/// The secrets that a component writes: names, each with its file.
pub(super) fn written_secrets(
    checker: &mut Checker<'_>,
    given: &Key<IndexMap<String, raw::WrittenSecret>>,
) -> Vec<(String, String)> {
    let mut secrets = Vec::new();
    for (name, keys) in given.value().into_iter().flatten() {
        let Some(At { place, value: file }) = keys.file.content() else {
            continue;
        };
        let is_inside = file
            .split('/')
            .all(|step| !step.is_empty() && step != ".." && step != ".");
        if !is_inside || file.contains('$') {
            let mistake = place.mistake(format!("is {}", quote(file)));
            let expected = "a file in the component's own folder, e.g. data/token";
            checker.report(mistake.with_expected(expected));
        }
        secrets.push((name.clone(), file.clone()));
    }
    secrets
}

/// Reports a secret that is given twice in a configuration.
pub(super) fn refuse_secrets_given_twice(
    checker: &mut Checker<'_>,
    names: &Names<'_>,
    components: &[Component],
) {
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
            if let (Some((_, other)), Some(keys)) = (other, names.component(&component.name)) {
                let what = match other.name == component.name {
                    true => format!("component {} gives secret {name:?} twice", other.name),
                    false => format!(
                        "components {} and {} give secret {name:?}",
                        other.name, component.name
                    ),
                };
                let finding = Finding::new(keys.place.key, what);
                checker.report(finding.with_expected("a name for each"));
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
    given: &Key<Vec<At<raw::Arguments>>>,
) -> Vec<Arguments> {
    let mut all = Vec::new();
    for At { value: keys, .. } in given.value().into_iter().flatten() {
        let when = conditions.read(checker, &keys.when);
        let mut scope = names.of_component(component, Secrets::Refused);
        scope.when = scope.when.intersect(&when);
        let words = keys.add.value().into_iter().flatten();
        for text in words.clone() {
            names.check_text(checker, &scope, text);
        }
        let add = words.map(|word| word.value.clone()).collect();
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
    for text in request_texts(&keys.headers, &keys.body) {
        names.check_text(checker, &scope, text);
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

//! Every `${name}` of a study must name a factor, in a part that may differ between cells; every factor must be used.

use crate::{
    System,
    derived::Derived,
    fill::{Use, uses},
    mistake::{Finding, MAX_MISTAKES, Position},
    nearest::{list, nearest_word},
    origin::{is_from_outside, is_meant_from_outside},
    request_texts::is_request_text,
    reserved::CELL_KEYS,
    schema::{PARTS_PER_CELL, STUDY_WIDE, SYSTEM_PER_CELL},
    tree::{Node, Value, quote},
};

/// The names that a study may use as `${name}`.
pub(crate) struct KnownNames<'a> {
    /// Those of factors, with their positions.
    pub factors: &'a [(String, Position)],
    pub derived: &'a Derived,
    /// Whether they are all names.
    pub complete: bool,
}

impl KnownNames<'_> {
    fn every_name(&self) -> impl Iterator<Item = &(String, Position)> {
        self.factors.iter().chain(&self.derived.names)
    }
}

/// Reports unknown names, names in wrong parts of the study, and factors and derived levels that nothing uses; reserved names
/// were reported. `body` is the study without factors, cells and derived levels.
pub(crate) fn check_uses(
    body: &Node,
    known: &KnownNames<'_>,
    system: Option<&System>,
    findings: &mut Vec<Finding>,
) {
    let uses = uses(body);
    findings.extend(
        uses.iter()
            .filter_map(|used| misuse(used, known))
            .take(MAX_MISTAKES),
    );
    let Some(system) = system else { return };
    let set = body.child("system").and_then(|system| system.child("set"));
    let is_set = |name: &str| set.is_some_and(|set| set.entry(name).is_some());
    let parameters = system.parameters.iter();
    let names = parameters.map(|parameter| parameter.name.as_str());
    let free: Vec<&str> = names.filter(|name| !is_set(name)).collect();
    let match_on = body
        .child("reference")
        .and_then(|reference| reference.child("match_on"));
    let names_rows = |name: &str| match_on.is_some_and(|names| has_text(names, name));
    let is_used = |name: &str| {
        CELL_KEYS.contains(&name)
            || known.derived.uses(name)
            || names_rows(name)
            || free.contains(&name)
            || uses.iter().any(|used| used.name.as_deref() == Some(name))
    };
    // A formula that was not read may use any of them.
    let names = known.every_name().filter(|_| known.derived.complete);
    for (name, position) in names.filter(|(name, _)| !is_used(name)) {
        let unknown = uses.iter().filter_map(|used| used.name.as_deref());
        let unknown = unknown.filter(|used| !known.every_name().any(|(name, _)| name == used));
        let near = nearest_word(name, unknown.chain(free.iter().copied()));
        let expected = expected_use(name, free.iter().copied());
        let is_factor = known.factors.iter().any(|(factor, _)| factor == name);
        let kind = if is_factor { "factor" } else { "derived level" };
        let what = format!("{kind} {name} is used nowhere");
        findings.push(
            Finding::new(*position, what)
                .with_expected(expected)
                .with_suggestion(near),
        );
    }
}

/// Where a factor can be used.
fn expected_use<'a>(name: &str, free: impl Iterator<Item = &'a str>) -> String {
    let parts = PARTS_PER_CELL.iter().map(|part| (*part).to_owned());
    let of_system = SYSTEM_PER_CELL.iter().map(|key| format!("system.{key}"));
    let parts: Vec<String> = parts.chain(of_system).collect();
    let parts = list(parts.iter().map(String::as_str));
    let free = list(free);
    let parameter = match free.is_empty() {
        true => String::new(),
        false => format!(", or the name of a parameter that is not set: {free}"),
    };
    format!("${{{name}}} in one of {parts}, or its name in reference.match_on{parameter}")
}

/// Whether a node is this text, or a list with it.
fn has_text(node: &Node, text: &str) -> bool {
    match &node.value {
        Value::Scalar(level) => level.to_string() == text,
        Value::List(items) => items.iter().any(|item| has_text(item, text)),
        _ => false,
    }
}

/// The mistake in a `${name}`, if it has one.
fn misuse(used: &Use, known: &KnownNames<'_>) -> Option<Finding> {
    let path: Vec<_> = used.path.iter().map(String::as_str).collect();
    let Some(name) = &used.name else {
        return Some(Finding::new(used.position, "a ${ without its }").with_expected("${factor}"));
    };
    if is_meant_from_outside(name) {
        return misuse_of_environment(used, name, &path);
    }
    let varies = path
        .first()
        .is_some_and(|part| PARTS_PER_CELL.contains(part));
    let may_differ = varies
        || SYSTEM_PER_CELL
            .iter()
            .any(|key| path.starts_with(&["system", key]));
    if !may_differ || STUDY_WIDE.iter().any(|wide| path.starts_with(wide)) {
        let what = format!(
            "{} holds for the whole study; ${{…}} is not allowed in it",
            path.join(".")
        );
        return Some(Finding::new(used.position, what).with_expected("a value"));
    }
    let words = || known.every_name().map(|(name, _)| name.as_str());
    if !known.complete || words().any(|known| known == name) {
        return None;
    }
    let expected = match words().next() {
        None => "a name from factors or cells; there are none".to_owned(),
        Some(_) => list(words()),
    };
    let what = format!("there is no factor {}", quote(name));
    let near = nearest_word(name, words()).map(|near| near.to_owned());
    let is_like_variable = name.starts_with(|first: char| first.is_ascii_uppercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let variable = (is_request_text(&path) && is_like_variable).then(|| format!("${{env.{name}}}"));
    Some(
        Finding::new(used.position, what)
            .with_expected(expected)
            .with_suggestion(near.or(variable)),
    )
}

/// The mistake in a value from outside, if it has one. They are allowed only in the texts of requests, and in secrets,
/// which are never written.
pub(crate) fn misuse_of_environment(used: &Use, name: &str, path: &[&str]) -> Option<Finding> {
    if !is_from_outside(name) {
        let what = format!(
            "{} is neither an environment variable nor a file nor a secret nor a token",
            quote(name)
        );
        return Some(
            Finding::new(used.position, what)
                .with_expected("${env.NAME}, ${file:PATH}, ${secret.NAME} or ${oauth2.token}"),
        );
    }
    let is_in_request = is_request_text(path);
    let is_secret = path.len() == 3 && path.starts_with(&["system", "secrets"]);
    let is_client = matches!(path, ["system", "oauth2", "client_id" | "client_secret"]);
    let is_kubeconfig = path == ["system", "kubeconfig", "file"] && name.starts_with("env.");
    (!is_in_request && !is_secret && !is_client && !is_kubeconfig).then(|| {
        let what = format!("${{{name}}} is in {}", path.join("."));
        let expected = "it in the path, a header or the body of a request; ${env.NAME} and ${file:PATH} also in system.secrets and in the client of system.oauth2";
        Finding::new(used.position, what).with_expected(expected)
    })
}

//! Names inside a system file: of components, of ports, and in `${…}`.

use indexmap::IndexMap;

use waggle_template::placeholder::{Part, parts, single_name};

use super::{
    Checker,
    manifests::is_manifests,
    system::{MAX_REPLICAS, counts_replicas},
};
use crate::{
    Parameter, When,
    at::{At, Key},
    mistake::{Finding, Position},
    nearest::{list, nearest_word},
    origin::TOKEN,
    raw,
    substitute::secret,
    tree::quote,
};

/// Every name that is known.
pub(super) struct Names<'k> {
    system: &'k raw::System,
    parameters: Vec<String>,
    /// Parameters that can be a number of replicas; also those whose mistakes are reported elsewhere.
    counting: Vec<String>,
    /// Each component with its ports.
    components: IndexMap<String, Vec<String>>,
    /// When each component exists.
    when: IndexMap<String, When>,
    /// Each component with those that it depends on.
    needs: IndexMap<String, Vec<String>>,
    /// Secrets that a component gives, each with its component.
    given: Vec<(String, String)>,
    /// Certificates that the system has.
    pub(super) certificates: Vec<String>,
}

/// The component and the configurations to which a text with `${…}` belongs.
pub(super) struct Scope<'a> {
    component: &'a str,
    /// The configurations in which it is used.
    pub(super) when: When,
    secrets: Secrets,
}

/// Whether a text may have `${secret.NAME}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Secrets {
    Allowed,
    /// Allowed, and so is a token: the text is in a request.
    InRequest,
    /// Refused: the text is in a command.
    Refused,
    /// Refused: the text is in the environment of all components.
    NotShared,
}

impl<'k> Names<'k> {
    /// `names` are those of all parameters, `parameters` those that are right.
    pub(super) fn new(
        system: &'k raw::System,
        names: &[String],
        parameters: &[Parameter],
        when: IndexMap<String, When>,
    ) -> Self {
        let known = |name: &String| parameters.iter().find(|parameter| parameter.name == *name);
        let counting = names
            .iter()
            .filter(|name| known(name).is_none_or(counts_replicas));
        let components = || system.components.entries();
        Self {
            system,
            counting: counting.cloned().collect(),
            parameters: names.to_vec(),
            components: components()
                .map(|(name, keys)| (name.clone(), ports(&keys.value)))
                .collect(),
            when,
            needs: components()
                .map(|(name, keys)| (name.clone(), needs(&keys.value)))
                .collect(),
            given: components()
                .flat_map(|(name, keys)| {
                    given_secrets(&keys.value).map(|secret| (secret, name.clone()))
                })
                .collect(),
            certificates: Vec::new(),
        }
    }

    /// Whether components are workloads of manifests.
    pub(super) fn are_of_manifests(&self) -> bool {
        is_manifests(self.system)
    }

    /// What the file says of a component.
    pub(super) fn component(&self, name: &str) -> Option<&'k At<raw::Component>> {
        self.system.components.value()?.get(name)
    }

    /// Whether the file has a mistake in an endpoint of this name, or in all.
    pub(super) fn has_invalid_endpoint(&self, name: &str) -> bool {
        self.system.endpoints.has_invalid(name)
    }

    /// Whether the system has no certificates, and no mistake in them.
    pub(super) fn lacks_certificates(&self) -> bool {
        self.certificates.is_empty() && !self.system.certificates.is_invalid()
    }

    /// Whether the ports of a component are known.
    pub(super) fn knows_ports(&self, component: &str) -> bool {
        let keys = self.component(component);
        !keys.is_some_and(|keys| keys.value.ports.is_invalid())
    }

    /// Whether a component is started after another one is ready.
    fn comes_after(&self, component: &str, other: &str, depth: usize) -> bool {
        let needs = self.needs.get(component).into_iter().flatten();
        // Components that depend on each other are reported elsewhere.
        depth < self.needs.len()
            && needs
                .into_iter()
                .any(|need| need == other || self.comes_after(need, other, depth + 1))
    }

    /// The mistake in a secret that is not known yet when the component of this text is started.
    fn is_too_early(&self, position: Position, scope: &Scope<'_>, secret: &str) -> Option<Finding> {
        let (_, giver) = self.given.iter().find(|(known, _)| known == secret)?;
        if self.comes_after(scope.component, giver, 0) {
            return None;
        }
        let what = format!("secret {secret:?} is known when component {giver} is ready");
        let expected = match scope.component == giver {
            true => "it in requests, or in components that depend on this one".to_owned(),
            false => format!("depends_on: [{giver}] in this component"),
        };
        Some(Finding::new(position, what).with_expected(expected))
    }

    /// The scope of a component's own texts.
    pub(super) fn of_component<'a>(&self, component: &'a str, secrets: Secrets) -> Scope<'a> {
        Scope {
            component,
            when: self.when_of(component),
            secrets,
        }
    }

    /// The scope of the environment of all components.
    pub(super) fn of_all() -> Scope<'static> {
        Scope {
            component: "",
            when: When::default(),
            secrets: Secrets::NotShared,
        }
    }

    /// When a component exists.
    pub(super) fn when_of(&self, component: &str) -> When {
        self.when.get(component).cloned().unwrap_or_default()
    }

    pub(super) fn require_component(
        &self,
        checker: &mut Checker<'_>,
        position: Position,
        name: &str,
    ) -> Option<&[String]> {
        let ports = self.components.get(name);
        if ports.is_none() && !self.system.components.has_invalid(name) {
            let names = || self.components.keys().map(String::as_str);
            let what = format!("there is no component {name:?}");
            checker.report(
                Finding::new(position, what)
                    .with_expected(list(names()))
                    .with_suggestion(nearest_word(name, names())),
            );
        }
        ports.map(Vec::as_slice)
    }

    /// The component and its port that two keys name.
    pub(super) fn port_of(
        &self,
        checker: &mut Checker<'_>,
        component: &Key<String>,
        port: &Key<String>,
    ) -> Option<(String, String)> {
        let (component, port) = (component.content()?, port.content()?);
        self.require_component(checker, component.place.value, &component.value)?;
        let port = self.port(checker, &component.value, port)?;
        Some((component.value.clone(), port))
    }

    /// A port of a component that exists.
    pub(super) fn port(
        &self,
        checker: &mut Checker<'_>,
        component: &str,
        At { place, value: port }: &At<String>,
    ) -> Option<String> {
        let ports = self.components.get(component)?;
        if ports.contains(port) {
            return Some(port.clone());
        }
        if self.knows_ports(component) {
            let names = || ports.iter().map(String::as_str);
            let what = format!("component {component} has no port {port:?}");
            let expected = match ports.is_empty() {
                true => "a component with ports".to_owned(),
                false => list(names()),
            };
            let finding = Finding::new(place.value, what).with_expected(expected);
            checker.report(finding.with_suggestion(nearest_word(port, names())));
        }
        None
    }

    /// A number of replicas: digits or a parameter's name.
    pub(super) fn replicas(
        &self,
        checker: &mut Checker<'_>,
        At { place, value }: &At<raw::Replicas>,
    ) -> Option<String> {
        let raw::Replicas(text) = value;
        let number = text
            .parse()
            .is_ok_and(|count: i64| (1..=MAX_REPLICAS).contains(&count));
        let counts =
            single_name(text).is_some_and(|name| self.counting.iter().any(|known| known == name));
        if number || counts {
            return Some(text.clone());
        }
        let expected = format!(
            "a whole number from 1 to {MAX_REPLICAS}, or ${{…}} with a parameter that is one"
        );
        let mistake = place.mistake(format!("is {}", quote(text)));
        checker.report(mistake.with_expected(expected));
        None
    }

    /// Reports each `${…}` in a component's text that has no meaning in one of the configurations that use the text.
    pub(super) fn check_text(
        &self,
        checker: &mut Checker<'_>,
        scope: &Scope<'_>,
        At { place, value: text }: &At<String>,
    ) {
        let position = place.value;
        let Some(parts) = parts(text) else {
            checker.report(Finding::new(position, "a ${ without its }").with_expected("${name}"));
            return;
        };
        let names = parts.into_iter().filter_map(|part| match part {
            Part::Name(name) => Some(name),
            Part::Literal(_) => None,
        });
        for name in names {
            if let Some(finding) = self.misuse(position, scope, name) {
                checker.report(finding);
            }
        }
    }

    /// The same for texts that have names, which are returned.
    pub(super) fn check_named_texts(
        &self,
        checker: &mut Checker<'_>,
        scope: &Scope<'_>,
        given: &Key<IndexMap<String, At<String>>>,
    ) -> Vec<(String, String)> {
        let mut texts = Vec::new();
        for (name, text) in given.value().into_iter().flatten() {
            self.check_text(checker, scope, text);
            texts.push((name.clone(), text.value.clone()));
        }
        texts
    }

    /// The mistake in a `${…}`, if it has one.
    fn misuse(&self, position: Position, scope: &Scope<'_>, name: &str) -> Option<Finding> {
        if let Some(secret) = secret(name) {
            let (what, expected) = match scope.secrets {
                Secrets::InRequest => return None,
                Secrets::Allowed => return self.is_too_early(position, scope, secret),
                Secrets::Refused => (
                    "a secret is not allowed in a command, which every user of the machine can read",
                    "it in environment, files or setup",
                ),
                Secrets::NotShared => (
                    "a secret is not allowed in the environment of all components",
                    "it in the environment of those that need it",
                ),
            };
            return Some(Finding::new(position, what).with_expected(expected));
        }
        if name == TOKEN {
            if scope.secrets == Secrets::InRequest {
                return None;
            }
            let what = "a token is fetched when a trial runs, and is only in requests";
            let expected =
                "it in headers and bodies of setup and verify, and in requests of probes";
            return Some(Finding::new(position, what).with_expected(expected));
        }
        let is_program = name
            .strip_prefix("program.")
            .is_some_and(|program| !program.is_empty() && !program.contains('/'));
        if is_program {
            return None;
        }
        let known = self.known_names(scope.component);
        if !known.iter().any(|known| known == name) {
            let near = nearest_word(name, known.iter().map(String::as_str));
            let near = near.map(str::to_owned);
            let what = format!("${{{name}}} is not defined here");
            let expected = format!("{}, program.NAME", list(known.iter().map(String::as_str)));
            return Some(
                Finding::new(position, what)
                    .with_expected(expected)
                    .with_suggestion(near),
            );
        }
        let words = [".port.", ".address.", ".addresses."];
        let other = (words.iter().find_map(|word| name.split_once(word)))
            .map(|(other, _)| other)
            .or_else(|| name.strip_suffix(".host"))?;
        let when = self.when_of(other);
        (!when.follows_from(&scope.when)).then(|| {
            let what = format!("${{{name}}}: component {other} exists only if {when}");
            Finding::new(position, what).with_expected("the same condition (when) around it")
        })
    }

    /// The names allowed in `${…}` in a component's text, except programs and secrets.
    fn known_names(&self, component: &str) -> Vec<String> {
        let port_names = self
            .components
            .get(component)
            .into_iter()
            .flatten()
            .map(|port| format!("port.{port}"));
        let others = self
            .components
            .iter()
            .filter(|(name, _)| *name != component)
            .flat_map(|(name, ports)| ports.iter().map(move |port| format!("{name}.port.{port}")));
        let addresses = self.components.iter().flat_map(|(name, ports)| {
            ports.iter().flat_map(move |port| {
                ["address", "addresses"].map(|word| format!("{name}.{word}.{port}"))
            })
        });
        let others_hosts = (self.components.keys())
            .filter(|name| *name != component)
            .map(|name| format!("{name}.host"));
        let certificates = self
            .certificates
            .iter()
            .flat_map(|name| ["cert", "key"].map(|file| format!("certificate.{name}.{file}")));
        let authority = (!self.certificates.is_empty()).then(|| "ca.cert".to_owned());
        let parameters = self.parameters.iter().cloned();
        ["dir", "replica", "system_dir", "listen", "host"]
            .into_iter()
            .map(str::to_owned)
            .chain(parameters)
            .chain(port_names)
            .chain(others)
            .chain(addresses)
            .chain(others_hosts)
            .chain(authority)
            .chain(certificates)
            .collect()
    }
}

fn ports(keys: &raw::Component) -> Vec<String> {
    let ports = keys.ports.value().into_iter().flatten();
    ports.map(|port| port.value.0.clone()).collect()
}

fn needs(keys: &raw::Component) -> Vec<String> {
    let needs = keys.depends_on.value().into_iter().flatten();
    needs.map(|needed| needed.value.clone()).collect()
}

/// The names of the secrets that a component gives.
fn given_secrets(keys: &raw::Component) -> impl Iterator<Item = String> + '_ {
    let written = keys.secrets.value().into_iter().flatten();
    let written = written.map(|(name, _)| name);
    let steps = keys.setup.value().into_iter().flatten();
    let captured = steps.flat_map(|step| step.value.capture.value().into_iter().flatten());
    let captured = captured.map(|(name, _)| name);
    written.chain(captured).cloned()
}

//! A system file: parameters, components in the order of starting, endpoints, probes, functional check.

use std::time::Duration;

use indexmap::IndexMap;

use super::{
    Checker,
    components::{self, Conditions, Definitions},
    port_tls::{port_tls, refuse_kafka},
    probe::{system_metric, system_probe},
    set::refusal,
    system_text::{Names, Secrets},
    verify,
};
use crate::{
    Certificate, Component, Endpoint, Parameter, ParameterKind, ProcessDriver, ReadyCheck, System,
    at::{At, Bounds},
    mistake::Finding,
    nearest::{list, nearest_word},
    parts::{
        certificates::certificates, inherited_variables::inherited_variables, limits::limit_texts,
    },
    raw,
};

const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Bounds of the timeouts of a system file.
pub(super) const TIMEOUT_BOUNDS: Bounds =
    Bounds(Duration::from_millis(10), Duration::from_secs(600));
/// The kinds of parameters.
const KINDS: [&str; 7] = [
    "integer", "number", "duration", "size", "boolean", "text", "one_of",
];
/// Most replicas of a component.
pub(crate) const MAX_REPLICAS: i64 = 256;

pub(crate) fn system(checker: &mut Checker<'_>, raw: raw::System) -> Option<System> {
    let raw_parameters = raw.parameters.unwrap_or_default();
    let parameter_names: Vec<_> = raw_parameters.keys().cloned().collect();
    let parameters: Vec<_> = raw_parameters
        .into_iter()
        .filter_map(|(name, raw)| parameter(checker, name, raw))
        .collect();
    let artifacts = components::artifacts(checker, raw.artifacts);
    let raw_components: Vec<_> = raw.components.into_iter().flatten().collect();
    if raw_components.is_empty() {
        report_no_component(checker);
    }
    let conditions = Conditions {
        names: &parameter_names,
        known: &parameters,
    };
    let when = conditions.of_components(checker, &raw_components);
    let certificates = certificates(checker, raw.certificates.as_ref());
    let mut names = Names::new(parameter_names.clone(), &parameters, &raw_components, when);
    names.certificates = certificate_names(&certificates);
    let definitions = Definitions {
        names: &names,
        conditions: &conditions,
    };
    let shared = shared_environment(checker, &names, raw.environment);
    let components: Vec<_> = raw_components
        .into_iter()
        .filter_map(|(name, raw)| component(checker, definitions, name, raw))
        .map(|component| with_environment(component, &shared))
        .collect();
    components::refuse_secrets_given_twice(checker, &components);
    let components = sort_by_dependencies(checker, components);
    let endpoints = raw.endpoints.into_iter().flatten();
    let endpoints: Vec<_> = endpoints
        .filter_map(|(name, raw)| endpoint(checker, definitions, name, raw))
        .collect();
    let probes = raw.probes.into_iter().flatten();
    let probes: Vec<_> = probes
        .filter_map(|(name, raw)| system_probe(checker, definitions, name, &raw))
        .collect();
    let metrics = raw.metrics.into_iter().flatten();
    let metrics: Vec<_> = metrics
        .filter_map(|(name, raw)| system_metric(checker, definitions, name, &raw))
        .collect();
    refuse_kafka(checker, &components, &probes, &metrics);
    let context = verify::Context {
        endpoints: &endpoints,
        names: &names,
        conditions: &conditions,
    };
    let verify = verify::steps(checker, context, &raw.verify);
    if let Some(given) = raw.kubeconfig.content() {
        require_endpoint(checker, &endpoints, given);
    }
    Some(System {
        name: raw.system?.0,
        summary: raw.summary?,
        parameters,
        artifacts,
        certificates,
        components,
        endpoints,
        kubeconfig: raw.kubeconfig.value().cloned(),
        probes,
        metrics,
        verify,
        external: None,
    })
}

fn certificate_names(certificates: &[Certificate]) -> Vec<String> {
    let names = certificates.iter().map(|certificate| &certificate.name);
    names.cloned().collect()
}

fn report_no_component(checker: &mut Checker<'_>) {
    if !checker.is_invalid(&["components"]) {
        let what = "a system has at least one component";
        checker.report(
            Finding::new(checker.key(&["components"]), what).with_expected("components: a mapping"),
        );
    }
}

/// Reports a `kubeconfig` that names no endpoint.
fn require_endpoint(
    checker: &mut Checker<'_>,
    endpoints: &[Endpoint],
    At { place, value: name }: &At<String>,
) {
    let known = || endpoints.iter().map(|known| known.name.as_str());
    if !known().any(|known| known == name) {
        let what = format!("there is no endpoint {name:?}");
        checker.report(
            Finding::new(place.value, what)
                .with_expected(super::verify::expected_endpoint(known()))
                .with_suggestion(nearest_word(name, known())),
        );
    }
}

fn endpoint(
    checker: &mut Checker<'_>,
    Definitions { names, conditions }: Definitions<'_>,
    name: String,
    raw: raw::Endpoint,
) -> Option<Endpoint> {
    let when = conditions.read(checker, &raw.when);
    let (component, port) = names.port_of(checker, &raw.component, &raw.port)?;
    Some(Endpoint {
        name,
        when,
        component,
        port,
    })
}

fn parameter(checker: &mut Checker<'_>, name: String, raw: raw::Parameter) -> Option<Parameter> {
    let path = ["parameters", name.as_str()];
    if matches!(
        name.as_str(),
        "dir"
            | "replica"
            | "system_dir"
            | "port"
            | "program"
            | "ca"
            | "certificate"
            | "secret"
            | "offset"
            | "limit"
            | "from"
            | "to"
            | "run"
    ) {
        let what =
            format!("a parameter cannot be named {name:?}: ${{{name}}} has a meaning of its own");
        checker.report(Finding::new(checker.key(&path), what).with_expected("another name"));
    }
    let kind = kind(checker, &path, &raw)?;
    let parameter = Parameter {
        name: name.clone(),
        summary: raw.summary?,
        kind,
        is_optional: raw.optional.unwrap_or(false),
        default: raw.default?,
    };
    if let Some((expected, near)) = refusal(&parameter, &parameter.default) {
        let what = format!("the default of parameter {name} is {}", parameter.default);
        let position = checker.position_of(&["parameters", &name, "default"]);
        checker.report(
            Finding::new(position, what)
                .with_expected(expected)
                .with_suggestion(near),
        );
    }
    Some(parameter)
}

fn kind(
    checker: &mut Checker<'_>,
    path: &[&str; 2],
    raw: &raw::Parameter,
) -> Option<ParameterKind> {
    let integer = raw.integer.as_ref().map(|bounds| {
        Some(ParameterKind::Integer {
            min: bounds.min?,
            max: bounds.max?,
        })
    });
    let number = raw.number.as_ref().map(|bounds| {
        Some(ParameterKind::Number {
            min: bounds.min?,
            max: bounds.max?,
        })
    });
    let duration = raw.duration.as_ref().map(|bounds| {
        Some(ParameterKind::Duration {
            min: bounds.min?.0,
            max: bounds.max?.0,
        })
    });
    let size = raw.size.as_ref().map(|bounds| {
        Some(ParameterKind::Size {
            min: bounds.min?.0,
            max: bounds.max?.0,
        })
    });
    let boolean = raw.boolean.as_ref().map(|_| Some(ParameterKind::Boolean));
    let text = raw.text.as_ref().map(|_| Some(ParameterKind::Text));
    let one_of = raw
        .one_of
        .clone()
        .map(|words| Some(ParameterKind::OneOf(words)));
    let mut given: Vec<_> = [integer, number, duration, size, boolean, text, one_of]
        .into_iter()
        .flatten()
        .collect();
    if given.len() != 1 {
        let invalid = KINDS;
        if !invalid
            .iter()
            .any(|key| checker.is_invalid(&[path[0], path[1], key]))
        {
            let what = format!("parameter {} has {} kinds", path[1], given.len());
            let expected = format!("exactly one of {}", KINDS.join(", "));
            checker.report(Finding::new(checker.key(path), what).with_expected(expected));
        }
        return None;
    }
    let kind = given.pop().flatten()?;
    let upside_down = match &kind {
        ParameterKind::Integer { min, max } => min > max,
        ParameterKind::Number { min, max } => min > max,
        ParameterKind::Duration { min, max } => min > max,
        ParameterKind::Size { min, max } => min > max,
        ParameterKind::Boolean | ParameterKind::Text | ParameterKind::OneOf(_) => false,
    };
    if upside_down {
        let what = format!("parameter {}: min is greater than max", path[1]);
        checker.report(Finding::new(checker.key(path), what).with_expected("min below max"));
        return None;
    }
    Some(kind)
}

fn component(
    checker: &mut Checker<'_>,
    definitions: Definitions<'_>,
    name: String,
    raw: raw::Component,
) -> Option<Component> {
    let Definitions { names, conditions } = definitions;
    let path = ["components", name.as_str()];
    let depends_on = raw.depends_on.unwrap_or_default();
    for (index, needed) in depends_on.iter().enumerate() {
        let position =
            checker.position_of(&["components", &name, "depends_on", &index.to_string()]);
        names.require_component(checker, position, needed);
    }
    let ports: Vec<_> = raw
        .ports
        .into_iter()
        .flatten()
        .map(|raw::Name(port)| port)
        .collect();
    for (index, port) in ports
        .iter()
        .enumerate()
        .filter(|(index, port)| ports[..*index].contains(port))
    {
        let position = checker.position_of(&["components", &name, "ports", &index.to_string()]);
        checker.report(
            Finding::new(position, format!("port {port:?} is given twice"))
                .with_expected("each port once"),
        );
    }
    let replicas = match raw.replicas {
        Some(raw::Replicas(text)) => names.replicas(checker, &[path[0], path[1], "replicas"], text),
        None => checker.value_or_default(None, &[path[0], path[1], "replicas"], "1".to_owned()),
    };
    let tls = port_tls(checker, names, &name, &ports, raw.tls);
    let files = components::files(checker, names, &name, raw.files);
    let secrets = components::written_secrets(checker, &name, raw.secrets);
    let process = raw
        .process
        .and_then(|raw| process(checker, definitions, &name, raw));
    let limits = limit_texts(checker, &raw.limits, conditions.to_declared());
    let setup = raw
        .setup
        .into_iter()
        .flatten()
        .filter_map(|raw| components::setup_step(checker, definitions, &name, &raw))
        .collect();
    let ready = raw.ready.content();
    let ready = ready.and_then(|given| ready_check(checker, names, &name, given));
    let stop_path = [path[0], path[1], "stop_timeout"];
    let bounds = Bounds(Duration::ZERO, TIMEOUT_BOUNDS.1);
    let stop_timeout = checker.duration(raw.stop_timeout, &stop_path, STOP_TIMEOUT, bounds);
    Some(Component {
        replicas: replicas?,
        depends_on,
        ports,
        tls,
        process: process?,
        limits,
        ready: ready?,
        stop_timeout: stop_timeout?,
        when: names.when_of(&name),
        external: None,
        files,
        secrets,
        setup,
        name,
    })
}

/// The variables that all components have.
fn shared_environment(
    checker: &mut Checker<'_>,
    names: &Names,
    raw: Option<IndexMap<String, String>>,
) -> Vec<(String, String)> {
    let variables: Vec<_> = raw.into_iter().flatten().collect();
    for (name, text) in &variables {
        let position = checker.position_of(&["environment", name]);
        names.check_text(checker, position, &Names::of_all(), text);
    }
    variables
}

/// Adds the shared variables to a component; its own variable of the same name wins.
fn with_environment(mut component: Component, shared: &[(String, String)]) -> Component {
    let environment = &mut component.process.environment;
    let more: Vec<_> = shared
        .iter()
        .filter(|(name, _)| environment.iter().all(|(known, _)| known != name))
        .cloned()
        .collect();
    environment.extend(more);
    component
}

fn process(
    checker: &mut Checker<'_>,
    definitions: Definitions<'_>,
    component: &str,
    raw: raw::Process,
) -> Option<ProcessDriver> {
    let names = definitions.names;
    let path = |key: &'static str| ["components", component, "process", key];
    let command = raw.command?;
    let scope = names.of_component(component, Secrets::Refused);
    for (index, text) in command.iter().enumerate() {
        let position = checker.position_of(&[&path("command")[..], &[&index.to_string()]].concat());
        names.check_text(checker, position, &scope, text);
    }
    let arguments = components::arguments(checker, definitions, component, raw.arguments);
    let environment: Vec<_> = raw.environment.into_iter().flatten().collect();
    let scope = names.of_component(component, Secrets::Allowed);
    for (name, text) in &environment {
        let position = checker.position_of(&[&path("environment")[..], &[name]].concat());
        names.check_text(checker, position, &scope, text);
    }
    let environment_from = inherited_variables(checker, &raw.environment_from, &environment);
    Some(ProcessDriver {
        command,
        arguments,
        environment,
        environment_from,
        version_arguments: raw.version_arguments.unwrap_or_default(),
    })
}

fn ready_check(
    checker: &mut Checker<'_>,
    names: &Names,
    component: &str,
    At { place, value: keys }: &At<raw::ReadyCheck>,
) -> Option<ReadyCheck> {
    match (keys.http.value(), keys.tcp.value()) {
        (Some(http), None) => {
            let path = http.path.content()?;
            let target = checker.target_of(path, &path.value);
            Some(ReadyCheck::Http {
                port: names.port(checker, component, http.port.content()?)?,
                path: target?,
            })
        }
        (None, Some(tcp)) => {
            let port = names.port(checker, component, tcp.port.content()?)?;
            Some(ReadyCheck::Tcp { port })
        }
        _ if keys.http.is_invalid() || keys.tcp.is_invalid() => None,
        _ => {
            let mistake = place.key_mistake("is not one check");
            checker.report(mistake.with_expected("exactly one of http, tcp"));
            None
        }
    }
}

/// Components sorted so that each comes after those it depends on; among those that could come next, as in the file.
fn sort_by_dependencies(checker: &mut Checker<'_>, mut waiting: Vec<Component>) -> Vec<Component> {
    let mut ordered: Vec<Component> = Vec::new();
    loop {
        let is_waited_for = |name: &String| waiting.iter().any(|component| component.name == *name);
        let next = waiting
            .iter()
            .position(|component| !component.depends_on.iter().any(is_waited_for));
        match next {
            Some(index) => ordered.push(waiting.remove(index)),
            None => break,
        }
    }
    if let [first, ..] = &waiting[..] {
        let names = list(waiting.iter().map(|component| component.name.as_str()));
        let what = format!("components depend on each other in a circle: {names}");
        let position = checker.key(&["components", &first.name, "depends_on"]);
        checker.report(Finding::new(position, what).with_expected("depends_on without a circle"));
    }
    ordered
}

/// Whether a parameter can be a number of replicas.
pub(super) fn counts_replicas(parameter: &Parameter) -> bool {
    matches!(parameter.kind, ParameterKind::Integer { min, max } if min >= 1 && max <= MAX_REPLICAS)
}

//! A system file: parameters, components in the order of starting, endpoints, probes, functional check.

use std::time::Duration;

use indexmap::IndexMap;

use super::{
    Checker,
    components::{self, Conditions, Definitions},
    manifests,
    port_tls::{port_tls, refuse_kafka},
    probe::{system_metric, system_probe},
    set::refusal,
    system_text::{Names, Secrets},
    verify,
};
use crate::{
    Certificate, Component, Endpoint, Parameter, ParameterKind, ProcessDriver, ReadyCheck, System,
    at::{At, Bounds, Key},
    mistake::Finding,
    nearest::list,
    parts::{
        inherited_variables::inherited_variables, limits::limit_texts, texts::require_key,
        tls::certificates::certificates,
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

pub(crate) fn system(checker: &mut Checker<'_>, given: &At<raw::System>) -> Option<System> {
    let keys = &given.value;
    let raw_parameters = || keys.parameters.value().into_iter().flatten();
    let parameter_names: Vec<_> = raw_parameters().map(|(name, _)| name.clone()).collect();
    let parameters: Vec<_> = raw_parameters()
        .filter_map(|(name, given)| parameter(checker, name, given))
        .collect();
    let artifacts = components::artifacts(checker, &keys.artifacts);
    let manifests = manifests::manifests(checker, given, &parameter_names);
    if keys.components.entries().next().is_none() {
        report_no_component(checker, given);
    }
    let conditions = Conditions {
        names: &parameter_names,
        known: &parameters,
    };
    let when = conditions.of_components(checker, keys);
    let certificates = certificates(checker, keys.certificates.value());
    let mut names = Names::new(keys, &parameter_names, &parameters, when);
    names.certificates = certificate_names(&certificates);
    let definitions = Definitions {
        names: &names,
        conditions: &conditions,
    };
    let shared = shared_environment(checker, &names, &keys.environment);
    let components: Vec<_> = (keys.components.entries())
        .filter_map(|(name, given)| process_or_workload(checker, definitions, name, given))
        .map(|component| with_environment(component, &shared))
        .collect();
    components::refuse_secrets_given_twice(checker, &names, &components);
    let components = sort_by_dependencies(checker, &names, components);
    let endpoints: Vec<_> = (keys.endpoints.entries())
        .filter_map(|(name, given)| endpoint(checker, definitions, name, &given.value))
        .collect();
    let probes = keys.probes.value().into_iter().flatten();
    let probes: Vec<_> = probes
        .filter_map(|(name, given)| system_probe(checker, definitions, name, given))
        .collect();
    let metrics = keys.metrics.value().into_iter().flatten();
    let metrics: Vec<_> = metrics
        .filter_map(|(name, given)| system_metric(checker, definitions, name, given))
        .collect();
    refuse_kafka(checker, keys, &components);
    let context = verify::Context {
        endpoints: &endpoints,
        names: &names,
        conditions: &conditions,
    };
    let verify = verify::steps(checker, context, &keys.verify);
    if let Some(given) = keys.kubeconfig.content() {
        verify::require_endpoint(checker, &endpoints, given);
    }
    Some(System {
        name: keys.system.clone()?.0,
        summary: keys.summary.clone()?,
        parameters,
        artifacts,
        certificates,
        components,
        endpoints,
        manifests: manifests?,
        kubeconfig: keys.kubeconfig.value().cloned(),
        probes,
        metrics,
        verify,
        external: None,
    })
}

fn process_or_workload(
    checker: &mut Checker<'_>,
    definitions: Definitions<'_>,
    name: &str,
    given: &At<raw::Component>,
) -> Option<Component> {
    if !definitions.names.are_of_manifests() {
        return component(checker, definitions, name, given);
    }
    let ports = ports(checker, &given.value.ports);
    manifests::workload_component(checker, definitions.names, name, given, ports)
}

fn certificate_names(certificates: &[Certificate]) -> Vec<String> {
    let names = certificates.iter().map(|certificate| &certificate.name);
    names.cloned().collect()
}

fn report_no_component(checker: &mut Checker<'_>, At { place, value: keys }: &At<raw::System>) {
    if !keys.components.is_invalid() {
        let place = keys.components.place().unwrap_or(place);
        let finding = Finding::new(place.key, "a system has at least one component");
        checker.report(finding.with_expected("components: a mapping"));
    }
}

fn endpoint(
    checker: &mut Checker<'_>,
    Definitions { names, conditions }: Definitions<'_>,
    name: &str,
    keys: &raw::Endpoint,
) -> Option<Endpoint> {
    let when = conditions.read(checker, &keys.when);
    let (component, port) = names.port_of(checker, &keys.component, &keys.port)?;
    Some(Endpoint {
        name: name.to_owned(),
        when,
        component,
        port,
    })
}

/// Names that mean something else in `${…}`.
const RESERVED_NAMES: [&str; 15] = [
    "dir",
    "replica",
    "system_dir",
    "listen",
    "host",
    "port",
    "program",
    "ca",
    "certificate",
    "secret",
    "offset",
    "limit",
    "from",
    "to",
    "run",
];

fn parameter(
    checker: &mut Checker<'_>,
    name: &str,
    given: &At<raw::Parameter>,
) -> Option<Parameter> {
    let At { place, value: keys } = given;
    if RESERVED_NAMES.contains(&name) {
        let what =
            format!("a parameter cannot be named {name:?}: ${{{name}}} has a meaning of its own");
        checker.report(Finding::new(place.key, what).with_expected("another name"));
    }
    let kind = kind(checker, name, given)?;
    let default = keys.default.content();
    let parameter = Parameter {
        name: name.to_owned(),
        summary: keys.summary.clone()?,
        kind,
        is_optional: keys.optional.unwrap_or(false),
        default: default?.value.clone(),
    };
    if let Some((expected, near)) = refusal(&parameter, &parameter.default) {
        let what = format!("the default of parameter {name} is {}", parameter.default);
        let finding = Finding::new(default?.place.value, what).with_expected(expected);
        checker.report(finding.with_suggestion(near));
    }
    Some(parameter)
}

/// The one kind that is given.
fn kind(
    checker: &mut Checker<'_>,
    name: &str,
    At { place, value: keys }: &At<raw::Parameter>,
) -> Option<ParameterKind> {
    let integer = keys.integer.value().map(|bounds| {
        Some(ParameterKind::Integer {
            min: bounds.min?,
            max: bounds.max?,
        })
    });
    let number = keys.number.value().map(|bounds| {
        Some(ParameterKind::Number {
            min: bounds.min?,
            max: bounds.max?,
        })
    });
    let duration = keys.duration.value().map(|bounds| {
        Some(ParameterKind::Duration {
            min: bounds.min?.0,
            max: bounds.max?.0,
        })
    });
    let size = keys.size.value().map(|bounds| {
        Some(ParameterKind::Size {
            min: bounds.min?.0,
            max: bounds.max?.0,
        })
    });
    let boolean = keys.boolean.value().map(|_| Some(ParameterKind::Boolean));
    let text = keys.text.value().map(|_| Some(ParameterKind::Text));
    let one_of = keys.one_of.value();
    let one_of = one_of.map(|words| Some(ParameterKind::OneOf(words.clone())));
    let mut given: Vec<_> = [integer, number, duration, size, boolean, text, one_of]
        .into_iter()
        .flatten()
        .collect();
    if given.len() != 1 {
        let is_invalid = keys.integer.is_invalid()
            || keys.number.is_invalid()
            || keys.duration.is_invalid()
            || keys.size.is_invalid()
            || keys.boolean.is_invalid()
            || keys.text.is_invalid()
            || keys.one_of.is_invalid();
        if !is_invalid {
            let what = format!("parameter {name} has {} kinds", given.len());
            let expected = format!("exactly one of {}", KINDS.join(", "));
            checker.report(Finding::new(place.key, what).with_expected(expected));
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
        let what = format!("parameter {name}: min is greater than max");
        checker.report(Finding::new(place.key, what).with_expected("min below max"));
        return None;
    }
    Some(kind)
}

fn component(
    checker: &mut Checker<'_>,
    definitions: Definitions<'_>,
    name: &str,
    At { place, value: keys }: &At<raw::Component>,
) -> Option<Component> {
    let Definitions { names, conditions } = definitions;
    manifests::refuse_workload(checker, keys);
    let depends_on = keys.depends_on.value().into_iter().flatten();
    for At {
        place,
        value: needed,
    } in depends_on.clone()
    {
        names.require_component(checker, place.value, needed);
    }
    let ports = ports(checker, &keys.ports);
    let replicas = match &keys.replicas {
        Key::Missing => Some("1".to_owned()),
        Key::Invalid => None,
        Key::Given(given) => names.replicas(checker, given),
    };
    let tls = port_tls(checker, names, name, keys);
    let files = components::files(checker, names, name, &keys.files);
    let secrets = components::written_secrets(checker, &keys.secrets);
    let process = require_key(checker, place, &keys.process, "process", "a mapping");
    let process = process.map(|given| &given.value);
    let process = process.and_then(|keys| process_driver(checker, definitions, name, keys));
    let limits = limit_texts(checker, &keys.limits, conditions.to_declared());
    let setup = keys.setup.value().into_iter().flatten();
    let setup = setup
        .filter_map(|step| components::setup_step(checker, definitions, name, &step.value))
        .collect();
    let ready = require_key(checker, place, &keys.ready, "ready", "a mapping");
    let ready = ready.and_then(|given| ready_check(checker, names, name, given));
    let bounds = Bounds(Duration::ZERO, TIMEOUT_BOUNDS.1);
    let stop_timeout = &keys.stop_timeout;
    let stop_timeout = stop_timeout.check_bounds(STOP_TIMEOUT, bounds, &mut checker.findings);
    Some(Component {
        replicas: replicas?,
        depends_on: depends_on.map(|needed| needed.value.clone()).collect(),
        ports,
        tls,
        process: process?,
        workload: None,
        limits,
        ready: ready?,
        stop_timeout: stop_timeout?,
        when: names.when_of(name),
        external: None,
        files,
        secrets,
        setup,
        name: name.to_owned(),
    })
}

/// The names of a component's ports; one that is there twice is reported.
fn ports(checker: &mut Checker<'_>, given: &Key<Vec<At<raw::Name>>>) -> Vec<String> {
    let mut ports: Vec<String> = Vec::new();
    for At { place, value } in given.value().into_iter().flatten() {
        let raw::Name(port) = value;
        if ports.contains(port) {
            let finding = Finding::new(place.value, format!("port {port:?} is given twice"));
            checker.report(finding.with_expected("each port once"));
        }
        ports.push(port.clone());
    }
    ports
}

/// The variables that all components have.
fn shared_environment(
    checker: &mut Checker<'_>,
    names: &Names<'_>,
    given: &Key<IndexMap<String, At<String>>>,
) -> Vec<(String, String)> {
    names.check_named_texts(checker, &Names::of_all(), given)
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

fn process_driver(
    checker: &mut Checker<'_>,
    definitions: Definitions<'_>,
    component: &str,
    keys: &raw::Process,
) -> Option<ProcessDriver> {
    let names = definitions.names;
    let command = keys.command.value()?;
    let scope = names.of_component(component, Secrets::Refused);
    for text in command {
        names.check_text(checker, &scope, text);
    }
    let arguments = components::arguments(checker, definitions, component, &keys.arguments);
    let scope = names.of_component(component, Secrets::Allowed);
    let environment = names.check_named_texts(checker, &scope, &keys.environment);
    let environment_from = inherited_variables(checker, &keys.environment_from, &environment);
    Some(ProcessDriver {
        command: command.iter().map(|text| text.value.clone()).collect(),
        arguments,
        environment,
        environment_from,
        version_arguments: keys.version_arguments.clone().unwrap_or_default(),
    })
}

fn ready_check(
    checker: &mut Checker<'_>,
    names: &Names<'_>,
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
fn sort_by_dependencies(
    checker: &mut Checker<'_>,
    all_names: &Names<'_>,
    mut waiting: Vec<Component>,
) -> Vec<Component> {
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
        let keys = all_names.component(&first.name);
        if let Some(place) = keys.and_then(|keys| keys.value.depends_on.place()) {
            let finding = Finding::new(place.key, what);
            checker.report(finding.with_expected("depends_on without a circle"));
        }
    }
    ordered
}

/// Whether a parameter can be a number of replicas.
pub(super) fn counts_replicas(parameter: &Parameter) -> bool {
    matches!(parameter.kind, ParameterKind::Integer { min, max } if min >= 1 && max <= MAX_REPLICAS)
}

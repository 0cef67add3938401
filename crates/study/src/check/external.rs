//! Components that the user runs: their addresses and their secrets.

use std::collections::{BTreeMap, BTreeSet};

use super::{Checker, kubeconfig, system::MAX_REPLICAS};
use crate::{
    Address, Component, ExternalComponent, ExternalPort, ExternalTls, GivenSecret, Kubeconfig,
    Level, System,
    at::{At, Place},
    external::address,
    fill::uses,
    mistake::{Finding, Position},
    nearest::{list, nearest_word},
    origin::Origin,
    raw,
    tree::quote,
};

/// The components of a study that already run, and their secrets.
#[derive(Debug, Default)]
pub(crate) struct ExternalParts {
    pub external: Vec<ExternalComponent>,
    pub kubeconfig: Option<Kubeconfig>,
    pub secrets: Vec<GivenSecret>,
}

/// `cells` are the parameters of each cell; `None` if one of the cells has a mistake.
pub(crate) fn external_parts(
    checker: &mut Checker<'_>,
    of_system: &At<raw::UseSystem>,
    system: &System,
    cells: Option<Vec<&BTreeMap<String, Level>>>,
) -> ExternalParts {
    let raw = &of_system.value;
    let given_tls = raw.tls.content();
    let tls = given_tls.map(|given| given.check(checker));
    let tls = tls.unwrap_or_default();
    let kubeconfig = raw.kubeconfig.content();
    let kubeconfig = kubeconfig.and_then(|given| kubeconfig::kubeconfig(checker, given, system));
    let given = raw.external.entries();
    let mut external: Vec<ExternalComponent> = given
        .filter_map(|(name, ports)| component(checker, system, name, ports, &tls))
        .collect();
    let mut ports = external.iter().flat_map(|component| &component.ports);
    if let Some(given) = given_tls
        && ports.all(|port| port.tls.is_none())
    {
        refuse_tls(checker, &given.place, system);
    }
    if let Some(given) = &kubeconfig {
        external.push(kubeconfig::component(checker, given, &raw.external));
    }
    let secrets = raw.secrets.entries();
    let secrets = secrets
        .filter_map(|(name, text)| secret(checker, system, name, text))
        .collect();
    let parts = ExternalParts {
        external,
        kubeconfig,
        secrets,
    };
    refuse_unknown_secrets(checker, system);
    if let (true, Some(cells)) = (checker.findings.is_empty(), cells) {
        parts.check_cells(checker, of_system, system, &cells);
    }
    parts
}

fn component(
    checker: &mut Checker<'_>,
    system: &System,
    name: &str,
    At {
        place,
        value: ports,
    }: &At<raw::ExternalPorts>,
    tls: &ExternalTls,
) -> Option<ExternalComponent> {
    let names = || system.components.iter().map(|known| known.name.as_str());
    let Some(known) = system.components.iter().find(|known| known.name == name) else {
        let what = format!("system {} has no component {name:?}", system.name);
        let finding = Finding::new(place.key, what).with_expected(list(names()));
        checker.report(finding.with_suggestion(nearest_word(name, names())));
        return None;
    };
    let mut entries = Vec::new();
    for (port, given) in ports.iter() {
        if !known.ports.contains(port) {
            let names = || known.ports.iter().map(String::as_str);
            let what = format!("component {name} has no port {port:?}");
            let finding = Finding::new(given.place.key, what).with_expected(list(names()));
            checker.report(finding.with_suggestion(nearest_word(port, names())));
            continue;
        }
        let Some(targets) = addresses(checker, given) else {
            continue;
        };
        let tls = known.is_encrypted(port).then(|| tls.clone());
        if tls.as_ref().is_some_and(|tls| tls.server_name.is_none()) {
            require_single_host(checker, &targets, &given.place);
        }
        entries.push(ExternalPort {
            name: port.clone(),
            at: targets,
            tls,
            authorization: None,
        });
    }
    if let Some(first) = entries.first()
        && let Some(other) = (entries.iter()).find(|other| other.at.len() != first.at.len())
    {
        let what = format!(
            "{} has {} and {} {} of component {name}",
            first.name,
            addresses_text(first.at.len()),
            other.name,
            addresses_text(other.at.len())
        );
        checker.report(Finding::new(place.key, what).with_expected("one for each replica"));
    }
    Some(ExternalComponent {
        name: name.to_owned(),
        has_identity: false,
        ports: entries,
    })
}

/// Reports hosts of several names at a port with TLS: all of its replicas are expected to have certificates for one name.
fn require_single_host(checker: &mut Checker<'_>, addresses: &[Address], place: &Place) {
    let hosts: BTreeSet<&str> = addresses
        .iter()
        .map(|address| address.host.as_str())
        .collect();
    if hosts.len() > 1 {
        let what = "speaks TLS, and its addresses have";
        let mistake = place.mistake(format!("{what} {} different hosts", hosts.len()));
        checker.report(mistake.with_expected(
            "system.tls.server_name: the name that the certificates of all of them have",
        ));
    }
}

/// Reports `system.tls` without a port for it.
fn refuse_tls(checker: &mut Checker<'_>, place: &Place, system: &System) {
    let ports = system.components.iter().flat_map(|component| {
        let tls = component.tls.iter();
        tls.map(|tls| format!("{}: {{ {}: HOST:PORT }}", component.name, tls.port))
    });
    let ports: Vec<String> = ports.collect();
    let why = "belongs to system.url, or to components that run already and speak TLS";
    let expected = match ports.is_empty() {
        true => "url: https://HOST".to_owned(),
        false => format!("external: {}", ports.join(" or ")),
    };
    checker.report(place.key_mistake(why).with_expected(expected));
}

fn addresses_text(addresses: usize) -> String {
    match addresses {
        1 => "1 address".to_owned(),
        count => format!("{count} addresses"),
    }
}

fn addresses(
    checker: &mut Checker<'_>,
    given: &At<raw::OneOrSeveral<At<String>>>,
) -> Option<Vec<Address>> {
    let place = &given.place;
    let texts = given.entries();
    if texts.len() > usize::try_from(MAX_REPLICAS).unwrap_or(usize::MAX) {
        let mistake = place.mistake(format!("has {}", addresses_text(texts.len())));
        checker.report(mistake.with_expected(format!("at most {MAX_REPLICAS}")));
        return None;
    }
    let mut addresses: Vec<Address> = Vec::new();
    for (position, text) in &texts {
        let why = match address(text, None) {
            Ok(address) if !addresses.contains(&address) => {
                addresses.push(address);
                continue;
            }
            Ok(_) => "it is there twice",
            Err(why) => why,
        };
        let mistake = place.mistake_in(*position, format!("is {}: {why}", quote(text)));
        checker.report(mistake.with_expected("HOST:PORT, e.g. 127.0.0.1:9092"));
    }
    (addresses.len() == texts.len()).then_some(addresses)
}

fn secrets_of(system: &System) -> BTreeSet<&str> {
    let components = || system.components.iter();
    let of_components = components().flat_map(Component::secrets);
    let given = components().flat_map(Component::given_secrets);
    let all = of_components.chain(given);
    all.chain(system.secrets_from_outside()).collect()
}

/// Reports each secret in a header of the load that the system does not have.
pub(crate) fn refuse_unknown_secrets(checker: &mut Checker<'_>, system: &System) {
    let known = secrets_of(system);
    for used in uses(checker.root()) {
        let Some(Origin::Secret(name)) = used.name.as_deref().and_then(Origin::parse) else {
            continue;
        };
        if !known.contains(name.as_str()) {
            let what = format!("system {} has no secret {name:?}", system.name);
            let expected = match known.is_empty() {
                true => "a system with ${secret.NAME}".to_owned(),
                false => list(known.iter().copied()),
            };
            let finding = Finding::new(used.position, what).with_expected(expected);
            checker.report(finding.with_suggestion(nearest_word(&name, known.iter().copied())));
        }
    }
}

fn secret(
    checker: &mut Checker<'_>,
    system: &System,
    name: &str,
    At { place, value }: &At<String>,
) -> Option<GivenSecret> {
    let known = secrets_of(system);
    if !known.contains(name) {
        let what = format!("system {} has no secret {name:?}", system.name);
        let expected = match known.is_empty() {
            true => "a system with ${secret.NAME}".to_owned(),
            false => list(known.iter().copied()),
        };
        let finding = Finding::new(place.key, what).with_expected(expected);
        checker.report(finding.with_suggestion(nearest_word(name, known.iter().copied())));
    }
    let from_outside = Origin::parse_single(value);
    let Some(origin) = from_outside.filter(Origin::is_outside_system) else {
        // The value is not shown: it may be the secret itself.
        let mistake = place.mistake("is neither an environment variable nor a file");
        checker.report(mistake.with_expected("${env.NAME} or ${file:PATH}, and nothing else"));
        return None;
    };
    Some(GivenSecret {
        name: name.to_owned(),
        origin,
        at: (place.value.line, place.value.column),
        value: None,
    })
}

impl ExternalParts {
    /// Checks the components against the parts of the system that exist in the cells.
    fn check_cells(
        &self,
        checker: &mut Checker<'_>,
        of_system: &At<raw::UseSystem>,
        system: &System,
        cells: &[&BTreeMap<String, Level>],
    ) {
        if self.external.is_empty() {
            return;
        }
        let mut exist = BTreeSet::new();
        for parameters in cells {
            let before = system.configure(parameters);
            let system = before.clone().with_external(&self.external);
            for given in &self.external {
                let is_it = |component: &&Component| component.name == given.name;
                if let Some(component) = before.components.iter().find(is_it) {
                    exist.insert(given.name.clone());
                    require_every_port(checker, of_system, &system, given);
                    require_local_host(checker, of_system, &system, given);
                    self.require_secrets_of(checker, of_system, &system, component);
                }
            }
        }
        for given in &self.external {
            if !exist.contains(&given.name) {
                let known = system.components.iter();
                let when = known
                    .filter(|component| component.name == given.name)
                    .map(|component| component.when.to_string())
                    .collect::<String>();
                let what = format!("component {} exists in no cell of the study", given.name);
                let position = component_key(of_system, &given.name);
                checker.report(
                    Finding::new(position, what).with_expected(format!("a cell in which {when}")),
                );
            }
        }
    }

    /// Reports each secret of an external component that another part of the system uses and the study does not give.
    fn require_secrets_of(
        &self,
        checker: &mut Checker<'_>,
        of_system: &At<raw::UseSystem>,
        system: &System,
        component: &Component,
    ) {
        // Of what runs already, only the setup that is undone is left.
        let components = system.components.iter();
        let used: BTreeSet<&str> = components
            .flat_map(Component::secrets)
            .chain(system.secrets_from_outside())
            .collect();
        for name in component.secrets().intersection(&used) {
            let is_given = self.secrets.iter().any(|given| given.name == *name);
            if !is_given && !of_system.value.secrets.has_invalid(name) {
                let what = format!(
                    "component {} runs already, and its secret {name} is not given",
                    component.name
                );
                let position = component_key(of_system, &component.name);
                let expected = format!("system.secrets: {{ {name}: ${{env.NAME}} }}");
                checker.report(Finding::new(position, what).with_expected(expected));
            }
        }
    }
}

/// What the study says of a component that runs already.
fn component_ports<'a>(
    of_system: &'a At<raw::UseSystem>,
    name: &str,
) -> Option<&'a At<raw::ExternalPorts>> {
    of_system.value.external.value()?.get(name)
}

/// The position of the name of a component that runs already, or of the key under which it would be.
fn component_key(of_system: &At<raw::UseSystem>, name: &str) -> Position {
    let external = of_system.value.external.place();
    let named = component_ports(of_system, name).map(|ports| &ports.place);
    named.or(external).unwrap_or(&of_system.place).key
}

/// Reports each port without an address that another part of the system uses.
fn require_every_port(
    checker: &mut Checker<'_>,
    of_system: &At<raw::UseSystem>,
    system: &System,
    given: &ExternalComponent,
) {
    let name = &given.name;
    let keys = component_ports(of_system, name);
    for (port, by) in ports_in_use(system, name) {
        let is_given = given.ports.iter().any(|known| known.name == port);
        let is_invalid = keys.is_some_and(|keys| keys.value.is_invalid(&port));
        if !is_given && !is_invalid {
            let what =
                format!("system.external.{name} lacks the port {port}, which is used by {by}");
            let finding = Finding::new(component_key(of_system, name), what);
            checker.report(finding.with_expected(format!("{port}: HOST:PORT")));
        }
    }
}

/// The ports of a component that are used, with the first that uses each.
fn ports_in_use(system: &System, component: &str) -> BTreeMap<String, String> {
    let mut ports = BTreeMap::new();
    let mut add = |port: &str, by: String| {
        ports.entry(port.to_owned()).or_insert(by);
    };
    for known in &system.components {
        if known.name == component {
            add(known.ready.port(), "its check of readiness".to_owned());
            for step in &known.setup {
                add(&step.port, "its setup".to_owned());
            }
        }
        for name in known.names() {
            if let Some((_, port)) = port_named(name).filter(|(owner, _)| *owner == component) {
                add(port, format!("component {}", known.name));
            }
        }
    }
    let endpoints = system.endpoints.iter();
    let endpoints = endpoints.map(|known| ("endpoint", &known.name, &known.component, &known.port));
    let probes = system.probes.iter();
    let probes = probes.map(|known| ("probe", &known.name, &known.component, &known.port));
    let metrics = system.metrics.iter();
    let metrics = metrics.map(|known| ("metric", &known.name, &known.component, &known.port));
    for (kind, name, owner, port) in endpoints.chain(probes).chain(metrics) {
        if owner == component {
            add(port, format!("{kind} {name}"));
        }
    }
    ports
}

/// Component and port of `COMPONENT.port.NAME` and its like.
fn port_named(name: &str) -> Option<(&str, &str)> {
    [".port.", ".address.", ".addresses."]
        .iter()
        .find_map(|word| name.split_once(word))
}

/// Reports a component on another machine if one of its ports is named where its host is not.
fn require_local_host(
    checker: &mut Checker<'_>,
    of_system: &At<raw::UseSystem>,
    system: &System,
    given: &ExternalComponent,
) {
    let host = format!("{}.host", given.name);
    let without_host = |component: &&Component| component.names().all(|name| name != host);
    for component in system.components.iter().filter(without_host) {
        let named = component
            .names()
            .filter_map(|name| name.split_once(".port."));
        for (_, port) in named.filter(|(owner, _)| *owner == given.name) {
            let known = given.ports.iter().find(|known| known.name == port);
            let Some(address) = known.and_then(|known| known.at.first()) else {
                continue;
            };
            if address.host == "127.0.0.1" || address.host.eq_ignore_ascii_case("localhost") {
                continue;
            }
            let owner = &given.name;
            let what = format!(
                "component {} names ${{{owner}.port.{port}}} without a host, and {owner} is at {address}",
                component.name
            );
            let keys = component_ports(of_system, owner);
            let place = keys.and_then(|keys| Some(&keys.value.get(port)?.place));
            let position =
                place.map_or_else(|| component_key(of_system, owner), |place| place.value);
            let expected = format!(
                "127.0.0.1:PORT, or ${{{owner}.address.{port}}} or ${{{host}}} in the system's file"
            );
            checker.report(Finding::new(position, what).with_expected(expected));
        }
    }
}

//! The TLS of ports of a system file.

use super::{
    Checker,
    system_text::{Names, Secrets},
};
use crate::{
    Component, PortTls, Trust,
    at::At,
    mistake::Finding,
    nearest::{list, nearest_word},
    parts::tls::certificates::is_host,
    raw,
    tree::quote,
};

/// The ports of a component that speak TLS.
pub(super) fn port_tls(
    checker: &mut Checker<'_>,
    names: &Names<'_>,
    component: &str,
    keys: &raw::Component,
) -> Vec<PortTls> {
    let ports = keys.ports.value().into_iter().flatten();
    let ports: Vec<&str> = ports.map(|port| port.value.0.as_str()).collect();
    let mut all = Vec::new();
    for (port, given) in keys.tls.value().into_iter().flatten() {
        let At { place, value: keys } = given;
        if !ports.contains(&port.as_str()) && names.knows_ports(component) {
            let what = format!("component {component} has no port {port:?}");
            let expected = match ports.is_empty() {
                true => "a component with ports".to_owned(),
                false => list(ports.iter().copied()),
            };
            let finding = Finding::new(place.key, what).with_expected(expected);
            checker.report(finding.with_suggestion(nearest_word(port, ports.iter().copied())));
        }
        let trust = trust(checker, names, component, given);
        if let Some(client) = keys.client.content() {
            require_certificate(checker, names, client);
        }
        if let Some(At { place, value }) = keys.server_name.content()
            && !is_host(value)
        {
            let mistake = place.mistake(format!("is {}", quote(value)));
            checker.report(mistake.with_expected("a DNS name or an address"));
        }
        all.push(PortTls {
            port: port.clone(),
            trust,
            client: keys.client.value().cloned(),
            server_name: keys.server_name.value().cloned(),
        });
    }
    all
}

fn trust(
    checker: &mut Checker<'_>,
    names: &Names<'_>,
    component: &str,
    At { place, value: keys }: &At<raw::PortTls>,
) -> Trust {
    match (keys.ca.content(), keys.insecure_skip_verify == Some(true)) {
        (Some(ca), true) => {
            let what = format!(
                "names whom to trust, and {}.insecure_skip_verify trusts anybody",
                place.path
            );
            checker.report(ca.place.key_mistake(what).with_expected("one of the two"));
            Trust::Unchecked
        }
        (None, true) => Trust::Unchecked,
        (Some(file), false) => {
            let scope = names.of_component(component, Secrets::Refused);
            names.check_text(checker, &scope, file);
            Trust::File(file.value.clone())
        }
        (None, false) => {
            if names.lacks_certificates() {
                let why = "trusts the system's own authority, and the system has no certificates";
                let expected = "certificates: { … }, or ca: the file of an authority";
                checker.report(place.key_mistake(why).with_expected(expected));
            }
            Trust::SystemAuthority
        }
    }
}

fn require_certificate(
    checker: &mut Checker<'_>,
    names: &Names<'_>,
    At {
        place,
        value: client,
    }: &At<String>,
) {
    if names.certificates.iter().any(|known| known == client) {
        return;
    }
    let known = || names.certificates.iter().map(String::as_str);
    let what = format!("there is no certificate {client:?}");
    let expected = match names.certificates.is_empty() {
        true => "a system with certificates".to_owned(),
        false => list(known()),
    };
    checker.report(
        Finding::new(place.value, what)
            .with_expected(expected)
            .with_suggestion(nearest_word(client, known())),
    );
}

/// Reports what reads Kafka at a port with TLS: its client is built without.
pub(super) fn refuse_kafka(
    checker: &mut Checker<'_>,
    keys: &raw::System,
    components: &[Component],
) {
    let probes = keys.probes.value().into_iter().flatten();
    let probes = probes.filter(|(_, probe)| probe.value.kafka.is_some());
    let probes = probes.map(|(_, At { place, value })| (place, &value.component, &value.port));
    let metrics = keys.metrics.value().into_iter().flatten();
    let metrics = metrics.filter(|(_, metric)| metric.value.consumer_lag.is_some());
    let metrics = metrics.map(|(_, At { place, value })| (place, &value.component, &value.port));
    for (place, component, port) in probes.chain(metrics) {
        let mut known = components.iter();
        let known = known.find(|known| Some(&known.name) == component.value());
        let tls = known.map_or(&[][..], |known| &known.tls);
        let port = port.content();
        let port = port.filter(|port| tls.iter().any(|tls| tls.port == port.value));
        if let Some(port) = port {
            let what = "reads Kafka at a port with TLS, which waggle cannot";
            let mistake = place.mistake_in(port.place.value, what);
            checker.report(mistake.with_expected("a port without TLS"));
        }
    }
}

//! The TLS of ports of a system file.

use indexmap::IndexMap;

use super::{
    Checker, path_text,
    system_text::{Names, Secrets},
};
use crate::{
    Component, MetricSource, PortTls, Probe, ProbeKind, SystemMetric, Trust,
    mistake::Finding,
    nearest::{list, nearest_word},
    parts::certificates::is_host,
    raw,
    tree::quote,
};

/// The ports of a component that speak TLS.
pub(super) fn port_tls(
    checker: &mut Checker<'_>,
    names: &Names,
    component: &str,
    ports: &[String],
    raw: Option<IndexMap<String, raw::PortTls>>,
) -> Vec<PortTls> {
    let mut all = Vec::new();
    for (port, raw) in raw.into_iter().flatten() {
        let path = ["components", component, "tls", port.as_str()];
        if !ports.contains(&port) && !checker.is_invalid(&["components", component, "ports"]) {
            let what = format!("component {component} has no port {port:?}");
            let known = || ports.iter().map(String::as_str);
            let expected = match ports.is_empty() {
                true => "a component with ports".to_owned(),
                false => list(known()),
            };
            checker.report(
                Finding::new(checker.key(&path), what)
                    .with_expected(expected)
                    .with_suggestion(nearest_word(&port, known())),
            );
        }
        let trust = trust(checker, names, component, &path, &raw);
        if let Some(client) = &raw.client {
            require_certificate(checker, names, &path, client);
        }
        if let Some(name) = raw.server_name.as_deref().filter(|name| !is_host(name)) {
            let position = checker.position_of(&[&path[..], &["server_name"]].concat());
            let what = format!("{}.server_name is {}", path_text(&path), quote(name));
            checker.report(Finding::new(position, what).with_expected("a DNS name or an address"));
        }
        all.push(PortTls {
            port,
            trust,
            client: raw.client,
            server_name: raw.server_name,
        });
    }
    all
}

fn trust(
    checker: &mut Checker<'_>,
    names: &Names,
    component: &str,
    path: &[&str],
    raw: &raw::PortTls,
) -> Trust {
    let ca_path = [path, &["ca"]].concat();
    match (&raw.ca, raw.insecure_skip_verify == Some(true)) {
        (Some(_), true) => {
            let here = path_text(path);
            let what = format!(
                "{here}.ca names whom to trust, and {here}.insecure_skip_verify trusts anybody"
            );
            let position = checker.key(&ca_path);
            checker.report(Finding::new(position, what).with_expected("one of the two"));
            Trust::Unchecked
        }
        (None, true) => Trust::Unchecked,
        (Some(file), false) => {
            let scope = names.of_component(component, Secrets::Refused);
            names.check_text(checker, checker.position_of(&ca_path), &scope, file);
            Trust::File(file.clone())
        }
        (None, false) => {
            if names.certificates.is_empty() && !checker.is_invalid(&["certificates"]) {
                let what = format!(
                    "{} trusts the system's own authority, and the system has no certificates",
                    path_text(path)
                );
                checker.report(
                    Finding::new(checker.key(path), what)
                        .with_expected("certificates: { … }, or ca: the file of an authority"),
                );
            }
            Trust::SystemAuthority
        }
    }
}

fn require_certificate(checker: &mut Checker<'_>, names: &Names, path: &[&str], client: &str) {
    if names.certificates.iter().any(|known| known == client) {
        return;
    }
    let known = || names.certificates.iter().map(String::as_str);
    let what = format!("there is no certificate {client:?}");
    let expected = match names.certificates.is_empty() {
        true => "a system with certificates".to_owned(),
        false => list(known()),
    };
    let position = checker.position_of(&[path, &["client"]].concat());
    checker.report(
        Finding::new(position, what)
            .with_expected(expected)
            .with_suggestion(nearest_word(client, known())),
    );
}

/// Reports what reads Kafka at a port with TLS: its client is built without.
pub(super) fn refuse_kafka(
    checker: &mut Checker<'_>,
    components: &[Component],
    probes: &[Probe],
    metrics: &[SystemMetric],
) {
    let has_tls = |component: &str, port: &str| {
        let mut known = components.iter().filter(|known| known.name == component);
        known.any(|known| known.tls.iter().any(|tls| tls.port == port))
    };
    let probes = probes
        .iter()
        .filter(|probe| matches!(probe.kind, ProbeKind::Kafka { .. }))
        .map(|probe| ("probes", &probe.name, &probe.component, &probe.port));
    let metrics = metrics
        .iter()
        .filter(|metric| matches!(metric.source, MetricSource::ConsumerLag { .. }))
        .map(|metric| ("metrics", &metric.name, &metric.component, &metric.port));
    for (kind, name, component, port) in probes.chain(metrics) {
        if has_tls(component, port) {
            let what = format!("{kind}.{name} reads Kafka at a port with TLS, which waggle cannot");
            let position = checker.position_of(&[kind, name, "port"]);
            checker.report(Finding::new(position, what).with_expected("a port without TLS"));
        }
    }
}

//! `system.kubeconfig`: a component that runs already, where a kubeconfig says, as whom it says.

use super::Checker;
use crate::{
    ExternalComponent, ExternalPort, Kubeconfig, Origin, System,
    at::{At, Entries, Key},
    mistake::Finding,
    raw,
    tree::quote,
};

pub(super) fn kubeconfig(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<raw::Kubeconfig>,
    system: &System,
) -> Option<Kubeconfig> {
    let At {
        place: file_place,
        value: file,
    } = keys.file.content()?;
    let position = file_place.value;
    let is_variable = matches!(Origin::parse_single(file), Some(Origin::Variable(_)));
    if file.is_empty() || (file.contains("${") && !is_variable) {
        let mistake = file_place.mistake(format!("is {}", quote(file)));
        let expected = "a path, or ${env.NAME} and nothing else";
        checker.report(mistake.with_expected(expected));
    }
    let Some(endpoint) = system.kubeconfig_endpoint() else {
        let what = format!("system {} has no API of a kubeconfig", system.name);
        let expected = "kubeconfig: ENDPOINT in the system's file, or external with addresses";
        checker.report(Finding::new(place.key, what).with_expected(expected));
        return None;
    };
    let of_component = |name: &String| *name == endpoint.component;
    let endpoints = system.endpoints.iter();
    let endpoints = endpoints.filter(|known| of_component(&known.component));
    Some(Kubeconfig {
        file: file.clone(),
        context: keys.context.value().cloned(),
        component: endpoint.component.clone(),
        port: endpoint.port.clone(),
        endpoints: endpoints.map(|known| known.name.clone()).collect(),
        at: (position.line, position.column),
    })
}

/// The component that is there; its address is known when the file was read.
pub(super) fn component(
    checker: &mut Checker<'_>,
    given: &Kubeconfig,
    external: &Key<Entries<raw::ExternalPorts>>,
) -> ExternalComponent {
    let name = &given.component;
    if let Some((_, known)) = external.entries().find(|(known, _)| *known == name) {
        let what = format!("system.external.{name} and system.kubeconfig say where {name} is");
        checker.report(Finding::new(known.place.key, what).with_expected("one of the two"));
    }
    ExternalComponent {
        name: name.clone(),
        has_identity: true,
        ports: vec![ExternalPort {
            name: given.port.clone(),
            at: Vec::new(),
            tls: None,
            authorization: None,
        }],
    }
}

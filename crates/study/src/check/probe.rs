//! Probes and metrics of a system, each with the component that has it.

use super::{Checker, components::Definitions};
use crate::{
    Probe, SystemMetric,
    at::At,
    parts::{
        probe::{self, probe},
        system_metric::{self, source},
    },
};

pub(super) fn system_probe(
    checker: &mut Checker<'_>,
    Definitions { names, conditions }: Definitions<'_>,
    name: &str,
    given: &At<probe::Probe>,
) -> Option<Probe> {
    let keys = &given.value;
    let when = conditions.read(checker, &keys.when);
    let port = names.port_of(checker, &keys.component, &keys.port);
    let mut backed_by = Vec::new();
    for other in keys.backed_by.value().into_iter().flatten() {
        names.require_component(checker, other.place.value, &other.value);
        backed_by.push(other.value.clone());
    }
    let (kind, extract) = probe(checker, given, conditions.names)?;
    let (component, port) = port?;
    Some(Probe {
        when,
        component,
        port,
        backed_by,
        kind,
        extract,
        name: name.to_owned(),
    })
}

pub(super) fn system_metric(
    checker: &mut Checker<'_>,
    Definitions { names, conditions }: Definitions<'_>,
    name: &str,
    given: &At<system_metric::SystemMetric>,
) -> Option<SystemMetric> {
    let keys = &given.value;
    let when = conditions.read(checker, &keys.when);
    let port = names.port_of(checker, &keys.component, &keys.port);
    let source = source(checker, given, conditions.names);
    let unit = keys.unit(checker);
    let comparison = keys.comparison(checker, source.as_ref());
    let (component, port) = port?;
    Some(SystemMetric {
        when,
        summary: keys.summary.value()?.clone(),
        component,
        port,
        source: source?,
        per_second: keys.is_per_second(),
        unit,
        comparison,
        name: name.to_owned(),
    })
}

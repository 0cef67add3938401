//! What a plan says of a system as pods: its StatefulSets with their replicas, the image, and where they may be.

use std::collections::{BTreeMap, BTreeSet};

use waggle_report::wording::format::plural;
use waggle_spec::{PodSpread, SystemPods};
use waggle_study::{Component, Level, Study, System};
use waggle_units::format_size;

use super::words::{labels, range};

/// A line for the whole, and one for each StatefulSet; none if the system is no pods.
pub(super) fn lines(study: &Study, system: &System) -> Vec<String> {
    let Some(pods) = &study.system_pods else {
        return Vec::new();
    };
    let mut lines = vec![whole_line(pods)];
    for component in &system.components {
        if component.external.is_none() {
            lines.extend(set_line(study, component));
        }
    }
    lines
}

/// `system as pods of r/ingest:1 in Kubernetes, in namespace load; …`
fn whole_line(pods: &SystemPods) -> String {
    let namespace = match &pods.place.namespace {
        Some(namespace) => format!("in namespace {namespace}"),
        None => "in the namespace of the run".to_owned(),
    };
    let spread = match pods.spread {
        PodSpread::OneOnEach => "no two replicas of a component on one node",
        PodSpread::Even => "replicas of a component as many on each node, give or take one",
        PodSpread::Preferred => "replicas of a component on as many nodes as it goes",
    };
    let beside = match pods.beside_agents {
        true => "agents may be on their nodes",
        false => "on no node of an agent",
    };
    let size = format_size(pods.scratch_bytes);
    let folder = match &pods.storage_class {
        Some(class) => format!("a new volume of {size} of {class} for each"),
        None => format!("up to {size} on the disk of its node for each"),
    };
    let selected = match pods.node_selector.is_empty() {
        true => String::new(),
        false => format!("; on nodes with {}", labels(&pods.node_selector)),
    };
    let image = &pods.image;
    format!(
        "system as pods of {image} in Kubernetes, {namespace}; {spread}; {beside}{selected}; {folder}"
    )
}

/// `  StatefulSet kafka: 1 to 3 replicas`; `None`: no cell has it.
fn set_line(study: &Study, component: &Component) -> Option<String> {
    let configurations = study.cells.iter().map(|cell| &cell.parameters);
    let present = configurations.filter(|parameters| component.when.holds(parameters));
    let counts: BTreeSet<u32> = present
        .filter_map(|parameters| replicas(component, parameters))
        .collect();
    let (least, most) = (counts.first()?, counts.last()?);
    let replicas = match least == most {
        true => plural(*most, "replica"),
        false => format!("{} replicas", range(least.to_string(), most.to_string())),
    };
    let name = component.name.replace('_', "-");
    Some(format!("  StatefulSet {name}: {replicas}"))
}

/// How many replicas a component has in a configuration.
fn replicas(component: &Component, parameters: &BTreeMap<String, Level>) -> Option<u32> {
    let text = &component.replicas;
    let name = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'));
    match name {
        None => text.parse().ok(),
        Some(name) => parameters.get(name)?.to_string().parse().ok(),
    }
}

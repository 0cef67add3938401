//! What else differs between two runs that are compared.

use waggle_results::RunInfo;
use waggle_spec::{PodSpread, PodToleration, SystemPods};

use crate::{
    run::{placement::placement, run_model::Model},
    runs::agent_hosts::AgentHosts,
};

/// Something that differs, from the first side to the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionChange {
    pub what: Condition,
    pub first: String,
    pub second: String,
}

/// What differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    Host,
    Kernel,
    CpuModel,
    Cpus,
    /// In bytes.
    Memory,
    IdlePoll,
    /// CPUs of load generator and system.
    CpuSets,
    /// Names of the hosts that made the load; none of pods, which have new ones in each run.
    AgentHosts,
    /// What these hosts are, without their names.
    AgentHardware,
    WaggleVersion,
    System,
    /// Whether its components were processes or pods, and where these could be.
    SystemPods,
    /// How many nodes the pods of the system were on, and what these are.
    SystemNodes,
    /// The image of these pods.
    SystemImage,
    /// The version of a component.
    Component(String),
    LoadModel,
    /// The text of the study.
    Study,
    /// The text of the system.
    SystemText,
}

/// With the texts of their studies and systems.
pub(crate) fn conditions_changed(first_run: &Model, second_run: &Model) -> Vec<ConditionChange> {
    let (first, second) = (&first_run.info, &second_run.info);
    let mut changes = Vec::new();
    let mut add = |what, first: String, second: String| {
        if first != second {
            changes.push(ConditionChange {
                what,
                first,
                second,
            });
        }
    };
    let mut host = |what, text: fn(&RunInfo) -> String| add(what, text(first), text(second));
    host(Condition::Host, |info| info.host.name.clone());
    host(Condition::Kernel, |info| info.host.kernel.clone());
    host(Condition::CpuModel, |info| info.host.cpu_model.clone());
    host(Condition::Cpus, |info| info.host.cpus.to_string());
    host(Condition::Memory, |info| info.host.memory_bytes.to_string());
    host(Condition::IdlePoll, |info| match info.host.idle_poll {
        true => "on".to_owned(),
        false => "off".to_owned(),
    });
    host(Condition::CpuSets, |info| {
        let (load, system) = (&info.host.load_cpus, &info.host.system_cpus);
        format!("load {load:?}, system {system:?}")
    });
    let agents = |info: &RunInfo| AgentHosts::new(&info.agents);
    let [first_agents, second_agents] = [first, second].map(agents);
    let [first_names, second_names] =
        [&first_agents, &second_agents].map(|agents| agents.names().join(", "));
    add(Condition::AgentHosts, first_names, second_names);
    let [first_hardware, second_hardware] =
        [&first_agents, &second_agents].map(|agents| agents.hardware().to_string());
    add(Condition::AgentHardware, first_hardware, second_hardware);
    if let Some([first_nodes, second_nodes]) = nodes_of_both(first_run, second_run) {
        add(Condition::SystemNodes, first_nodes, second_nodes);
    }
    let mut host = |what, text: fn(&RunInfo) -> String| add(what, text(first), text(second));
    host(Condition::WaggleVersion, |info| info.waggle_version.clone());
    host(Condition::System, |info| info.system.clone());
    host(Condition::SystemPods, |info| {
        pods_text(info.system_pods.as_ref())
    });
    host(Condition::SystemImage, |info| {
        let pods = info.system_pods.as_ref();
        pods.map_or_else(String::new, |pods| pods.image.clone())
    });
    host(Condition::LoadModel, |info| {
        info.load_model.name().to_owned()
    });
    let versions = |info: &RunInfo, name: &str| {
        let mut all = info.components.iter();
        let entry = all.find(|component| component.name == name);
        entry.map_or_else(String::new, |component| component.version.clone())
    };
    let mut names: Vec<&String> = Vec::new();
    for component in first.components.iter().chain(&second.components) {
        if !names.contains(&&component.name) {
            names.push(&component.name);
        }
    }
    for name in names {
        let what = Condition::Component(name.clone());
        add(what, versions(first, name), versions(second, name));
    }
    let mut text = |what, text: fn(&Model) -> &String| {
        add(what, text(first_run).clone(), text(second_run).clone());
    };
    text(Condition::Study, |run| &run.study_text);
    text(Condition::SystemText, |run| &run.system_text);
    changes
}

/// What the nodes of both systems were. `None`: one was no pods; then the components differ, and that says it.
fn nodes_of_both(first: &Model, second: &Model) -> Option<[String; 2]> {
    let (first, second) = (placement(first)?, placement(second)?);
    Some([first.hardware(), second.hardware()])
}

/// Where the pods of a system could be, whatever their namespace was called.
fn pods_text(pods: Option<&SystemPods>) -> String {
    let Some(pods) = pods else {
        return "processes".to_owned();
    };
    let spread = match pods.spread {
        PodSpread::OneOnEach => "one on each",
        PodSpread::Even => "even",
        PodSpread::Preferred => "preferred",
    };
    let mut parts = vec!["pods".to_owned(), format!("spread {spread}")];
    if pods.beside_agents {
        parts.push("beside agents".to_owned());
    }
    parts.push(match &pods.storage_class {
        Some(class) => format!("volumes of {class}, {} bytes", pods.scratch_bytes),
        None => "disks of nodes".to_owned(),
    });
    let labels = pods.node_selector.iter();
    parts.extend(labels.map(|(name, value)| format!("nodes with {name}={value}")));
    parts.extend(pods.tolerations.iter().map(toleration_text));
    parts.join(", ")
}

fn toleration_text(toleration: &PodToleration) -> String {
    let value = toleration.value.as_ref().map(|value| format!("={value}"));
    let effect = toleration.effect.as_ref();
    let effect = effect.map(|effect| format!(":{effect}"));
    let parts = [value, effect].map(Option::unwrap_or_default).concat();
    let key = match &*toleration.key {
        "" => "every taint",
        key => key,
    };
    format!("tolerates {key}{parts}")
}

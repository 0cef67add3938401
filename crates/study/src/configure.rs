//! Which part of a system exists in a configuration, which limits its components have, and which part is left to start if some
//! components already run.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use waggle_template::placeholder::single_name;

use crate::{
    Component, ExternalComponent, ExternalPort, Level, LimitTexts, Limits, ProcessDriver, System,
    limits::{parse_cpus, parse_memory},
};

/// A level of `program.COMPONENT` is the path of another program for the component; it is no parameter of a system, whose names have
/// no dot.
pub const PROGRAM_OVERRIDE: &str = "program.";

/// A system as a cell has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Configured<'a> {
    /// The whole system, and the part of it that exists in the cell.
    pub whole: &'a System,
    pub present: &'a System,
    pub parameters: &'a BTreeMap<String, Level>,
}

impl System {
    /// The part of the system that exists if its parameters have these levels. What belongs to an absent component is absent too,
    /// as are dependencies on it. In texts of probes, metrics and checks, levels replace the parameters' names.
    #[must_use]
    pub fn configure(&self, parameters: &BTreeMap<String, Level>) -> Self {
        let mut system = self.clone();
        system
            .components
            .retain(|component| component.when.holds(parameters));
        let names: Vec<String> = system
            .components
            .iter()
            .map(|component| component.name.clone())
            .collect();
        for component in &mut system.components {
            component.depends_on.retain(|other| names.contains(other));
            component.setup.retain(|step| step.when.holds(parameters));
            if let Some(Level::Text(path)) =
                parameters.get(&format!("{PROGRAM_OVERRIDE}{}", component.name))
                && let Some(program) = component.process.command.first_mut()
            {
                program.clone_from(path);
            }
            let arguments = std::mem::take(&mut component.process.arguments);
            component.process.command.extend(
                arguments
                    .into_iter()
                    .filter(|arguments| arguments.when.holds(parameters))
                    .flat_map(|arguments| arguments.add),
            );
        }
        system.endpoints.retain(|endpoint| {
            endpoint.when.holds(parameters) && names.contains(&endpoint.component)
        });
        system
            .probes
            .retain(|probe| probe.when.holds(parameters) && names.contains(&probe.component));
        system
            .metrics
            .retain(|metric| metric.when.holds(parameters) && names.contains(&metric.component));
        let endpoints = &system.endpoints;
        system.verify.retain(|check| {
            check.when.holds(parameters)
                && endpoints
                    .iter()
                    .any(|endpoint| endpoint.name == check.endpoint)
        });
        system.fill_parameters(parameters);
        system
    }
}

impl System {
    /// The system if these components already run: they are not started or stopped, only what is undone at the end is set up, and what
    /// only they need is not there.
    #[must_use]
    pub fn with_external(mut self, external: &[ExternalComponent]) -> Self {
        let mut needed: BTreeSet<String> = BTreeSet::new();
        for component in &mut self.components {
            if let Some(given) = external.iter().find(|given| given.name == component.name) {
                needed.extend(std::mem::take(&mut component.depends_on));
                component.make_external(given.ports.clone());
            }
        }
        let mut with_identity = external.iter().filter(|given| given.has_identity);
        if let Some(component) = with_identity.next() {
            self.remove_own_identity(&component.name);
        }
        while let Some(index) = self.components.iter().position(|component| {
            needed.contains(&component.name)
                && component.external.is_none()
                && !self.is_in_use(&component.name)
        }) {
            let removed = self.components.remove(index);
            needed.extend(removed.depends_on);
            self.metrics
                .retain(|metric| metric.component != removed.name);
        }
        self
    }

    /// Whether an endpoint, a probe or another component that is started uses a component.
    fn is_in_use(&self, name: &str) -> bool {
        let mut endpoints = self.endpoints.iter();
        let mut probes = self.probes.iter();
        let mut others = self.components.iter().filter(|other| other.name != name);
        let ports = format!("{name}.");
        endpoints.any(|endpoint| endpoint.component == name)
            || probes.any(|probe| probe.component == name)
            || others.any(|other| {
                other.depends_on.iter().any(|need| need == name)
                    || other.names().any(|used| used.starts_with(&ports))
            })
    }
}

impl System {
    /// The limits of each component that has any, if the system's parameters have these levels.
    #[must_use]
    pub fn limits(&self, parameters: &BTreeMap<String, Level>) -> BTreeMap<String, Limits> {
        let filled = |text: &Option<String>| {
            let text = text.as_deref()?;
            let level = single_name(text).and_then(|name| parameters.get(name));
            Some(level.map_or_else(|| text.to_owned(), ToString::to_string))
        };
        let mut all = BTreeMap::new();
        for component in &self.components {
            let cpus = filled(&component.limits.cpus);
            let memory = filled(&component.limits.memory);
            let limits = Limits {
                cpus: cpus.and_then(|text| parse_cpus(&text)).flatten(),
                memory: memory.and_then(|text| parse_memory(&text)).flatten(),
            };
            if limits.is_some() {
                all.insert(component.name.clone(), limits);
            }
        }
        all
    }
}

impl Component {
    fn make_external(&mut self, ports: Vec<ExternalPort>) {
        let replicas = ports.first().map_or(0, |port| port.at.len().max(1));
        self.replicas = replicas.to_string();
        self.depends_on.clear();
        self.tls.clear();
        self.files.clear();
        self.setup.retain(|step| step.undo.is_some());
        self.process = ProcessDriver::default();
        self.limits = LimitTexts::default();
        self.stop_timeout = Duration::ZERO;
        self.external = Some(ports);
    }
}

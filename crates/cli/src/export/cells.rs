//! What the labels of a cell's series say, and the limits on their number. Pure.

use waggle_study::{Action, Cell, Study, System, What};

use super::catalogue::{Labels, METHOD, SERVER, STATUS, STEP};

/// Cells with series of their own; those that run later share one label.
pub(super) const CELLS_MAX: usize = 50;
/// Steps of a scenario with series of their own; the rest share one label.
pub(super) const STEPS_MAX: usize = 10;
/// The label of all others, as in OpenTelemetry's conventions.
pub(super) const OTHER: &str = "_OTHER";

/// What is exported of a cell.
#[derive(Debug, Clone)]
pub(super) struct CellLabels {
    pub(super) number: u32,
    /// As the study calls it, or its levels.
    pub(super) name: String,
    /// Labels of the times of requests: of each step, or of the one request. The last one is of all further steps.
    pub(super) requests: Vec<Labels>,
}

impl CellLabels {
    pub(super) fn from_cell(cell: &Cell, study: &Study, system: &System) -> Self {
        let server = server_address(cell, system);
        let mut requests = match &cell.what {
            What::Request(request) => {
                vec![request_labels(&request.method, &request.expect.status)]
            }
            What::Scenario(scenario) => {
                let mut steps: Vec<Labels> = Vec::new();
                steps.resize(scenario.steps.len(), Labels::new());
                for flow in &scenario.flows {
                    add_steps(&flow.actions, &mut steps);
                }
                for (labels, name) in steps.iter_mut().zip(&scenario.steps) {
                    labels.push((STEP, name.clone()));
                }
                if steps.len() > STEPS_MAX {
                    steps.truncate(STEPS_MAX);
                    steps.push(vec![(METHOD, OTHER.to_owned()), (STEP, OTHER.to_owned())]);
                }
                steps
            }
        };
        for labels in &mut requests {
            labels.push((SERVER, server.clone()));
        }
        Self {
            number: cell.number,
            name: cell_name(cell, study),
            requests,
        }
    }

    /// Whether the load is a scenario.
    pub(super) fn has_steps(&self) -> bool {
        let mut labels = self.requests.iter().flatten();
        labels.any(|(label, _)| *label == STEP)
    }

    /// Those of the cells beyond [`CELLS_MAX`], together.
    pub(super) fn other_request_labels(server: Option<&Labels>) -> Labels {
        let server = server.into_iter().flatten();
        let server = server.filter(|(label, _)| *label == SERVER).cloned();
        [(METHOD, OTHER.to_owned())]
            .into_iter()
            .chain(server)
            .collect()
    }
}

fn cell_name(cell: &Cell, study: &Study) -> String {
    if let Some(name) = &cell.short_name {
        return name.clone();
    }
    let levels = cell.levels.iter();
    let levels: Vec<String> = levels
        .map(|(factor, level)| format!("{factor}={level}"))
        .collect();
    match levels.is_empty() {
        true => study.name.clone(),
        false => levels.join(" "),
    }
}

/// The method, and the status if only one is expected: of a success, the load generator notes only that it was an expected one.
fn request_labels(method: &str, expected: &[u16]) -> Labels {
    let mut labels = vec![(METHOD, method.to_owned())];
    if let [status] = expected {
        labels.push((STATUS, status.to_string()));
    }
    labels
}

/// Sets the labels of the steps that these actions have. A step that is sent in several ways has the method alone.
fn add_steps(actions: &[Action], steps: &mut [Labels]) {
    for action in actions {
        match action {
            Action::Request(step) => {
                let Some(labels) = steps.get_mut(step.step) else {
                    continue;
                };
                let step_labels = request_labels(&step.method, &step.expect.status);
                match labels.is_empty() {
                    true => *labels = step_labels,
                    false => labels.retain(|label| step_labels.contains(label)),
                }
            }
            Action::Repeat { actions, .. } => add_steps(actions, steps),
            Action::Pause(_) => {}
        }
    }
}

/// The host of the server. Components that waggle starts are on this machine, at a new free port in each trial, which is no label.
fn server_address(cell: &Cell, system: &System) -> String {
    if let Some(external) = &system.external {
        return external.host.clone();
    }
    external_host(cell, system).unwrap_or_else(|| "127.0.0.1".to_owned())
}

/// The host of the component of the cell's endpoint, if waggle does not start it.
fn external_host(cell: &Cell, system: &System) -> Option<String> {
    let mut endpoints = system.endpoints.iter();
    let endpoint = endpoints.find(|part| part.name == cell.endpoint)?;
    let mut components = system.components.iter();
    let component = components.find(|part| part.name == endpoint.component)?;
    let mut ports = component.external.iter().flatten();
    let port = ports.find(|port| port.name == endpoint.port)?;
    Some(port.at.first()?.host.clone())
}

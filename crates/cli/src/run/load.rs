//! What of a cell's load the live view is told.

use std::sync::Arc;

use waggle_load as load;
use waggle_report::wording::text::count;
use waggle_runner::cpus;
use waggle_stats::LoadModel;
use waggle_study::{Cell, LoadModel as Model, Scenario, WarmUpUntil, What};

use crate::{
    live::Title,
    plan,
    table::duration,
    trial::{shape::Shape, statuses},
};

/// What its intervals are judged by.
pub(super) fn shape(cell: &Cell) -> Shape {
    let (steps, good_statuses) = match &cell.what {
        What::Request(request) => (Vec::new(), vec![statuses::expected(&request.expect.status)]),
        What::Scenario(scenario) => {
            // Its feeds may be large, and say nothing of its steps.
            let bare = Scenario {
                feeds: Vec::new(),
                ..Scenario::clone(scenario)
            };
            let bare = waggle_runner::load_scenario(&bare, "", "");
            Shape::of_what(&load::What::Scenario(Arc::new(bare)))
        }
    };
    let model = match cell.load {
        Model::Closed { .. } => LoadModel::Closed,
        Model::Open { .. } => LoadModel::Open,
        Model::Users { .. } => LoadModel::Users,
    };
    let connections = cell.load.connections();
    let workers = cell.load_workers.map_or_else(
        || cpus::share(&cpus::allowed()).load().len(),
        |workers| workers as usize,
    );
    let requests_at_most = cell.schedule.requests_in_all();
    // A load that ends by its count waits for the last answers while nothing falls due.
    let is_constant = cell.stages.is_empty() && requests_at_most.is_none();
    Shape {
        model,
        workers: workers.min(connections as usize),
        connections: connections.into(),
        offered_per_s: match cell.load {
            // A schedule asks for sessions, of whose requests only the first falls due by it.
            Model::Open { rate_per_s, .. } if steps.is_empty() && is_constant => Some(rate_per_s),
            _ => None,
        },
        has_stages: !cell.stages.is_empty(),
        requests_at_most,
        interval: cell.measure.interval,
        records_per_request: cell.records().map_or(0, |records| records.per_request),
        steps,
        good_statuses,
        certificate_hint: "",
    }
}

/// `PUT /readings`, and what load it is.
pub(super) fn title(cell: &Cell) -> Title {
    let schedule = &cell.schedule;
    let request = match &cell.what {
        What::Request(request) => format!("{} {}", request.method, request.path),
        What::Scenario(scenario) => format!("scenario {}", scenario.name),
    };
    let length = schedule.warm_up_at_most + schedule.measure + schedule.recovery_at_most();
    let is_known = schedule.warm_up_until == WarmUpUntil::Time && schedule.requests.is_none();
    let measured = match schedule.requests {
        Some(requests) => format!("{} requests", count(requests)),
        None => duration(schedule.measure),
    };
    Title {
        request,
        settings: format!("{}, measured for {measured}", plan::load(&cell.load)),
        length: is_known.then_some(length),
    }
}

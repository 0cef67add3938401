//! The title of a cell's load in the live view.

use waggle_report::wording::format::count;
use waggle_spec::WarmUpUntil;
use waggle_study::{Cell, What};

use crate::{commands::plan, live::Title, output::values::duration};

/// `PUT /readings`, and the load model.
pub(super) fn title(cell: &Cell) -> Title {
    let schedule = &cell.schedule;
    let request = match &cell.what {
        What::Request(request) => format!("{} {}", request.method, request.path),
        What::Scenario(scenario) => format!("scenario {}", scenario.name),
    };
    let length = schedule.warm_up + schedule.measure + schedule.recovery_duration();
    let is_known = schedule.warm_up_until == WarmUpUntil::Duration && schedule.requests.is_none();
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

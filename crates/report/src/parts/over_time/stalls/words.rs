//! Stalls in sentences: in the answer, in the remarks of a test case, and in the note below their table.

use waggle_analysis::{CellModel, CellStalls, Model, TrialModel, TrialRemark};
use waggle_spec::LoadKind;
use waggle_stats::{Finding, SystemFinding};

use crate::words::{
    findings,
    format::{self, Unit, time_s},
    names::cell_name,
};

/// What the answer says of the stalls in the cell that it speaks of, and of other cells that have some.
pub(crate) fn sentences(model: &Model, shown: &CellModel) -> Vec<String> {
    let place = match model.cells.len() {
        0 | 1 => "In".to_owned(),
        _ => format!("At {}, in", cell_name(model, shown)),
    };
    let cell_stalls = model.stalls_of_cell(shown.cell);
    let cell_stalls = cell_stalls.filter(|stalls| stalls.omitted > 0);
    let stall = cell_stalls
        .map(|stalls| format!("{place} {}", omitted_text(model.info.load_model, &stalls)));
    let others = model.cells.iter().filter(|cell| {
        let stalls = model.stalls_of_cell(cell.cell);
        cell.cell != shown.cell && stalls.is_some_and(|stalls| stalls.omitted > 0)
    });
    let others = match others.count() {
        0 => None,
        1 => Some("One other cell has stalls; they are in the table of stalls.".to_owned()),
        cells => Some(format!(
            "{cells} other cells have stalls; they are in the table of stalls."
        )),
    };
    stall
        .into_iter()
        .chain(by_weights(model, shown))
        .chain(others)
        .collect()
}

fn omitted_text(load: LoadKind, stalls: &CellStalls) -> String {
    let trials = match stalls.of {
        1 => "the trial".to_owned(),
        total => format!("{} of {total} trials", stalls.omitted),
    };
    let who = match load {
        LoadKind::Users => "users that wait send",
        LoadKind::Closed | LoadKind::Open | LoadKind::Clients => "a closed load sends",
    };
    format!(
        "{trials} no request succeeded for up to {} at a time ({} of the measured phase in all), while {who} nothing: response times are \
         at least those measured.",
        time_s(stalls.largest.longest_s),
        format::share(stalls.largest.ratio())
    )
}

/// Both p99, where they differ.
fn by_weights(model: &Model, shown: &CellModel) -> Option<String> {
    let p99 = model
        .p99_by_weights(shown.cell)
        .filter(waggle_analysis::TwoWeights::differ)?;
    let shown = |number: waggle_analysis::Number| Unit::Time.show(number.point());
    Some(format!(
        "99 % of arrivals at random instants wait at most {} (time-weighted p99); of the requests that were sent, 99 % waited at most {}.",
        shown(p99.by_time),
        shown(p99.by_request)
    ))
}

/// The stalls of a trial that are no reason of its verdict.
pub(crate) fn remarks(trial: &TrialModel) -> impl Iterator<Item = String> {
    trial.remarks.iter().filter_map(|remark| match remark {
        TrialRemark::Found(finding @ Finding::System(SystemFinding::Stalled(_))) => Some(format!(
            "repetition {}: {}",
            trial.info.key.repetition,
            findings::sentence(finding)
        )),
        TrialRemark::Found(_) | TrialRemark::Seen(_) => None,
    })
}

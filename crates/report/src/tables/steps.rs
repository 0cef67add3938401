//! The steps and sessions of a scenario. None of these tables is there without one.

use super::{Align, Field, Head, Table, error_count, heads, place};
use crate::text::{self, Unit};
use waggle_analysis::{CellModel, Model, StepModel};

/// Each step of each cell.
pub(crate) fn steps(model: &Model) -> Option<Table> {
    let columns = ["requests/s", "p50", "p90", "p99", "p99.9", "max", "errors"];
    let rows = by_step(model, |step| {
        vec![
            Field::estimate(step.goodput.as_ref(), Unit::Plain),
            Field::percentile(&step.response.p50),
            Field::percentile(&step.response.p90),
            Field::percentile(&step.response.p99),
            Field::percentile(&step.response.p999),
            Field::percentile(&step.response.max),
            error_count(step.failed, step.error_share),
        ]
    });
    (!rows.is_empty()).then(|| Table {
        id: Some("steps"),
        title: None,
        caption: "Goodput and response time of each step of the scenario".to_owned(),
        heads: step_heads(model, &columns),
        rows,
    })
}

/// How sessions went.
pub(crate) fn sessions(model: &Model) -> Option<Table> {
    let columns = ["sessions/s", "started", "completed", "ended early"];
    let rows: Vec<Vec<Field>> = model
        .cells
        .iter()
        .filter_map(|cell| {
            let sessions = cell.sessions.as_ref()?;
            let mut row = place(model, cell);
            row.extend([
                Field::estimate(sessions.goodput.as_ref(), Unit::Plain),
                Field::plain(text::count(sessions.counts.started)),
                Field::plain(text::count(sessions.counts.completed)),
                Field::nothing_expected(sessions.counts.failed),
            ]);
            Some(row)
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        id: Some("sessions"),
        title: Some("Sessions"),
        caption: "Sessions that came to the end of their flow, per second, and their counts summed over trials".to_owned(),
        heads: heads(model, &columns),
        rows,
    })
}

/// What failed in which step.
pub(crate) fn step_failures(model: &Model) -> Option<Table> {
    let rows: Vec<Vec<Field>> = of_all(model)
        .flat_map(|(cell, step)| {
            step.failures
                .iter()
                .map(move |failure| (cell, step, failure))
        })
        .map(|(cell, step, (kind, count))| {
            let mut row = place(model, cell);
            row.extend([
                Field::plain(&step.name),
                Field::plain(kind.in_words()),
                Field::nothing_expected(*count),
            ]);
            row
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        id: Some("step-failures"),
        title: Some("Failed requests by step"),
        caption: "Failed requests by step and kind, summed over trials".to_owned(),
        heads: step_heads(model, &["kind", "requests"]),
        rows,
    })
}

fn of_all(model: &Model) -> impl Iterator<Item = (&CellModel, &StepModel)> {
    let cells = model.cells.iter();
    cells.flat_map(|cell| cell.steps.iter().map(move |step| (cell, step)))
}

fn by_step(model: &Model, fields: impl Fn(&StepModel) -> Vec<Field>) -> Vec<Vec<Field>> {
    of_all(model)
        .map(|(cell, step)| {
            let mut row = place(model, cell);
            row.push(Field::plain(&step.name));
            row.extend(fields(step));
            row
        })
        .collect()
}

/// The factors, the step, then the numbers.
fn step_heads(model: &Model, numbers: &[&str]) -> Vec<Head> {
    let mut all = heads(model, numbers);
    let step = Head {
        text: "step".to_owned(),
        align: Align::Left,
    };
    all.insert(all.len() - numbers.len(), step);
    all
}

//! The cells at a share of their capacities: a row for each cell, a panel for each metric.

use serde::Serialize;
use waggle_analysis::{CellModel, CellSearch, Model, Number, OperatingPointModel};
use waggle_spec::LevelKind;
use waggle_stats::Estimate;

use super::{table, words::place};
use crate::{
    layout::chart_numbers::{estimate, round_to},
    words::{cell, labels, names::cell_name},
};

#[derive(Serialize)]
pub(crate) struct OperatingPoint {
    /// Of the picture, which is shared without its page.
    title: String,
    panels: Vec<Panel>,
    /// From the least CPU per request to the most.
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Panel {
    name: String,
    kind: &'static str,
}

#[derive(Serialize)]
struct Row {
    label: String,
    believed: bool,
    /// The verdict, with the number of trials if some are missing.
    shown: String,
    /// Of each panel: point, low, high; `null`: no value.
    values: Vec<Option<Vec<f64>>>,
}

impl OperatingPoint {
    pub(crate) fn new(point: &OperatingPointModel, model: &Model) -> Self {
        let further = table::further_asked(point);
        let unit = |index: usize| {
            let mut cells = point.model.cells.iter();
            cells.find_map(|cell| Some(cell.asked.get(index)?.unit))
        };
        let maximize = model.search.as_ref().map(|search| search.info.maximize);
        let fixed = [
            ("System CPU per request", "time"),
            ("Response time p99", "time"),
            ("System memory, peak", "bytes"),
            match maximize {
                Some(LevelKind::Rate) | None => ("Capacity", "rate"),
                Some(LevelKind::Users) => ("Capacity, users", "count"),
                Some(LevelKind::Connections) => ("Capacity, connections", "count"),
            },
        ];
        let fixed = fixed.into_iter().map(|(name, kind)| Panel {
            name: name.to_owned(),
            kind,
        });
        let asked = further.iter().map(|(index, name)| Panel {
            name: name.clone(),
            kind: unit(*index).map_or("plain", labels::unit),
        });
        let mut cells: Vec<&CellModel> = point.model.cells.iter().collect();
        let cost = |cell: &CellModel| {
            let cost = cell.system_cpu_us_per_request.as_ref();
            cost.map_or(f64::INFINITY, |cost| cost.point)
        };
        cells.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        let row = |cell: &CellModel| {
            let search = model.search.as_ref();
            let cell_search = search.and_then(|search| search.of_cell(cell.cell));
            Row::new(&point.model, cell, cell_search, &further)
        };
        Self {
            title: format!("{} at {}", model.info.study, place(point.share)),
            panels: fixed.chain(asked).collect(),
            rows: cells.into_iter().map(row).collect(),
        }
    }
}

impl Row {
    fn new(
        model: &Model,
        cell: &CellModel,
        cell_search: Option<&CellSearch>,
        further: &[(usize, String)],
    ) -> Self {
        let interval = |value: Option<&Estimate>| value.map(estimate);
        let mut values = vec![
            interval(cell.system_cpu_us_per_request.as_ref()),
            interval(cell.response.p99.estimate.as_ref()),
            interval(cell.system_rss_max_bytes.as_ref()),
            cell_search.and_then(capacity),
        ];
        values.extend(
            further
                .iter()
                .map(|(index, _)| number(cell.asked.get(*index)?.number?)),
        );
        let label = match cell_name(model, cell) {
            name if name.is_empty() => format!("cell {}", cell.cell),
            name => name,
        };
        Self {
            label,
            believed: cell.is_free_of_doubt(),
            shown: cell::verdict(cell),
            values,
        }
    }
}

/// From the highest level that held to the lowest that failed.
fn capacity(cell_search: &CellSearch) -> Option<Vec<f64>> {
    let held = cell_search.answer.capacity()?;
    let ends = cell_search.answer.fails.map(|fails| [held, fails]);
    let all = [held].into_iter().chain(ends.into_iter().flatten());
    Some(all.map(round_to).collect())
}

fn number(number: Number) -> Option<Vec<f64>> {
    Some(match number {
        Number::Estimate(result) => estimate(&result),
        other => vec![round_to(other.point())],
    })
}

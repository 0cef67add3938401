//! Resource use of the system and of the load generator, and the metrics of the system.

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::place_of_cell,
    words::format::{self, NONE, Unit},
};

use super::words;
use waggle_analysis::{CellModel, Model, SystemMetricModel, kubelet_readings, unit_of_metric};

/// A row for each cell.
pub(crate) fn resources(model: &Model) -> Table {
    let mut columns = place_of_cell(model);
    columns.extend([
        Column::numbers("system CPU per request", |cell: &&CellModel| {
            Field::estimate(cell.system_cpu_us_per_request.as_ref(), Unit::Time)
        }),
        Column::numbers("generator CPU per request", |cell: &&CellModel| {
            Field::estimate(cell.generator_cpu_us_per_request.as_ref(), Unit::Time)
        }),
        Column::numbers("system memory, peak", |cell: &&CellModel| {
            Field::estimate(cell.system_rss_max_bytes.as_ref(), Unit::Bytes)
        }),
        Column::numbers("generator utilization", |cell: &&CellModel| {
            Field::share(cell.generator_utilization)
        }),
        Column::numbers("generator capacity used", |cell: &&CellModel| {
            Field::share(cell.generator_capacity_used)
        }),
    ]);
    if model
        .cells
        .iter()
        .any(|cell| cell.probe_cpu_share.is_some())
    {
        columns.push(Column::numbers(
            "probe, share of system CPU",
            |cell: &&CellModel| Field::share(cell.probe_cpu_share),
        ));
    }
    columns.extend([
        Column::numbers("generator lag p99", |cell: &&CellModel| {
            Field::optional(cell.generator_lag_p99_us.map(|lag| Unit::Time.show(lag)))
        }),
        Column::numbers("CPU steal", |cell: &&CellModel| {
            Field::share(cell.cpu_steal)
        }),
    ]);
    let components = names(model, |cell| {
        cell.component_cores.iter().map(|(name, _)| name.as_str())
    });
    columns.extend(components.into_iter().map(|name| {
        Column::numbers(format!("{name}, cores"), move |cell: &&CellModel| {
            let mut used = cell.component_cores.iter();
            let used = used.find(|(component, _)| component == name);
            Field::estimate(used.map(|(_, cores)| cores), Unit::Plain)
        })
    }));
    let mut caption =
        "CPU time per request, peak memory, load generator, and CPU of each component in the measured phase"
            .to_owned();
    caption.extend(
        kubelet_readings(model).map(|readings| format!(". {}", words::resolution(readings))),
    );
    Table::new("resources", caption, columns, &model.cells)
        .without_empty_columns()
        .with_title("Resource use")
}

/// A column for each metric that was read from the system; `None` if none was.
pub(crate) fn system_metrics(model: &Model) -> Option<Table> {
    let names = names(model, |cell| {
        cell.metrics.iter().map(|metric| metric.name.as_str())
    });
    if names.is_empty() {
        return None;
    }
    let meanings: Vec<String> = model
        .info
        .metrics
        .iter()
        .map(|metric| format!("{}: {}", metric.name, metric.summary))
        .collect();
    let caption = format!(
        "System metrics: mean and max over the measured phases, and the last reading after load and drain (end; the largest of all \
         trials). {}",
        meanings.join("; ")
    );
    let mut columns = place_of_cell(model);
    for name in names {
        let unit = unit_of_metric(&model.info.metrics, name);
        columns.push(Column::numbers(name, move |cell: &&CellModel| {
            let mut metrics = cell.metrics.iter();
            let metric = metrics.find(|metric| metric.name == name);
            metric.map_or_else(Field::empty, |metric| metric_field(metric, unit))
        }));
    }
    let table = Table::new("system-metrics", caption, columns, &model.cells);
    Some(table.with_title("System metrics"))
}

fn metric_field(metric: &SystemMetricModel, unit: waggle_metrics::Unit) -> Field {
    let shown = |value: Option<f64>| {
        value.map_or_else(|| NONE.to_owned(), |value| format::in_unit(value, unit))
    };
    Field::plain(shown(metric.mean.map(|mean| mean.point))).with_aside(format!(
        "max {}, end {}",
        shown(metric.max),
        shown(Some(metric.end))
    ))
}

/// Every name of any cell, as they first come.
fn names<'a, I: Iterator<Item = &'a str>>(
    model: &'a Model,
    of_cell: impl Fn(&'a CellModel) -> I,
) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in model.cells.iter().flat_map(of_cell) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

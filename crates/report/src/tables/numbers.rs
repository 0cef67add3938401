//! What each cell reached and what it cost.

use waggle_results::FailureKind;

use super::{Field, Table, by_cell, error_count, heads, place};
use crate::{
    rows,
    text::{self, NONE, Unit},
};
use waggle_analysis::{CellModel, Counted, Model, SPECTRUM_TICKS, as_f64, failure_kinds};

/// Goodput, response time, errors, verdict.
pub(crate) fn cells(model: &Model) -> Table {
    let goodput = match model.counted {
        Counted::Records => "records/s",
        Counted::Requests => "requests/s",
    };
    let certainty = if model.info.schedule.repeat == 1 {
        "single run, no uncertainty known"
    } else {
        "with 95 % intervals over trials"
    };
    Table {
        id: Some("cells"),
        title: None,
        caption: format!("Goodput and response time of each cell, {certainty}"),
        heads: heads(
            model,
            &[
                "verdict", goodput, "p50", "p90", "p99", "p99.9", "max", "errors",
            ],
        ),
        rows: by_cell(model, |cell| {
            vec![
                Field::verdict(rows::verdict(cell)),
                Field::estimate(cell.goodput.as_ref(), Unit::Plain),
                Field::percentile(&cell.response.p50),
                Field::percentile(&cell.response.p90),
                Field::percentile(&cell.response.p99),
                Field::percentile(&cell.response.p999),
                Field::percentile(&cell.response.max),
                error_count(cell.failed, cell.error_share),
            ]
        }),
    }
}

/// What a request cost, and how busy everything was.
pub(crate) fn cost(model: &Model) -> Table {
    let mut components: Vec<&str> = Vec::new();
    for (component, _) in model.cells.iter().flat_map(|cell| &cell.component_cores) {
        if !components.contains(&component.as_str()) {
            components.push(component);
        }
    }
    let cores: Vec<String> = components
        .iter()
        .map(|component| format!("{component}, cores"))
        .collect();
    let mut columns = vec![
        "system CPU per request",
        "load CPU per request",
        "system memory, highest",
        "busiest load worker",
        "sent, of what the load could send",
    ];
    // Runs of older versions did not note it.
    let is_noted = model.cells.iter().any(|cell| cell.stolen_share.is_some());
    if is_noted {
        columns.extend(["lag of the load, p99", "CPU time taken by the host"]);
    }
    columns.extend(cores.iter().map(String::as_str));
    Table {
        id: Some("cost"),
        title: Some("Cost"),
        caption:
            "Cost: CPU time per request, memory, and CPU used by each component while measured"
                .to_owned(),
        heads: heads(model, &columns),
        rows: by_cell(model, |cell| {
            let mut row = vec![
                Field::estimate(cell.system_cpu_us_per_request.as_ref(), Unit::Time),
                Field::estimate(cell.engine_cpu_us_per_request.as_ref(), Unit::Time),
                Field::estimate(cell.system_rss_max_bytes.as_ref(), Unit::Bytes),
                Field::plain(
                    cell.engine_busy_share
                        .map_or_else(|| NONE.to_owned(), text::share),
                ),
                Field::plain(
                    cell.engine_possible_share
                        .map_or_else(|| NONE.to_owned(), text::share),
                ),
            ];
            if is_noted {
                let lag = cell.engine_lag_p99_us;
                let lag = lag.map_or_else(|| NONE.to_owned(), |lag| Unit::Time.show(lag));
                let stolen = cell.stolen_share;
                let stolen = stolen.map_or_else(|| NONE.to_owned(), text::share);
                row.extend([Field::plain(lag), Field::plain(stolen)]);
            }
            row.extend(components.iter().map(|component| {
                let used = cell
                    .component_cores
                    .iter()
                    .find(|(name, _)| name == component);
                Field::estimate(used.map(|(_, cores)| cores), Unit::Plain)
            }));
            row
        }),
    }
}

/// What was watched, a column for each; `None` where nothing was.
pub(crate) fn watches(model: &Model) -> Option<Table> {
    let mut names: Vec<&str> = Vec::new();
    for watch in model.cells.iter().flat_map(|cell| &cell.watches) {
        if !names.contains(&watch.name.as_str()) {
            names.push(&watch.name);
        }
    }
    let field = |cell: &CellModel, name: &str| {
        let Some(watch) = cell.watches.iter().find(|watch| watch.name == name) else {
            return Field::plain(NONE);
        };
        let shown =
            |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), text::three_or_whole);
        Field {
            range: Some(format!(
                "most {}, at the end {}",
                shown(watch.max),
                text::three_or_whole(watch.end)
            )),
            ..Field::plain(shown(watch.mean.map(|mean| mean.point)))
        }
    };
    let meanings: Vec<String> = model
        .info
        .watches
        .iter()
        .map(|watch| format!("{}: {}", watch.name, watch.summary))
        .collect();
    (!names.is_empty()).then(|| Table {
        id: Some("watches"),
        title: Some("Watches"),
        caption: format!(
            "What was watched: mean over the measured phases, the most at one look of them, and what was read last, when \
             load and drain were over (the largest of the trials'). {}",
            meanings.join("; ")
        ),
        heads: heads(model, &names),
        rows: by_cell(model, |cell| {
            names.iter().map(|name| field(cell, name)).collect()
        }),
    })
}

/// Failures by kind, a row for each cell that has any; `None` where there are none.
pub(crate) fn failures(model: &Model) -> Option<Table> {
    let kinds = failure_kinds(&model.cells);
    let names: Vec<String> = kinds.iter().map(|kind| kind.in_words()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let of_cell = |cell: &CellModel| {
        let count = |kind: &FailureKind| {
            let found = cell.failures.iter().find(|(name, _)| name == kind);
            let count = found.map_or(0, |(_, count)| *count);
            if kind.is_connect_attempt() {
                return Field::nothing_expected(count);
            }
            let answered = as_f64(cell.succeeded + cell.failed);
            error_count(count, Some(as_f64(count) / answered))
        };
        kinds.iter().map(count).collect::<Vec<_>>()
    };
    let failing = model.cells.iter().filter(|cell| !cell.failures.is_empty());
    let rows = failing.map(|cell| {
        place(model, cell)
            .into_iter()
            .chain(of_cell(cell))
            .collect()
    });
    (!kinds.is_empty()).then(|| Table {
        id: Some("failures"),
        title: Some("Failed requests"),
        caption: if kinds.iter().any(|kind| kind.is_connect_attempt()) {
            "Failed requests by kind, summed over trials, with their share of all answered; attempts to connect are no requests and have none"
        } else {
            "Failed requests by kind, summed over trials, with their share of all answered"
        }
        .to_owned(),
        heads: heads(model, &names),
        rows: rows.collect(),
    })
}

/// Percentiles of all trials of a cell together, at the chart's ticks.
pub(crate) fn spectrum(model: &Model) -> Table {
    let mut columns: Vec<&str> = SPECTRUM_TICKS.iter().map(|(head, _)| *head).collect();
    columns.push("slowest");
    Table {
        id: Some("spectrum"),
        title: None,
        caption:
            "Response time within which this share of a cell's answers came, all trials together"
                .to_owned(),
        heads: heads(model, &columns),
        rows: by_cell(model, |cell| {
            let last = cell.spectrum.last();
            let at = |quantile: f64| {
                // The line ends at the slowest sample; beyond it there is nothing to say.
                let point = cell
                    .spectrum
                    .iter()
                    .rev()
                    .skip(1)
                    .find(|point| (point.quantile - quantile).abs() < 1e-9);
                Field::plain(
                    point.map_or_else(|| NONE.to_owned(), |point| Unit::Time.show(point.us)),
                )
            };
            let mut row: Vec<Field> = SPECTRUM_TICKS
                .iter()
                .map(|(_, quantile)| at(*quantile))
                .collect();
            row.push(Field::plain(last.map_or_else(
                || NONE.to_owned(),
                |last| Unit::Time.show(last.us),
            )));
            row
        }),
    }
}

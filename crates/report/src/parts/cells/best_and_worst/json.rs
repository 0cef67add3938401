//! The best and the worst trial of each cell, for other programs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{BestAndWorstModel, OrderMetric, RankedTrial};

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BestAndWorst<'a> {
    /// The first one decides, each further one between trials that are equal in those before it.
    order: Vec<OrderEntry<'a>>,
    cells: Vec<CellEnds>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OrderEntry<'a> {
    /// By name, as in the columns of `tables.csv`.
    metric: &'a str,
    /// `highest` or `lowest`.
    best: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CellEnds {
    cell: u32,
    /// Trials that ran, and those of them that came to their end and are compared.
    ran: usize,
    compared: usize,
    best: Option<EndTrial>,
    worst: Option<EndTrial>,
    /// The least and the most failures in a trial; `null`: the study does not name what counts them.
    least_failures: Option<f64>,
    most_failures: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct EndTrial {
    repetition: u32,
    /// Other repetitions that are equal to it in all metrics of the order.
    ties: Vec<u32>,
    /// The metrics of the order, by name, as in the columns of `tables.csv`; what it does not have is absent.
    metrics: BTreeMap<String, f64>,
    failures: Option<f64>,
    succeeded: Option<f64>,
    /// Of what the successes are a part.
    all: Option<f64>,
}

pub(crate) fn best_and_worst(ranking: &BestAndWorstModel) -> BestAndWorst<'_> {
    let order = ranking.order.iter().map(|entry| OrderEntry {
        metric: &entry.column,
        best: match entry.is_lowest_best {
            true => "lowest",
            false => "highest",
        },
    });
    let cells = ranking.cells.iter();
    BestAndWorst {
        order: order.collect(),
        cells: cells.map(|cell| cell_ends(&ranking.order, cell)).collect(),
    }
}

fn cell_ends(order: &[OrderMetric], extremes: &waggle_analysis::BestAndWorst) -> CellEnds {
    let end = |ranked: &RankedTrial| trial(order, ranked);
    CellEnds {
        cell: extremes.cell,
        ran: extremes.ran,
        compared: extremes.ordered,
        best: extremes.best.as_ref().map(end),
        worst: extremes.worst.as_ref().map(end),
        least_failures: extremes.failures.map(|range| range.least),
        most_failures: extremes.failures.map(|range| range.most),
    }
}

fn trial(order: &[OrderMetric], ranked: &RankedTrial) -> EndTrial {
    let pairs = order.iter().zip(&ranked.values);
    let metrics = pairs.filter_map(|(metric, value)| {
        let value = metric.in_column((*value)?);
        value.is_finite().then(|| (metric.column.clone(), value))
    });
    EndTrial {
        repetition: ranked.repetition,
        ties: ranked.ties.clone(),
        metrics: metrics.collect(),
        failures: ranked.failures,
        succeeded: ranked.successes.map(|count| count.succeeded),
        all: ranked.successes.map(|count| count.all),
    }
}

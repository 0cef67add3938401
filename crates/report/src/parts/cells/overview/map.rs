//! Metrics over the factors: each that a cell has, with heading and unit of the catalogue.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    layout::chart_numbers::{estimate, round_to},
    words::{findings, labels, metric},
};

use waggle_analysis::{CellModel, Distribution, Model, Number, headline, without_names};
use waggle_metrics::{Metric, NamedMetric, Statistic, Wish};
use waggle_spec::TimeKind;
use waggle_stats::{Estimate, ThinTail};

/// A map needs values in at least one square of so many; with fewer, bars are drawn.
const FILLED_OF: usize = 2;

/// A metric that can be shown over the factors.
#[derive(Serialize)]
pub(crate) struct Heading {
    id: String,
    name: String,
    /// With its unit, for an axis.
    label: String,
    kind: &'static str,
    wish: &'static str,
}

/// A metric, and how to read it from a cell.
pub(crate) struct Mapped<'a> {
    named: NamedMetric<'a>,
    of_cell: Box<dyn Fn(&CellModel) -> Shown + 'a>,
}

/// A value of one cell.
#[derive(Default)]
struct Shown {
    number: Option<Number>,
    thin: Option<ThinTail>,
}

/// Whether the cells are a map of their factors' levels.
pub(crate) fn is_map(model: &Model) -> bool {
    let factors = model.factors.iter();
    let size = factors.fold(1, |size: usize, factor| {
        size.saturating_mul(factor.levels.len())
    });
    let has_place = |cell: &CellModel| cell.levels.len() == model.factors.len();
    match model.factors.len() {
        0 => false,
        1 => true,
        _ => FILLED_OF * model.cells.len() >= size && model.cells.iter().all(has_place),
    }
}

/// From this many levels of a factor on, and from this many factors that vary, one chart cannot show all cells.
const MANY_LEVELS: usize = 9;
const MANY_FACTORS: usize = 4;

/// Whether the cells are shown as small multiples: a chart for each level of one factor.
pub(crate) fn has_multiples(model: &Model) -> bool {
    let factors = model.factors.iter();
    let varying: Vec<usize> = factors
        .map(|factor| factor.levels.len())
        .filter(|levels| *levels > 1)
        .collect();
    let is_many =
        varying.len() >= MANY_FACTORS || varying.iter().any(|count| *count >= MANY_LEVELS);
    is_map(model) && varying.len() > 1 && is_many
}

/// The metrics that any cell has: those that the study asks about, then the most important ones.
pub(crate) fn mapped_metrics(model: &Model) -> Vec<Mapped<'_>> {
    let response: Pick = |cell| &cell.response;
    let service: Pick = |cell| &cell.service;
    let delay: Pick = |cell| &cell.delay;
    let arrival: Pick = |cell| &cell.arrival;
    let mut all = vec![
        over_trials(Metric::Goodput, |cell| cell.goodput),
        percentile(Metric::Time(TimeKind::Response), Statistic::P99, response),
        exact(Metric::ErrorRate, |cell| cell.error_rate),
        percentile(Metric::Delay, Statistic::P99, delay),
        percentile(Metric::Time(TimeKind::Response), Statistic::P50, response),
        percentile(Metric::Time(TimeKind::Response), Statistic::P90, response),
        percentile(Metric::Time(TimeKind::Response), Statistic::P999, response),
        percentile(Metric::Time(TimeKind::Response), Statistic::Max, response),
        percentile(Metric::Time(TimeKind::Service), Statistic::P50, service),
        percentile(Metric::Time(TimeKind::Service), Statistic::P99, service),
        percentile(Metric::Delay, Statistic::P50, delay),
        percentile(Metric::Delay, Statistic::Max, delay),
        percentile(Metric::ArrivalDelay, Statistic::P99, arrival),
        over_trials(Metric::Throughput, |cell| cell.throughput),
        exact(Metric::AchievedRatio, |cell| cell.achieved_ratio),
        over_trials(Metric::SystemCpuPerRequest, |cell| {
            cell.system_cpu_us_per_request
        }),
        exact(Metric::GeneratorUtilization, |cell| {
            cell.generator_utilization
        }),
    ];
    for path in model.cells.iter().flat_map(|cell| &cell.numbers) {
        let path = &path.path;
        let named = without_names(path, &model.info);
        let is_new = |named: &NamedMetric<'_>| !all.iter().any(|metric| metric.named == *named);
        all.extend(named.filter(is_new).map(|named| Mapped {
            named,
            of_cell: Box::new(move |cell| Shown {
                number: cell.number(path),
                thin: None,
            }),
        }));
    }
    all.retain(|metric| metric.is_known(model));
    let asked = headline(&model.info);
    all.sort_by_key(|metric| {
        asked
            .iter()
            .position(|named| *named == metric.named)
            .unwrap_or(asked.len())
    });
    all
}

type Pick = fn(&CellModel) -> &Distribution;

fn over_trials<'a>(metric: Metric, pick: fn(&CellModel) -> Option<Estimate>) -> Mapped<'a> {
    Mapped {
        named: NamedMetric::of_all(metric),
        of_cell: Box::new(move |cell| Shown {
            number: pick(cell).map(Number::Estimate),
            thin: None,
        }),
    }
}

fn exact<'a>(metric: Metric, pick: fn(&CellModel) -> Option<f64>) -> Mapped<'a> {
    Mapped {
        named: NamedMetric::of_all(metric),
        of_cell: Box::new(move |cell| Shown {
            number: pick(cell).map(Number::Exact),
            thin: None,
        }),
    }
}

fn percentile<'a>(metric: Metric, statistic: Statistic, pick: Pick) -> Mapped<'a> {
    Mapped {
        named: NamedMetric {
            statistic: Some(statistic),
            ..NamedMetric::of_all(metric)
        },
        of_cell: Box::new(move |cell| {
            pick(cell)
                .percentile(statistic)
                .map_or_else(Shown::default, |value| Shown {
                    number: value.estimate.map(Number::Estimate),
                    thin: value.thin,
                })
        }),
    }
}

impl Mapped<'_> {
    /// Whether a cell has it.
    fn is_known(&self, model: &Model) -> bool {
        let mut cells = model.cells.iter();
        cells.any(|cell| (self.of_cell)(cell).number.is_some())
    }

    pub(crate) fn heading(&self, model: &Model) -> Heading {
        let name = self.named.heading();
        let row = self.named.row;
        Heading {
            id: self.named.column(),
            label: metric::label(row.metric, self.named.of, &name, model.counted),
            name,
            kind: labels::unit(row.unit),
            wish: match row.wish {
                Wish::More => "more",
                Wish::Less => "less",
                Wish::Neither => "neither",
            },
        }
    }
}

/// Of one cell: each value with its interval, and why some are not reliable, by their places.
pub(crate) fn numbers(
    mapped: &[Mapped<'_>],
    cell: &CellModel,
) -> (Vec<Option<Vec<f64>>>, BTreeMap<usize, String>) {
    let shown: Vec<Shown> = mapped.iter().map(|entry| (entry.of_cell)(cell)).collect();
    let thin = shown.iter().enumerate();
    let thin =
        thin.filter_map(|(place, entry)| Some((place, findings::thin(entry.thin.as_ref()?))));
    let number = |entry: &Shown| {
        Some(match entry.number? {
            Number::Estimate(result) => estimate(&result),
            Number::Exact(value) => vec![round_to(value)],
            Number::Within(range) => [range.high, range.low, range.high].map(round_to).to_vec(),
        })
    };
    (shown.iter().map(number).collect(), thin.collect())
}

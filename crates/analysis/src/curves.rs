//! Outcomes over the levels of a factor that are numbers: a chart for each outcome, a line for each combination of the other factors'
//! levels, with what somebody published where it is the same number. The numbers are those of the tables.

use waggle_metrics as metrics;
use waggle_results::{FailureKind, PublishedInfo, RunInfo};
use waggle_stats::{Estimate, Part};

use crate::text::Unit;
use crate::{
    CellModel, Factor, PublishedModel, TrialModel, as_f64,
    cell::failure_kinds,
    layout::{Layout, Line, Over},
    levels::numbers,
    metric::Number,
    outcome::{Outcome, outcomes},
    threshold::is_recovery,
};

/// A line through two points says nothing of a course.
const LEVELS_AT_LEAST: usize = 3;
/// Other factors that make lines: one goes with colours, one with dashes.
const OTHERS_AT_MOST: usize = 2;
/// As many as there are colours, and dashes that can be told apart.
const LEVELS_AT_MOST: [usize; OTHERS_AT_MOST] = [8, 4];
/// More lines than this cannot be told apart in one chart.
const LINES_AT_MOST: usize = 12;

/// Charts over one factor.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvesModel {
    pub over: Over,
    /// Names of the factors that make the lines.
    pub others: Vec<String>,
    pub lines: Vec<Line>,
    pub charts: Vec<Curve>,
    /// Failed requests by kind; `None` where none failed.
    pub kinds: Option<FailedOver>,
    /// Title and source of the published points, where a chart has any.
    pub published: Option<(String, String)>,
}

/// One outcome over the levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    pub name: String,
    pub unit: metrics::Unit,
    pub points: Vec<CurvePoint>,
}

/// One outcome of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePoint {
    pub line: usize,
    pub level: usize,
    /// Number of the cell.
    pub cell: u32,
    pub estimate: Option<Estimate>,
    /// Why it should not be relied on, where too few samples lie beyond it.
    pub thin: Option<String>,
    /// What was published of it.
    pub published: Option<f64>,
}

/// Failed requests by kind, as shares of the answered requests of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedOver {
    /// The most frequent first.
    pub kinds: Vec<FailureKind>,
    /// Line, level, and the share of each kind.
    pub shares: Vec<(usize, usize, Vec<f64>)>,
}

impl Curve {
    /// Whether something was published of it.
    #[must_use]
    pub fn has_published(&self) -> bool {
        self.points.iter().any(|point| point.published.is_some())
    }
}

/// `None` where no factor's levels are numbers, or what varies beside it is too much for one chart.
pub(crate) fn curves(
    info: &RunInfo,
    factors: &[Factor],
    cells: &[CellModel],
    trials: &[TrialModel],
    published: Option<&PublishedModel>,
) -> Option<CurvesModel> {
    let layout = layout(factors, cells)?;
    if cells.iter().all(|cell| cell.counted == 0) {
        return None;
    }
    let steps: Vec<&str> = info
        .scenario
        .iter()
        .flat_map(|scenario| &scenario.steps)
        .map(String::as_str)
        .collect();
    let beside = Beside {
        published,
        delivery_at: info.delivery_at.as_deref(),
        steps: &steps,
    };
    let all: Vec<&CellModel> = cells.iter().collect();
    let mut charts: Vec<Curve> = Vec::new();
    for outcome in outcomes(&all, info.delivery_at.as_deref()) {
        charts.push(of_outcome(&layout, cells, trials, &outcome, &beside));
        if outcome.path == ["response_time", "p99"] {
            charts.push(errors(&layout, cells, trials, &beside));
        }
    }
    charts.extend(recovery(&layout, cells, &beside));
    charts.extend(beside.further(&layout, cells));
    charts.retain(|chart| chart.points.iter().any(|point| point.estimate.is_some()));
    if charts.is_empty() {
        return None;
    }
    let source = |info: &PublishedInfo| (info.title.clone(), info.source.clone());
    let has_published = charts.iter().any(Curve::has_published);
    Some(CurvesModel {
        kinds: kinds(&layout, cells),
        published: published
            .filter(|_| has_published)
            .map(|published| source(&published.info)),
        charts,
        over: layout.over,
        others: layout.others,
        lines: layout.lines,
    })
}

/// Along the factor with the most levels that are numbers; cells over several such factors and no other are a map, not lines.
fn layout(factors: &[Factor], cells: &[CellModel]) -> Option<Layout> {
    let varying: Vec<&Factor> = factors.iter().filter(|one| one.levels.len() > 1).collect();
    let is_axis = |factor: &Factor| {
        factor.levels.len() >= LEVELS_AT_LEAST && numbers(&factor.levels).is_some()
    };
    let axes: Vec<&&Factor> = varying.iter().filter(|factor| is_axis(factor)).collect();
    if axes.len() > 1 && axes.len() == varying.len() {
        return None;
    }
    // The first of several with as many levels: `max_by_key` takes the last.
    let over = axes.iter().rev().max_by_key(|factor| factor.levels.len())?;
    let others: Vec<&Factor> = varying
        .iter()
        .copied()
        .filter(|factor| factor.name != over.name)
        .collect();
    let fits = others.len() <= OTHERS_AT_MOST
        && others
            .iter()
            .zip(LEVELS_AT_MOST)
            .all(|(other, most)| other.levels.len() <= most)
        && others
            .iter()
            .map(|other| other.levels.len())
            .product::<usize>()
            <= LINES_AT_MOST;
    fits.then(|| Layout::new(Over::of(over), &others, cells))
}

/// What a chart shows of one cell.
#[derive(Default)]
struct Shown {
    estimate: Option<Estimate>,
    thin: Option<String>,
    published: Option<f64>,
}

/// A point for every cell, with what `of` shows of it.
fn points(
    layout: &Layout,
    cells: &[CellModel],
    of: impl Fn(&CellModel) -> Shown,
) -> Vec<CurvePoint> {
    let point = |(line, level, at): (usize, usize, usize)| {
        let cell = &cells[at];
        let shown = of(cell);
        CurvePoint {
            line,
            level,
            cell: cell.cell,
            estimate: shown.estimate,
            thin: shown.thin,
            published: shown.published,
        }
    };
    layout.places().map(point).collect()
}

fn of_outcome(
    layout: &Layout,
    cells: &[CellModel],
    trials: &[TrialModel],
    outcome: &Outcome,
    beside: &Beside<'_>,
) -> Curve {
    let column = beside.column(&outcome.path);
    Curve {
        name: outcome.name.clone(),
        unit: match outcome.unit {
            Unit::Time => metrics::Unit::Time,
            Unit::Plain | Unit::Bytes => metrics::Unit::Rate,
        },
        points: points(layout, cells, |cell| Shown {
            estimate: waggle_stats::estimate(&outcome.of_cell(cell, trials)),
            thin: outcome.thin(cell).map(str::to_owned),
            published: beside.value(cell.cell, column),
        }),
    }
}

/// Of each trial that came to its end: failed, of all answered.
pub(crate) fn failed_parts(cell: &CellModel, trials: &[TrialModel]) -> Vec<Part> {
    let own = trials.iter().filter(|trial| trial.key.cell == cell.cell);
    own.filter_map(|trial| {
        let numbers = trial.counts()?;
        Some(Part {
            of: numbers.failed,
            all: numbers.succeeded + numbers.failed,
        })
    })
    .collect()
}

/// The share of requests that failed: that of the tables, with the scatter between trials. No chart of nothing but zeros.
fn errors(
    layout: &Layout,
    cells: &[CellModel],
    trials: &[TrialModel],
    beside: &Beside<'_>,
) -> Curve {
    let column = beside.column(&["error_share".to_owned()]);
    let is_shown = cells.iter().any(|cell| cell.failed > 0) || column.is_some();
    let share = |cell: &CellModel| waggle_stats::share(&failed_parts(cell, trials));
    Curve {
        name: "Failed requests".to_owned(),
        unit: metrics::Unit::Share,
        points: points(layout, cells, |cell| Shown {
            estimate: is_shown.then(|| share(cell)).flatten(),
            thin: None,
            published: beside.value(cell.cell, column),
        }),
    }
}

/// The time of recovery, with gaps where a trial did not recover; nothing where it has a chart for what was published of it.
fn recovery(layout: &Layout, cells: &[CellModel], beside: &Beside<'_>) -> Option<Curve> {
    let mut columns = beside.published.iter().flat_map(|all| &all.info.columns);
    if columns.any(|column| is_recovery(&column.number)) {
        return None;
    }
    Some(Curve {
        name: "Recovery, where every trial recovered".to_owned(),
        unit: metrics::Unit::Time,
        points: points(layout, cells, |cell| Shown {
            estimate: cell.recovery.as_ref().and_then(|recovery| recovery.after),
            ..Shown::default()
        }),
    })
}

fn kinds(layout: &Layout, cells: &[CellModel]) -> Option<FailedOver> {
    // Attempts to connect are no requests, and no share of them.
    let kinds: Vec<FailureKind> = failure_kinds(cells)
        .into_iter()
        .filter(|kind| !kind.is_connect_attempt())
        .collect();
    let shares = layout.places().map(|(line, level, at)| {
        let cell = &cells[at];
        let answered = as_f64((cell.succeeded + cell.failed).max(1));
        let share = |kind: &FailureKind| {
            let found = cell.failures.iter().find(|(name, _)| name == kind);
            found.map_or(0.0, |(_, count)| as_f64(*count) / answered)
        };
        (line, level, kinds.iter().map(share).collect())
    });
    let shares = shares.collect();
    (!kinds.is_empty()).then_some(FailedOver { shares, kinds })
}

/// Published figures, and how a study names their numbers.
struct Beside<'a> {
    published: Option<&'a PublishedModel>,
    delivery_at: Option<&'a str>,
    steps: &'a [&'a str],
}

impl Beside<'_> {
    /// The place of the column whose number this is.
    fn column(&self, path: &[String]) -> Option<usize> {
        let columns = &self.published?.info.columns;
        columns
            .iter()
            .position(|column| !path.is_empty() && self.is(&column.number, path))
    }

    /// Whether a number as the study names it is that of an outcome.
    fn is(&self, number: &[String], path: &[String]) -> bool {
        match number {
            [first, place, rest @ ..] if first == "delivery" => {
                let is_last = !rest.is_empty() && Some(place.as_str()) == self.delivery_at;
                number == path || (is_last && path.split_first().is_some_and(|(_, of)| of == rest))
            }
            // What is called like a step is the step's, and these three are nobody's requests.
            [first, rest @ ..] => {
                let of_all =
                    !["components", "engine", "sessions", "watches"].contains(&first.as_str());
                rest == path && of_all && !self.steps.contains(&first.as_str())
            }
            [] => false,
        }
    }

    /// What was published of a cell in a column, where there is such a column.
    fn value(&self, cell: u32, column: Option<usize>) -> Option<f64> {
        let row = self.published?.rows.iter().find(|row| row.cell == cell)?;
        row.values.get(column?)?.published
    }

    /// A chart for each column whose number has none yet.
    fn further(&self, layout: &Layout, cells: &[CellModel]) -> Vec<Curve> {
        let Some(published) = self.published else {
            return Vec::new();
        };
        let all: Vec<&CellModel> = cells.iter().collect();
        let charted: Vec<Vec<String>> = outcomes(&all, self.delivery_at)
            .into_iter()
            .map(|outcome| outcome.path)
            .chain([vec!["error_share".to_owned()]])
            .filter(|path| !path.is_empty())
            .collect();
        let columns = published.info.columns.iter().enumerate();
        let missing =
            columns.filter(|(_, column)| !charted.iter().any(|path| self.is(&column.number, path)));
        let own = |path: &[String], cell: &CellModel| {
            cell.number(path).map(|own| match own {
                Number::Estimate(estimate) => estimate,
                Number::Exact(point) => Estimate {
                    point,
                    interval: None,
                    count: cell.counted,
                },
            })
        };
        let chart = |(place, column): (usize, &waggle_results::PublishedColumnInfo)| Curve {
            name: column.name.clone(),
            unit: published.units[place],
            points: points(layout, cells, |cell| Shown {
                estimate: own(&column.number, cell),
                thin: None,
                published: self.value(cell.cell, Some(place)),
            }),
        };
        missing.map(chart).collect()
    }
}

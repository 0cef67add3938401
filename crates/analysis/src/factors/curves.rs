//! Outcomes over the levels of a factor that are numbers: charts for each outcome, a line for each combination of the other factors'
//! levels, with the reference results of the same metric. The numbers are those of the tables.

use waggle_metrics::{Metric, NamedMetric, Statistic, Unit};
use waggle_results::{FailureKind, RunInfo, parallel_map};
use waggle_spec::{Reference, TimeKind};
use waggle_stats::{Estimate, Part, ThinTail};

use crate::{
    cell::{
        cell_model::{CellModel, failure_kinds},
        outcome::{CellTrials, Outcome, outcomes},
    },
    factors::{
        growth::{Bound, PairModel, bounds, pairs},
        laws::{CurveLaws, laws},
        layout::{Layout, Line, Over, combination_name},
        levels::numbers,
        reference::ReferenceModel,
    },
    info::{
        factor::Factor,
        metric_path::{self, without_names},
    },
    metric::{aggregate, trial_value},
    recording::histogram::as_f64,
    trial::trial_model::{TrialModel, TrialNumbers},
};

/// A line through two points says nothing of a course.
const LEVELS_AT_LEAST: usize = 3;
/// As many as there are colours, and dashes that can be told apart: levels of the two factors that make the lines of a chart.
const LEVELS_AT_MOST: [usize; 2] = [8, 4];
/// More lines than this cannot be told apart in one chart.
const LINES_AT_MOST: usize = 12;
/// Combinations of the levels of all further factors; each has a chart of its own.
const PANELS_AT_MOST: usize = 12;

/// Charts over one factor.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvesModel {
    pub over: Over,
    /// Names of the factors that make the lines and the panels.
    pub others: Vec<String>,
    /// A line for each combination of levels of `others`.
    pub lines: Vec<Line>,
    /// Each outcome has a chart for each panel, and each line is in one of them.
    pub panels: Vec<Panel>,
    pub charts: Vec<Curve>,
    /// Failed requests by kind; `None` where none failed.
    pub kinds: Option<FailedOver>,
    /// Title and source of the reference results, if a chart has any.
    pub reference: Option<(String, String)>,
    /// What lines may cross.
    pub bounds: Vec<Bound>,
    /// Two levels of a factor against each other, if the study asks for that.
    pub pairs: Vec<PairModel>,
}

/// The lines that share a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panel {
    /// The levels of the factors that do not make its lines; empty if there are no such factors.
    pub name: String,
    pub lines: Vec<PanelLine>,
}

/// A line of a panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanelLine {
    /// Place among [`CurvesModel::lines`].
    pub line: usize,
    /// The levels of the factors that make the lines of a chart.
    pub name: String,
}

/// One outcome over the levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    pub name: String,
    pub metric: Metric,
    /// The step, probe, component or metric of the system that it is a value of; `None`: of all that is sent, or of the last probe.
    pub of: Option<String>,
    pub unit: Unit,
    pub points: Vec<CurvePoint>,
    /// As in the columns of `tables.csv`.
    pub column: String,
    /// What it follows along each line.
    pub laws: CurveLaws,
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
    pub thin: Option<ThinTail>,
    /// Its reference result.
    pub reference: Option<f64>,
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
    /// Whether it has a reference result.
    #[must_use]
    pub fn has_reference(&self) -> bool {
        self.points.iter().any(|point| point.reference.is_some())
    }
}

/// `None` where no factor's levels are numbers, or what varies beside it is too much for one chart.
pub(crate) fn curves(
    info: &RunInfo,
    factors: &[Factor],
    cells: &[CellModel],
    trials: &[TrialModel],
    reference: Option<&ReferenceModel>,
) -> Option<CurvesModel> {
    let (layout, panels) = layout(factors, cells)?;
    if cells.iter().all(|cell| cell.counted == 0) {
        return None;
    }
    let data = CellTrials { cells, trials };
    let charts = parallel_map(&chart_outcomes(info, cells), |charted| {
        charted.curve(&layout, data, reference, info.seed)
    });
    let charts: Vec<Curve> = charts.into_iter().flatten().collect();
    if charts.is_empty() {
        return None;
    }
    let source = |info: &Reference| (info.title.clone(), info.source.clone());
    let has_reference = charts.iter().any(Curve::has_reference);
    Some(CurvesModel {
        kinds: kinds(&layout, cells),
        bounds: bounds(info, &charts),
        pairs: pairs(info, factors, &layout, &charts, data),
        reference: reference
            .filter(|_| has_reference)
            .map(|reference| source(&reference.info)),
        charts,
        over: layout.over,
        others: layout.others,
        lines: layout.lines,
        panels,
    })
}

/// Along the factor with the most levels that are numbers; cells over several such factors and no other are a map, not lines.
fn layout(factors: &[Factor], cells: &[CellModel]) -> Option<(Layout, Vec<Panel>)> {
    let varying: Vec<&Factor> = factors
        .iter()
        .filter(|candidate| candidate.levels.len() > 1)
        .collect();
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
    let in_lines = line_factors(&others)?;
    let levels = others.iter().map(|other| other.levels.len());
    let combinations = levels.fold(1_usize, usize::saturating_mul);
    if combinations > LINES_AT_MOST * PANELS_AT_MOST {
        return None;
    }
    let layout = Layout::new(Over::from_factor(over), &others, cells);
    let (in_lines, further) = others.split_at(in_lines);
    let panels = panels(&layout, in_lines, further);
    (panels.len() <= PANELS_AT_MOST).then_some((layout, panels))
}

/// How many of the factors make the lines of a chart: the first two, if their lines can be told apart.
fn line_factors(others: &[&Factor]) -> Option<usize> {
    let levels: Vec<usize> = others.iter().map(|other| other.levels.len()).collect();
    match levels[..] {
        [first, ..] if first > LEVELS_AT_MOST[0] => None,
        [first, second, ..] if second <= LEVELS_AT_MOST[1] && first * second <= LINES_AT_MOST => {
            Some(2)
        }
        _ => Some(levels.len().min(1)),
    }
}

/// The lines of the layout by the levels of the factors that do not make lines. A panel without any cell is none.
fn panels(layout: &Layout, in_lines: &[&Factor], further: &[&Factor]) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    let lines = layout.lines.iter().zip(&layout.cells).enumerate();
    for (line, (Line { places, .. }, cells)) in lines {
        if !further.is_empty() && cells.iter().all(Option::is_none) {
            continue;
        }
        let (panel_line, rest) = places.split_at(in_lines.len());
        let name = combination_name(further, rest);
        let panel_line = PanelLine {
            line,
            name: combination_name(in_lines, panel_line),
        };
        match panels.iter_mut().find(|panel| panel.name == name) {
            Some(panel) => panel.lines.push(panel_line),
            None => panels.push(Panel {
                name,
                lines: vec![panel_line],
            }),
        }
    }
    panels
}

/// What a chart shows of one cell.
#[derive(Default)]
struct Shown {
    estimate: Option<Estimate>,
    thin: Option<ThinTail>,
    reference: Option<f64>,
}

/// A point for every cell, with what `view` shows of it.
fn points(
    layout: &Layout,
    cells: &[CellModel],
    view: impl Fn(&CellModel) -> Shown,
) -> Vec<CurvePoint> {
    let mut points = Vec::new();
    for (line, level, index) in layout.places() {
        let cell = &cells[index];
        let shown = view(cell);
        points.push(CurvePoint {
            line,
            level,
            cell: cell.cell,
            estimate: shown.estimate,
            thin: shown.thin,
            reference: shown.reference,
        });
    }
    points
}

/// A number that has a chart, if any cell has the number.
struct Charted<'a> {
    name: String,
    named: NamedMetric<'a>,
    /// Place of the column with its reference results.
    column: Option<usize>,
    /// Whether a chart of nothing but zeros is one.
    at_zero: bool,
}

/// The outcomes, failed requests behind the response times, recovery; then every other number that the run names.
fn chart_outcomes<'a>(info: &'a RunInfo, cells: &'a [CellModel]) -> Vec<Charted<'a>> {
    let columns = || info.reference.iter().flat_map(|all| &all.columns);
    let column = |named: &NamedMetric<'_>| {
        columns().position(|column| without_names(&column.metric, info).as_ref() == Some(named))
    };
    let outcome = |outcome: Outcome<'a>| Charted {
        column: column(&outcome.named),
        name: outcome.name,
        named: outcome.named,
        at_zero: true,
    };
    let other = |name: Option<&String>, named: NamedMetric<'a>| Charted {
        name: name.map_or_else(|| named.heading(), String::clone),
        column: column(&named),
        named,
        at_zero: false,
    };
    let of_all = |metric: Metric| other(None, NamedMetric::of_all(metric));
    let mut all: Vec<Charted<'a>> = Vec::new();
    let cells: Vec<&CellModel> = cells.iter().collect();
    for entry in outcomes(&cells, info) {
        let is_last_time = entry.matches(Metric::Time(TimeKind::Response), Some(Statistic::P99));
        all.push(outcome(entry));
        all.extend(is_last_time.then(|| of_all(Metric::ErrorRate)));
    }
    all.push(of_all(Metric::RecoveryTime));
    let reference = columns().map(|column| (Some(&column.name), &column.metric));
    let named = metric_path::paths(info).map(|path| (None, path));
    for (name, path) in reference.chain(named) {
        let Some(named) = without_names(path, info) else {
            continue;
        };
        if !all.iter().any(|entry| entry.named == named) {
            all.push(other(name, named));
        }
    }
    all
}

impl Charted<'_> {
    /// `None` where there is nothing to see.
    fn curve(
        &self,
        layout: &Layout,
        data: CellTrials<'_>,
        reference: Option<&ReferenceModel>,
        seed: u64,
    ) -> Option<Curve> {
        let view = |cell: &CellModel| self.view(cell, data.trials, reference);
        let points = points(layout, data.cells, view);
        let estimates = || points.iter().filter_map(|point| point.estimate);
        let has_any = estimates().any(|estimate| self.at_zero || estimate.point != 0.0);
        let is_beside = self.column.is_some() && estimates().next().is_some();
        (has_any || is_beside).then_some(Curve {
            name: self.name.clone(),
            metric: self.named.row.metric,
            of: self.named.of.map(str::to_owned),
            unit: self.named.row.unit,
            points,
            column: self.named.column(),
            laws: laws(&self.named, layout, data, seed),
        })
    }

    fn view(
        &self,
        cell: &CellModel,
        trials: &[TrialModel],
        reference: Option<&ReferenceModel>,
    ) -> Shown {
        let cell_trials: Vec<&TrialModel> = trials
            .iter()
            .filter(|trial| trial.info.key.cell == cell.cell && trial.counts().is_some())
            .collect();
        let row = reference.and_then(|all| all.rows.iter().find(|row| row.cell == cell.cell));
        Shown {
            estimate: aggregate::estimate(&self.named, &cell_trials),
            thin: trial_value::thin(&self.named, &cell_trials),
            reference: self
                .column
                .and_then(|column| row?.values.get(column)?.reference),
        }
    }
}

/// Of each trial that came to its end: failed, of all answered.
pub(crate) fn failed_parts(cell: &CellModel, trials: &[TrialModel]) -> Vec<Part> {
    let cell_trials = trials
        .iter()
        .filter(|trial| trial.info.key.cell == cell.cell);
    let part = |numbers: &TrialNumbers| Part {
        of: numbers.counts.failed,
        all: numbers.counts.succeeded + numbers.counts.failed,
    };
    cell_trials
        .filter_map(TrialModel::counts)
        .map(part)
        .collect()
}

fn kinds(layout: &Layout, cells: &[CellModel]) -> Option<FailedOver> {
    let kinds = failure_kinds(cells, |cell| &cell.failures);
    let mut shares = Vec::new();
    for (line, level, index) in layout.places() {
        let cell = &cells[index];
        let answered = as_f64((cell.succeeded + cell.failed).max(1));
        let share = |kind: &FailureKind| {
            let failure = cell.failures.iter().find(|(name, _)| name == kind);
            failure.map_or(0.0, |(_, count)| as_f64(*count) / answered)
        };
        shares.push((line, level, kinds.iter().map(share).collect()));
    }
    (!kinds.is_empty()).then_some(FailedOver { shares, kinds })
}

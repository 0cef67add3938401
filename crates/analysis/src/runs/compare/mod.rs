//! Two sides of the same study against each other: two runs, two sets of runs, or two versions within one run. The ratio of each
//! metric in each cell, judged by a margin.
//!
//! What one value of a side is: a trial, if there is one run of each; a run, if there are three and more, because runs differ more
//! than the trials of one. Two versions within one run are compared repetition by repetition.
//!
//! A difference is stated if its interval lies outside the margin and its p-value holds together with those of all other cells
//! (Holm). Reasons: docs/design/0050-compare.md.

mod conditions;
mod judgement;
mod sides;
#[cfg(test)]
mod tests;

use waggle_metrics::{Metric, NamedMetric, Unit, Wish, resolve_in_load};
use waggle_results::{RunInfo, parallel_map};
use waggle_stats::{Aspect, Bias, Estimate, MarginTest, TrialsNeeded, Verdict, rejection_limit};

pub(crate) use conditions::conditions_changed;
pub use conditions::{Condition, ConditionChange};
pub(crate) use judgement::invert;
pub use judgement::{Judgement, Open, OpenReason};
pub use sides::{CompareError, NamedRuns, SampleUnit, SideFacts};

use self::{
    judgement::judge,
    sides::{Side, Sides},
};
use crate::{
    cell::{
        asked_metrics::headline,
        cell_model::CellModel,
        outcome::{Outcome, outcomes_with},
    },
    info::{factor::Counted, metric_path::without_names},
    metric::{aspect::aspect, number::Number},
    recording::histogram::as_f64,
    run::{left_out::LeftOutGroup, run_model::Model},
};

/// Chance that some cell is called different in a metric that the study asks about, although no cell is: below 5 %, so that the
/// rate that is promised holds for trials that are not quite lognormal, too.
const ASKED: f64 = 0.04;

/// The two sides, cell by cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareModel {
    pub study: String,
    /// What goodput counts.
    pub counted: Counted,
    /// Ratios between `1 ÷ (1 + margin)` and `1 + margin` are the same.
    pub margin: f64,
    /// The one that is compared with, and the one that is compared.
    pub sides: [SideFacts; 2],
    /// What one value is.
    pub unit: SampleUnit,
    /// Cells that both sides have, in the order of the first side.
    pub cells: Vec<CellPair>,
    /// Cells of one side alone.
    pub unmatched: [Vec<String>; 2],
    /// Cells that each side left out.
    pub left_out_cells: [Vec<LeftOutGroup>; 2],
    /// What is asked about comes first.
    pub metrics: Vec<MetricComparison>,
    /// What else differs.
    pub changes: Vec<ConditionChange>,
}

/// A cell of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct CellPair {
    pub name: String,
    pub levels: Vec<(String, String)>,
    /// The worst of each side's runs; `None`: no trial of it has run.
    pub verdicts: [Option<Verdict>; 2],
    /// Accepted records that are missing, over all trials; `None`: no account.
    pub missing: [Option<u64>; 2],
    /// Failed ÷ answered requests.
    pub error_rates: [Option<f64>; 2],
}

/// One metric over the cells.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricComparison {
    /// `Response time p99`, with the probe for a delay.
    pub name: String,
    /// Its name in files: `response_time_p99_us`.
    pub column: String,
    pub metric: Metric,
    pub unit: Unit,
    pub wish: Wish,
    /// Whether the study asks about it; the others do not count for what the comparison comes to.
    pub is_asked: bool,
    /// One for each [`CellPair`]; empty if the metric is not compared.
    pub cells: Vec<MetricPair>,
    /// Why it is not compared.
    pub left_out: Option<LeftOut>,
}

/// Why a metric is not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// The load models of the two sides differ, and times depend on the model.
    LoadModels,
}

/// A metric in a cell of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricPair {
    pub numbers: [Option<Number>; 2],
    /// The second ÷ the first; `None`: one side has no value above 0.
    pub ratio: Option<Estimate>,
    /// Compared repetition by repetition, or pair of runs by pair.
    pub is_paired: bool,
    pub p_value: Option<f64>,
    pub judgement: Judgement,
}

/// What a comparison comes to, over the metrics that the study asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcomes {
    /// Nothing is worse, nothing is undecided.
    Same,
    /// The same, and something is better.
    Better,
    /// Something is shown to be worse.
    Worse,
    /// Nothing is shown to be worse, and something is undecided.
    Undecided,
}

impl CompareModel {
    /// Metrics that the study asks about.
    pub fn asked_metrics(&self) -> impl Iterator<Item = &MetricComparison> {
        self.metrics.iter().filter(|metric| metric.is_asked)
    }

    /// What it comes to.
    #[must_use]
    pub fn outcome(&self) -> Outcomes {
        let judgements = || self.asked_metrics().flat_map(|metric| &metric.cells);
        let has = |is: fn(&Judgement) -> bool| judgements().any(|pair| is(&pair.judgement));
        let loses_records = self.cells.iter().any(CellPair::loses_records);
        let is_whole = self.unmatched.iter().all(Vec::is_empty) && judgements().next().is_some();
        let is_left_out = self.asked_metrics().any(|metric| metric.left_out.is_some());
        if loses_records
            || has(|judgement| matches!(judgement, Judgement::Worse | Judgement::Different))
        {
            Outcomes::Worse
        } else if !is_whole
            || is_left_out
            || has(|judgement| matches!(judgement, Judgement::Undecided(_)))
        {
            Outcomes::Undecided
        } else if has(|judgement| *judgement == Judgement::Better) {
            Outcomes::Better
        } else {
            Outcomes::Same
        }
    }

    /// The trials (or runs) of each side that decide all that is undecided; `None`: of some metric no number is known.
    #[must_use]
    pub fn trials_needed(&self) -> Option<TrialsNeeded> {
        let pairs = self.asked_metrics().flat_map(|metric| &metric.cells);
        let needed = pairs.filter_map(|pair| match pair.judgement {
            Judgement::Undecided(open) => Some(open.trials_needed),
            _ => None,
        });
        let needed: Vec<TrialsNeeded> = needed.collect::<Option<_>>()?;
        needed.into_iter().reduce(TrialsNeeded::combine)
    }
}

impl CellPair {
    /// The second side misses accepted records, and the first one does not.
    #[must_use]
    pub fn loses_records(&self) -> bool {
        matches!(self.missing, [Some(0) | None, Some(missing)] if missing > 0)
    }
}

/// Compares two runs, or two sets of runs, of the same study.
///
/// # Errors
/// They cannot be compared.
pub fn compare(
    first: NamedRuns<'_>,
    second: NamedRuns<'_>,
    settings: &CompareSettings,
) -> Result<CompareModel, CompareError> {
    compare_sides(&Sides::from_runs(first, second)?, settings)
}

/// Compares the two levels of a factor within one run, which has exactly two.
///
/// # Errors
/// The run has no such factor.
pub fn compare_levels(
    model: &Model,
    factor: &str,
    settings: &CompareSettings,
) -> Result<CompareModel, CompareError> {
    compare_sides(&Sides::from_levels(model, factor)?, settings)
}

/// How sides are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareSettings {
    /// 0 or more.
    pub margin: f64,
    /// Paths of the metrics that count for the answer; empty: those that the study asks about.
    pub metrics: Vec<Vec<String>>,
}

fn compare_sides(
    sides: &Sides<'_>,
    settings: &CompareSettings,
) -> Result<CompareModel, CompareError> {
    let [first, second] = &sides.sides;
    let reference = first.reference();
    let asked = resolve_asked(&reference.info, &settings.metrics)?;
    let outcomes = outcomes_with(&asked, &reference.cells, &reference.info);
    let margin = settings.margin;
    let keys = sides.shared_cells();
    let mut metrics = parallel_map(&outcomes, |outcome| {
        compare_metric(sides, &keys, outcome, margin, outcome.is_asked(&asked))
    });
    hold_together(&mut metrics);
    Ok(CompareModel {
        study: reference.info.study.clone(),
        counted: reference.counted,
        margin,
        sides: [first.facts(), second.facts()],
        unit: sides.unit,
        cells: keys.iter().map(|key| cell_pair(sides, key)).collect(),
        unmatched: sides.unmatched_names(),
        left_out_cells: sides.sides.each_ref().map(Side::left_out),
        metrics,
        changes: sides.changes(),
    })
}

/// The metrics that count for the answer.
pub(crate) fn resolve_asked<'a>(
    info: &'a RunInfo,
    paths: &'a [Vec<String>],
) -> Result<Vec<NamedMetric<'a>>, CompareError> {
    if paths.is_empty() {
        return Ok(headline(info));
    }
    // The name of the request may be left out, as in `waggle load`.
    let metric = |path: &'a Vec<String>| {
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        let named_metric = without_names(path, info).or_else(|| resolve_in_load(&parts));
        named_metric.ok_or_else(|| CompareError::NoMetric(path.join(".")))
    };
    paths.iter().map(metric).collect()
}

type Key = Vec<(String, String)>;

fn cell_pair(sides: &Sides<'_>, key: &Key) -> CellPair {
    let both = sides.sides.each_ref().map(|side| side.cells(key));
    let verdict = |(_, cell): &(usize, &CellModel)| cell.verdict;
    CellPair {
        name: sides.cell_name(key),
        levels: key.clone(),
        verdicts: both.map(|cells| cells.iter().filter_map(verdict).max()),
        missing: both.map(missing_records),
        error_rates: both.map(error_rate),
    }
}

/// `None`: no account.
fn missing_records(cells: &[(usize, &CellModel)]) -> Option<u64> {
    let ledgers = cells.iter().filter_map(|(_, cell)| cell.ledger.as_ref());
    ledgers
        .map(|ledger| ledger.missing)
        .reduce(|sum, missing| sum + missing)
}

/// `None`: nothing was answered.
fn error_rate(cells: &[(usize, &CellModel)]) -> Option<f64> {
    let failed: u64 = cells.iter().map(|(_, cell)| cell.failed).sum();
    let answered: u64 = failed + cells.iter().map(|(_, cell)| cell.succeeded).sum::<u64>();
    (answered > 0).then(|| as_f64(failed) / as_f64(answered))
}

fn compare_metric(
    sides: &Sides<'_>,
    keys: &[Key],
    outcome: &Outcome<'_>,
    margin: f64,
    is_asked: bool,
) -> MetricComparison {
    let row = outcome.named.row;
    let is_time = matches!(aspect(row.metric), Aspect::Times | Aspect::Delivery);
    let left_out = (is_time && !sides.has_one_load_model()).then_some(LeftOut::LoadModels);
    let pair = |key: &Key| compare_cell(sides, key, outcome, margin);
    MetricComparison {
        name: outcome.name.clone(),
        column: outcome.named.column(),
        metric: row.metric,
        unit: row.unit,
        wish: row.wish,
        is_asked,
        cells: match left_out {
            Some(_) => Vec::new(),
            None => keys.iter().map(pair).collect(),
        },
        left_out,
    }
}

fn compare_cell(sides: &Sides<'_>, key: &Key, outcome: &Outcome<'_>, margin: f64) -> MetricPair {
    let [first, second] = &sides.sides;
    let named: &NamedMetric<'_> = &outcome.named;
    let resolution = [first, second]
        .map(|side| side.resolution(key, outcome))
        .into_iter()
        .fold(0.0, f64::max);
    let samples = [0, 1].map(|index| sides.samples(index, key, outcome));
    let margin_test =
        waggle_stats::compare_with_margin(&samples[1], &samples[0], resolution, margin);
    let mut biases: Vec<Bias> = second.biases(key, named.row.metric);
    let of_first = first.biases(key, named.row.metric);
    biases.extend(of_first.into_iter().map(invert));
    let judgement = judge(margin_test.as_ref(), &biases, margin, named.row.wish);
    let MarginTest {
        estimate,
        p_value,
        is_paired,
        ..
    } = match margin_test {
        Some(margin_test) => margin_test,
        None => {
            return MetricPair {
                numbers: [first.number(key, outcome), second.number(key, outcome)],
                ratio: None,
                is_paired: false,
                p_value: None,
                judgement,
            };
        }
    };
    MetricPair {
        numbers: [first.number(key, outcome), second.number(key, outcome)],
        ratio: Some(estimate),
        is_paired,
        p_value,
        judgement,
    }
}

/// Keeps the differences that hold together: of what the study asks about as a whole, of each other metric over its cells.
fn hold_together(metrics: &mut [MetricComparison]) {
    let p_values = |metrics: &[&MetricComparison]| -> Vec<f64> {
        let pairs = metrics.iter().flat_map(|metric| &metric.cells);
        pairs.filter_map(|pair| pair.p_value).collect()
    };
    let asked: Vec<&MetricComparison> = metrics.iter().filter(|metric| metric.is_asked).collect();
    let of_asked = rejection_limit(&p_values(&asked), ASKED);
    for metric in metrics {
        let limit = match metric.is_asked {
            true => of_asked,
            false => rejection_limit(&p_values(&[metric]), ASKED),
        };
        for pair in &mut metric.cells {
            if pair.p_value.is_some_and(|p_value| p_value > limit) {
                pair.judgement = pair.judgement.without_difference();
            }
        }
    }
}

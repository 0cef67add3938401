//! Whether the machine drifted while the study ran: its repetitions against each other, and the sentinel over time.
//!
//! The trials of a repetition are a block of all cells. Repetitions are compared cell by cell, so that it does not matter how the
//! cells differ. The sentinel is one cell that is run every so often. Reasons and rates: docs/design/0049-host-drift.md.

use std::collections::{BTreeMap, BTreeSet};

use waggle_metrics::{NamedMetric, Unit};
use waggle_results::RunInfo;
use waggle_stats::{Blocks, Estimate, rejection_limit, trend};

use crate::{
    cell::asked_metrics::headline,
    metric::{scale::scale, trial_value},
    trial::trial_model::TrialModel,
};

/// A drift is shown below this p-value, over all pairs of repetitions.
const SHOWN: f64 = 0.01;
/// A smaller drift is none worth a sentence.
const LEAST: f64 = 0.05;

/// What is known of the machine's drift.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftModel {
    /// The metric that shows it: what the study asks about first.
    pub metric: String,
    pub unit: Unit,
    /// `None`: fewer than two cells with two repetitions.
    pub repetitions: Option<RepetitionDrift>,
    /// `None`: the study has no sentinel.
    pub sentinel: Option<SentinelModel>,
}

/// The two repetitions that differ most.
#[derive(Debug, Clone, PartialEq)]
pub struct RepetitionDrift {
    pub first: u32,
    pub second: u32,
    /// The metric in the second ÷ in the first, over cells. Its interval holds together with those of all other pairs.
    pub ratio: Estimate,
    pub is_shown: bool,
    /// How many repetitions were compared, and over how many cells those two.
    pub repetitions: usize,
    pub cells: usize,
    /// The largest change, up or down, that the intervals of all compared pairs contain, as a ratio above 1; `None`: there is no limit.
    pub not_excluded: Option<f64>,
}

/// The cell that is run every so often.
#[derive(Debug, Clone, PartialEq)]
pub struct SentinelModel {
    /// In the order of time.
    pub points: Vec<SentinelPoint>,
    /// The last level ÷ the first; `None` of few points.
    pub trend: Option<Estimate>,
    pub is_shown: bool,
}

/// One trial of the sentinel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SentinelPoint {
    /// In the order of execution, counted from 1.
    pub position: u32,
    pub value: f64,
}

impl DriftModel {
    /// Whether a drift is shown.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        let by_repetitions = self
            .repetitions
            .as_ref()
            .is_some_and(|drift| drift.is_shown);
        by_repetitions || self.sentinel.as_ref().is_some_and(|drift| drift.is_shown)
    }
}

/// Of the trials of all cells, and of those of the sentinel.
pub(crate) fn drift(
    info: &RunInfo,
    trials: &[TrialModel],
    sentinel: &[TrialModel],
) -> Option<DriftModel> {
    let named = headline(info).into_iter().next()?;
    let repetitions = repetition_drift(&named, trials).filter(|_| info.search.is_none());
    let sentinel = (!sentinel.is_empty()).then(|| sentinel_drift(&named, sentinel));
    if repetitions.is_none() && sentinel.is_none() {
        return None;
    }
    Some(DriftModel {
        metric: named.heading(),
        unit: named.row.unit,
        repetitions,
        sentinel,
    })
}

/// The pairs of repetitions that rest on the same cells.
struct Compared {
    blocks: Blocks,
    /// By index.
    pairs: Vec<(usize, usize)>,
}

fn repetition_drift(named: &NamedMetric<'_>, trials: &[TrialModel]) -> Option<RepetitionDrift> {
    let counted: Vec<&TrialModel> = trials
        .iter()
        .filter(|trial| trial.counts().is_some())
        .collect();
    let compared = compared_repetitions(&values_by_cell(named, &counted));
    let pairs = compared.iter().flat_map(|same| {
        let pairs = same.pairs.iter();
        pairs.map(|&(first, second)| (&same.blocks, (first, second)))
    });
    let p_values = pairs
        .clone()
        .map(|(blocks, (first, second))| blocks.p_value(first, second));
    let p_values: Vec<f64> = p_values.collect();
    let limit = rejection_limit(&p_values, SHOWN);
    let size =
        |blocks: &Blocks, (first, second): (usize, usize)| blocks.log_ratio(first, second).abs();
    // The largest of those that are shown, else the largest.
    let largest = pairs.clone().zip(&p_values).max_by(|(a, p_a), (b, p_b)| {
        let by_size = size(a.0, a.1).total_cmp(&size(b.0, b.1));
        (**p_a <= limit).cmp(&(**p_b <= limit)).then(by_size)
    });
    let ((blocks, pair), p_value) = largest?;
    let resolution = scale(named, &counted).resolution;
    let of_pair = |blocks: &Blocks, pair| blocks.ratio(pair, resolution, p_values.len());
    let ratio = of_pair(blocks, pair)?;
    let bounds = pairs
        .clone()
        .map(|(blocks, pair)| largest_change(&of_pair(blocks, pair)?));
    let bounds: Option<Vec<f64>> = bounds.collect();
    let number = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
    Some(RepetitionDrift {
        first: number(pair.0),
        second: number(pair.1),
        is_shown: *p_value <= limit && is_worth_a_sentence(&ratio),
        ratio,
        cells: blocks.groups(),
        not_excluded: bounds.and_then(|bounds| bounds.into_iter().reduce(f64::max)),
        repetitions: pairs.map(|(_, (_, second))| second + 1).max()?,
    })
}

/// The largest change, up or down, that the interval contains.
fn largest_change(ratio: &Estimate) -> Option<f64> {
    let (low, high) = ratio.interval?;
    Some(high.max(1.0 / low)).filter(|change| change.is_finite())
}

/// Each cell's values from the first repetition on, up to the first that it lacks.
fn values_by_cell(named: &NamedMetric<'_>, counted: &[&TrialModel]) -> Vec<Vec<f64>> {
    let mut cells: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
    for trial in counted {
        let value = trial_value::in_trial(named, trial).filter(|value| *value > 0.0);
        let cell_values = cells.entry(trial.info.key.cell).or_default();
        cell_values.extend(value.map(|value| (trial.info.key.repetition, value)));
    }
    let leading = |cell_values: BTreeMap<u32, f64>| {
        let numbered = (1..).zip(cell_values);
        let leading = numbered.take_while(|(expected, (repetition, _))| expected == repetition);
        leading.map(|(_, (_, value))| value).collect()
    };
    cells.into_values().map(leading).collect()
}

/// Every pair of repetitions. Cells have different numbers of them: a pair rests on the cells that have both, and its scatter on all
/// repetitions that these cells have.
fn compared_repetitions(cells: &[Vec<f64>]) -> Vec<Compared> {
    let lengths: BTreeSet<usize> = cells.iter().map(Vec::len).collect();
    let mut known = 0;
    let mut all = Vec::new();
    for length in lengths {
        let groups = cells.iter().filter(|cell| cell.len() >= length);
        let groups: Vec<Vec<f64>> = groups.map(|cell| cell[..length].to_vec()).collect();
        if let Some(blocks) = Blocks::from_groups(&groups) {
            let seconds = known..length;
            let pairs = seconds.flat_map(|second| (0..second).map(move |first| (first, second)));
            let pairs = pairs.collect();
            all.push(Compared { blocks, pairs });
            known = length;
        }
    }
    all
}

/// Whether it is large enough, and more than the metric can tell apart.
fn is_worth_a_sentence(ratio: &Estimate) -> bool {
    ratio.point.ln().abs() >= LEAST.ln_1p() && waggle_stats::is_above(ratio).is_some()
}

fn sentinel_drift(named: &NamedMetric<'_>, trials: &[TrialModel]) -> SentinelModel {
    let mut points: Vec<SentinelPoint> = trials
        .iter()
        .filter(|trial| trial.counts().is_some())
        .filter_map(|trial| {
            Some(SentinelPoint {
                position: trial.info.position,
                value: trial_value::in_trial(named, trial)?,
            })
        })
        .collect();
    points.sort_by_key(|point| point.position);
    let (times, values): (Vec<f64>, Vec<f64>) = points
        .iter()
        .map(|point| (f64::from(point.position), point.value))
        .unzip();
    let time_trend = trend(&times, &values);
    SentinelModel {
        is_shown: time_trend.is_some_and(|time_trend| {
            let is_clear = time_trend.p_value.is_some_and(|p_value| p_value <= SHOWN);
            is_clear && is_worth_a_sentence(&time_trend.estimate)
        }),
        trend: time_trend.map(|time_trend| time_trend.estimate),
        points,
    }
}

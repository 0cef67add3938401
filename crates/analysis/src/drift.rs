//! Whether the machine drifted while the study ran: its repetitions against each other, and the sentinel over time.
//!
//! The trials of a repetition are a block of all cells. Two repetitions are compared cell by cell, so that it does not matter how the
//! cells differ. The sentinel is one cell that is run every so often. Reasons and rates: docs/design/0049-host-drift.md.

use waggle_metrics::{NamedMetric, Unit};
use waggle_results::RunInfo;
use waggle_stats::{Estimate, Sample, TestedEstimate, rejection_limit, trend};

use crate::{
    TrialModel,
    asked::headline,
    metric::{self},
};

/// A drift is shown below this p-value, over all pairs of repetitions.
const SHOWN: f64 = 0.01;
/// A smaller drift is none worth a sentence.
const LEAST: f64 = 0.05;
/// Cells that a comparison of two repetitions needs.
const MIN_CELLS: usize = 4;

/// What is known of the machine's drift.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftModel {
    /// The metric that shows it: what the study asks about first.
    pub metric: String,
    pub unit: Unit,
    /// `None`: fewer than two repetitions, or few cells.
    pub repetitions: Option<RepetitionDrift>,
    /// `None`: the study has no sentinel.
    pub sentinel: Option<SentinelModel>,
}

/// The two repetitions that differ most.
#[derive(Debug, Clone, PartialEq)]
pub struct RepetitionDrift {
    pub first: u32,
    pub second: u32,
    /// The metric in the second ÷ in the first, over cells.
    pub ratio: Estimate,
    pub is_shown: bool,
    /// How many repetitions were compared.
    pub repetitions: usize,
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
        let by_repetitions = self.repetitions.as_ref().is_some_and(|one| one.is_shown);
        by_repetitions || self.sentinel.as_ref().is_some_and(|one| one.is_shown)
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

fn repetition_drift(named: &NamedMetric<'_>, trials: &[TrialModel]) -> Option<RepetitionDrift> {
    let counted = trials.iter().filter(|trial| trial.counts().is_some());
    let last = counted.clone().map(|trial| trial.key.repetition).max()?;
    // The cells of a repetition take the place of the repetitions of a cell.
    let of_repetition = |repetition: u32| -> Vec<Sample> {
        let own = counted
            .clone()
            .filter(|trial| trial.key.repetition == repetition);
        let values = own.filter_map(|trial| {
            let value = metric::in_trial(named, trial)?;
            Some(Sample::exact(trial.key.cell, value))
        });
        values.collect()
    };
    let each: Vec<(u32, Vec<Sample>)> = (1..=last)
        .map(|repetition| (repetition, of_repetition(repetition)))
        .collect();
    let pairs = (0..each.len()).flat_map(|a| (a + 1..each.len()).map(move |b| (a, b)));
    let pairs: Vec<((u32, u32), TestedEstimate)> = pairs
        .filter_map(|(a, b)| {
            let found = compare(&each[a].1, &each[b].1)?;
            Some(((each[a].0, each[b].0), found))
        })
        .collect();
    let p_values = pairs.iter().filter_map(|(_, found)| found.p_value);
    let limit = rejection_limit(&p_values.collect::<Vec<f64>>(), SHOWN);
    let size = |found: &TestedEstimate| found.estimate.point.ln().abs();
    let is_shown = |found: &TestedEstimate| {
        found.p_value.is_some_and(|p_value| p_value <= limit) && size(found) >= LEAST.ln_1p()
    };
    let largest = pairs.iter().max_by(|(_, a), (_, b)| {
        (is_shown(a), size(a))
            .partial_cmp(&(is_shown(b), size(b)))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let ((first, second), found) = largest?;
    let compared = |(repetition, _): &&(u32, Vec<Sample>)| {
        let mut pairs = pairs.iter();
        pairs.any(|((a, b), _)| a == repetition || b == repetition)
    };
    Some(RepetitionDrift {
        first: *first,
        second: *second,
        ratio: found.estimate,
        is_shown: is_shown(found),
        repetitions: each.iter().filter(compared).count(),
    })
}

/// Over the cells that both repetitions have.
fn compare(first: &[Sample], second: &[Sample]) -> Option<TestedEstimate> {
    let shared = |own: &[Sample], other: &[Sample]| -> Vec<Sample> {
        let is_shared = |one: &&Sample| {
            let mut others = other.iter();
            others.any(|other| other.repetition == one.repetition)
        };
        own.iter().filter(is_shared).copied().collect()
    };
    let (first, second) = (shared(first, second), shared(second, first));
    if first.len() < MIN_CELLS {
        return None;
    }
    waggle_stats::ratio(&second, &first, 0.0).filter(|found| found.p_value.is_some())
}

fn sentinel_drift(named: &NamedMetric<'_>, trials: &[TrialModel]) -> SentinelModel {
    let mut points: Vec<SentinelPoint> = trials
        .iter()
        .filter(|trial| trial.counts().is_some())
        .filter_map(|trial| {
            Some(SentinelPoint {
                position: trial.position,
                value: metric::in_trial(named, trial)?,
            })
        })
        .collect();
    points.sort_by_key(|point| point.position);
    let (times, values): (Vec<f64>, Vec<f64>) = points
        .iter()
        .map(|point| (f64::from(point.position), point.value))
        .unzip();
    let found = trend(&times, &values);
    SentinelModel {
        is_shown: found.is_some_and(|found| {
            found.p_value.is_some_and(|p_value| p_value <= SHOWN)
                && found.estimate.point.ln().abs() >= LEAST.ln_1p()
        }),
        trend: found.map(|found| found.estimate),
        points,
    }
}

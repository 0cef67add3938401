//! How far a metric of a cell is known: its interval over trials, opened by the doubts about this metric.
//!
//! A doubt that has a direction opens the interval on that side. Three trials without one close it again: they bound what the others
//! leave open, so that all values of their own interval belong to the range too. Rates: docs/design/0088-answers-by-ranges.md.

use waggle_metrics::NamedMetric;
use waggle_stats::{Bias, CLEAN_TRIALS_MIN, MetricVerdict, Range, Reason};

use crate::{
    metric::{
        aggregate,
        aspect::aspect,
        biases::{biases, resolve_biases, shared_biases, trial_biases},
        number::Number,
        windows,
    },
    trial::trial_model::TrialModel,
};

/// In which directions a metric may differ over trials that came to their end, beyond its interval.
pub(crate) fn open_biases(
    named: &NamedMetric<'_>,
    trials: &[&TrialModel],
    of_cell: &[Reason],
) -> Vec<Bias> {
    let biases = shared_biases(&biases_of_each(named, trials)).into_iter();
    biases.chain(biases_of_cell(named, of_cell)).collect()
}

fn biases_of_each(named: &NamedMetric<'_>, trials: &[&TrialModel]) -> Vec<Vec<Bias>> {
    let metric = named.row.metric;
    let biases = |trial: &&TrialModel| {
        resolve_biases(metric, trial_biases(aspect(metric), trial, trials.len()))
    };
    trials.iter().map(biases).collect()
}

fn biases_of_cell(named: &NamedMetric<'_>, reasons: &[Reason]) -> Vec<Bias> {
    let metric = named.row.metric;
    resolve_biases(metric, biases(aspect(metric), reasons))
}

/// A metric of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// Over all trials that came to their end.
    pub number: Number,
    /// All values that the system can have.
    pub range: Range,
    /// It is that of a few windows of a sample, which do not show it.
    pub is_hidden: bool,
}

impl Known {
    /// Over trials that came to their end; `of_cell`: the reasons that the cell has over its trials. `None` if no trial has the metric.
    pub(crate) fn over_trials(
        named: &NamedMetric<'_>,
        trials: &[&TrialModel],
        of_cell: &[Reason],
    ) -> Option<Self> {
        let number = aggregate::over_trials(named, trials)?;
        if let Some(hidden) = windows::hidden_value(named, trials) {
            return Some(Self {
                number,
                range: hidden.within,
                is_hidden: true,
            });
        }
        let each = biases_of_each(named, trials);
        let biases = shared_biases(&each).into_iter();
        let range = Range::new(number.ends(), biases.chain(biases_of_cell(named, of_cell)));
        let clean: Vec<&TrialModel> = trials
            .iter()
            .zip(&each)
            .filter(|(_, trial_biases)| trial_biases.is_empty())
            .map(|(trial, _)| *trial)
            .collect();
        let is_bounded = clean.len() >= CLEAN_TRIALS_MIN && clean.len() < trials.len();
        let of_clean = aggregate::over_trials(named, &clean).filter(|_| is_bounded);
        let of_clean = of_clean.map(|number| Range::new(number.ends(), []));
        Some(Self {
            number,
            range: of_clean.map_or(range, |other| range.hull(other)),
            is_hidden: false,
        })
    }

    /// Whether it is known, bounded, or unknown. A value whose own range is wide is a bound, and so is what windows do not show.
    #[must_use]
    pub fn verdict(&self) -> MetricVerdict {
        match self.range.verdict() {
            MetricVerdict::Estimate if self.is_hidden || self.number.shown_least().is_some() => {
                MetricVerdict::Bound
            }
            verdict => verdict,
        }
    }
}

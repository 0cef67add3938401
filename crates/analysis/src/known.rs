//! How far a metric of a cell is known: its interval over trials, opened by the doubts about this metric.
//!
//! A doubt that has a direction opens the interval on that side. Three trials without one close it again: they bound what the others
//! leave open, so that all values of their own interval belong to the range too. Rates: docs/design/0088-answers-by-ranges.md.

use waggle_metrics::NamedMetric;
use waggle_stats::{Bias, CLEAN_TRIALS_MIN, MetricVerdict, Range, Reason};

use crate::{
    Number, TrialModel,
    asked::{aspect, common_biases, resolved, trial_biases},
    metric,
};

/// A metric of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// Over all trials that came to their end.
    pub number: Number,
    /// All values that the system can have.
    pub range: Range,
}

impl Known {
    /// Over trials that came to their end; `of_cell`: the reasons that the cell has over its trials. `None` if no trial has the metric.
    pub(crate) fn over_trials(
        named: &NamedMetric<'_>,
        trials: &[&TrialModel],
        of_cell: &[Reason],
    ) -> Option<Self> {
        let number = metric::over_trials(named, trials)?;
        let metric = named.row.metric;
        let aspect = aspect(metric);
        let own = |trial: &TrialModel| resolved(metric, trial_biases(aspect, trial));
        let each: Vec<Vec<Bias>> = trials.iter().map(|trial| own(trial)).collect();
        let of_cell = resolved(metric, crate::asked::biases(aspect, of_cell));
        let biases = common_biases(&each).into_iter().chain(of_cell);
        let range = Range::new(number.ends(), biases);
        let clean: Vec<&TrialModel> = trials
            .iter()
            .zip(&each)
            .filter(|(_, own)| own.is_empty())
            .map(|(trial, _)| *trial)
            .collect();
        let is_bounded = clean.len() >= CLEAN_TRIALS_MIN && clean.len() < trials.len();
        let of_clean = metric::over_trials(named, &clean).filter(|_| is_bounded);
        let of_clean = of_clean.map(|number| Range::new(number.ends(), []));
        Some(Self {
            number,
            range: of_clean.map_or(range, |other| range.hull(other)),
        })
    }

    /// Whether it is known, bounded, or unknown. A value whose own range is wide is a bound.
    #[must_use]
    pub fn verdict(&self) -> MetricVerdict {
        match self.range.verdict() {
            MetricVerdict::Estimate if self.number.shown_least().is_some() => MetricVerdict::Bound,
            verdict => verdict,
        }
    }
}

//! The metrics that a study asks about, what a cell has of them, and how far that may be believed.
//!
//! A doubt belongs to a metric (`waggle_stats::Doubt`): here is which metric is of which kind, and which metrics count for the
//! verdict of a cell. A study names them (`asks`); without that they are those that its load model leaves open.

use waggle_metrics::{Metric, NamedMetric, OverTrials, Statistic, Unit};
use waggle_results::RunInfo;
use waggle_spec::{Comparison, LoadKind, TimeKind};
use waggle_stats::{Asked, Aspect, Bias, Estimate, MetricVerdict, Range, Reason, Scale};

use crate::{
    cell::{
        decision::{Decision, decide},
        outcome::{Outcome, headline_outcomes},
    },
    info::metric_path::without_names,
    metric::{
        aggregate,
        aspect::aspect,
        biases::{has_doubt, has_lag, resolve_biases, shared_biases, trial_biases},
        known::Known,
        number::Number,
        reading::Reading,
        scale::scale,
        trial_value,
    },
    trial::trial_model::TrialModel,
};

/// What the study is about: what it `asks`; else what a search must hold; else what its load model leaves open. In closed load
/// that is the goodput; where the load comes by itself, the goodput is what was asked for, and the response time is open.
#[must_use]
pub fn headline(info: &RunInfo) -> Vec<NamedMetric<'_>> {
    let asks: Vec<NamedMetric<'_>> = resolve_all(info, &info.asks).collect();
    if !asks.is_empty() {
        return asks;
    }
    if let Some(search) = &info.search {
        let conditions = search.conditions.iter().map(|condition| &condition.metric);
        return resolve_all(info, conditions).collect();
    }
    let goodput = NamedMetric::of_all(Metric::Goodput);
    let p99 = NamedMetric {
        statistic: Some(Statistic::P99),
        ..NamedMetric::of_all(Metric::Time(TimeKind::Response))
    };
    match info.load_model {
        // A file comes without a question: it is about all that it shows.
        LoadKind::Closed if info.imported.is_some() => vec![goodput, p99],
        LoadKind::Closed | LoadKind::Clients => vec![goodput],
        LoadKind::Open | LoadKind::Users => vec![p99],
    }
}

/// The headline, and what thresholds and conditions name; each once.
pub(crate) fn asked_metrics(info: &RunInfo) -> Vec<NamedMetric<'_>> {
    let thresholds = info.thresholds.iter();
    let conditions = info.search.iter().flat_map(|search| &search.conditions);
    let named = thresholds
        .chain(conditions)
        .map(|condition| &condition.metric);
    let mut all = headline(info);
    for metric in resolve_all(info, named) {
        if !all.contains(&metric) {
            all.push(metric);
        }
    }
    all
}

fn resolve_all<'a>(
    info: &'a RunInfo,
    paths: impl IntoIterator<Item = &'a Vec<String>>,
) -> impl Iterator<Item = NamedMetric<'a>> {
    let paths = paths.into_iter();
    paths.filter_map(|path| without_names(path, info))
}

/// The limits that thresholds and conditions set to a metric, each with its comparison; `None`: it is part of the headline.
pub(crate) fn limits_of(info: &RunInfo, named: &NamedMetric<'_>) -> Option<Vec<(Comparison, f64)>> {
    if headline(info).contains(named) {
        return None;
    }
    let conditions = info.search.iter().flat_map(|search| &search.conditions);
    let limits = info.thresholds.iter().chain(conditions);
    let limits = limits.filter(|limit| without_names(&limit.metric, info).as_ref() == Some(named));
    Some(limits.map(|limit| (limit.op, limit.value)).collect())
}

/// Whether the width of an interval leaves something open: that of the headline always does, that of a metric with limits only if
/// one of them lies within it.
pub(crate) fn is_width_open(limits: Option<&[(Comparison, f64)]>, estimate: &Estimate) -> bool {
    let (Some(limits), Some(interval)) = (limits, estimate.interval) else {
        return true;
    };
    let range = Range::new(interval, []);
    let mut limits = limits.iter();
    limits.any(|(op, limit)| decide(*op, range, *limit) == Decision::Undecided)
}

/// Whether a doubt changes what is said of a metric: of one with limits only if one of them is decided without it and open with it.
fn is_doubt_open(limits: Option<&[(Comparison, f64)]>, number: Number, biases: &[Bias]) -> bool {
    let Some(limits) = limits else {
        return true;
    };
    let ends = |op: Comparison| match op {
        // Equality is asked of counts, which are exact.
        Comparison::Equal => (number.point(), number.point()),
        _ => number.ends(),
    };
    let is_open = |op: Comparison, limit: f64, biases: &[Bias]| {
        let range = Range::new(ends(op), biases.iter().copied());
        decide(op, range, limit) == Decision::Undecided
    };
    let mut limits = limits.iter();
    limits.any(|(op, limit)| !is_open(*op, *limit, &[]) && is_open(*op, *limit, biases))
}

/// What one trial that came to its end has of a metric that the study asks about.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedReading {
    aspect: Aspect,
    over_trials: OverTrials,
    /// What thresholds and conditions compare it with; `None`: it is part of the headline.
    limits: Option<Vec<(Comparison, f64)>>,
    /// `None`: the trial does not have it.
    reading: Option<Reading>,
    scale: Scale,
    /// In which directions the system's own value may differ.
    biases: Vec<Bias>,
    /// The generator's lag makes it doubtful.
    has_lag: bool,
}

/// What changes within a trial is in the interval of several.
const SEVERAL: usize = 2;

/// One for each metric that the study asks about, in the same order for every trial.
pub(crate) fn asked_readings(info: &RunInfo, trial: &TrialModel) -> Vec<AskedReading> {
    let metrics = asked_metrics(info).into_iter();
    metrics
        .map(|named| asked_reading(&named, info, trial))
        .collect()
}

fn asked_reading(named: &NamedMetric<'_>, info: &RunInfo, trial: &TrialModel) -> AskedReading {
    let metric = named.row.metric;
    let aspect = aspect(metric);
    AskedReading {
        aspect,
        over_trials: named.over_trials(),
        limits: limits_of(info, named),
        reading: trial_value::reading_of(named, trial),
        scale: scale(named, &[trial]),
        biases: resolve_biases(metric, trial_biases(aspect, trial, SEVERAL)),
        has_lag: has_lag(aspect, &trial.reasons),
    }
}

/// What trials that came to their end have of each metric that is asked about.
pub(crate) fn estimate_readings(trials: &[&[AskedReading]]) -> Vec<Asked> {
    let metrics = trials.first().map_or(0, |readings| readings.len());
    let of_metric = |index: usize| -> Vec<&AskedReading> {
        trials.iter().filter_map(|trial| trial.get(index)).collect()
    };
    (0..metrics)
        .filter_map(|index| estimate_metric(&of_metric(index)))
        .collect()
}

/// From the readings of one metric.
fn estimate_metric(asked_readings: &[&AskedReading]) -> Option<Asked> {
    let first = asked_readings.first()?;
    let entries = asked_readings.iter();
    let scale = entries.map(|entry| entry.scale).reduce(Scale::coarser)?;
    let readings: Vec<Option<Reading>> = asked_readings.iter().map(|entry| entry.reading).collect();
    // More trials do not narrow the range in which a value is known.
    let without_ranges = readings
        .iter()
        .map(|reading| reading.map(Reading::without_range));
    let without_ranges: Vec<Option<Reading>> = without_ranges.collect();
    let estimate = match aggregate::aggregate(first.over_trials, &without_ranges, scale) {
        Some(Number::Estimate(estimate)) => Some(estimate),
        Some(Number::Exact(_) | Number::Within(_)) | None => None,
    };
    let known = aggregate::aggregate(first.over_trials, &readings, scale);
    let biases = asked_readings.iter().map(|entry| entry.biases.clone());
    let biases = shared_biases(&biases.collect::<Vec<_>>());
    let limits = first.limits.as_deref();
    let is_wide = known.is_some_and(|number| number.shown_least().is_some());
    let is_unbounded = asked_readings
        .iter()
        .any(|entry| entry.has_lag && !entry.biases.is_empty());
    Some(Asked {
        aspect: first.aspect,
        estimate: estimate.filter(|entry| is_width_open(limits, entry)),
        is_open: known.is_none_or(|number| is_doubt_open(limits, number, &biases)),
        is_open_by_lag: is_wide || is_unbounded,
    })
}

/// A metric that the study asks about, in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedMetric {
    pub name: String,
    pub metric: Metric,
    pub unit: Unit,
    /// Over all trials that came to their end.
    pub number: Option<Number>,
    /// All values that the system can have; `None` without a number.
    pub range: Option<Range>,
    /// How far it is known; unknown without a number.
    pub verdict: MetricVerdict,
    /// The median over trials, whose interval does not depend on how they scatter; `None` of few trials.
    pub median: Option<Estimate>,
    /// Over the trials without a doubt about it; `None` if that is all of them, or none.
    pub without_doubtful: Option<Number>,
    /// How many trials have a doubt about it.
    pub doubtful: usize,
}

/// Each metric that the study asks about, over trials that came to their end.
pub(crate) fn estimate_asked_metrics(
    info: &RunInfo,
    counted: &[&TrialModel],
    of_cell: &[Reason],
) -> Vec<AskedMetric> {
    let outcomes = headline_outcomes(info).into_iter();
    outcomes
        .map(|outcome| asked_metric(outcome, counted, of_cell))
        .collect()
}

fn asked_metric(outcome: Outcome<'_>, counted: &[&TrialModel], of_cell: &[Reason]) -> AskedMetric {
    let named = &outcome.named;
    let aspect = aspect(named.row.metric);
    let is_clean = |trial: &&&TrialModel| !has_doubt(aspect, &trial.reasons);
    let clean: Vec<&TrialModel> = counted.iter().filter(is_clean).copied().collect();
    let doubtful = counted.len() - clean.len();
    let known = Known::over_trials(named, counted, of_cell);
    AskedMetric {
        metric: named.row.metric,
        unit: named.row.unit,
        number: known.map(|known| known.number),
        range: known.map(|known| known.range),
        verdict: known.map_or(MetricVerdict::Unknown, |known| known.verdict()),
        median: aggregate::median(named, counted),
        without_doubtful: aggregate::over_trials(named, &clean).filter(|_| doubtful > 0),
        doubtful,
        name: outcome.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_is_open_if_a_limit_lies_within_the_interval() {
        let estimate = Estimate {
            point: 10.0,
            interval: Some((5.0, 20.0)),
            count: 3,
            least: None,
        };
        let check = |limits: Option<&[(Comparison, f64)]>, expected: bool| {
            assert_eq!(is_width_open(limits, &estimate), expected, "{limits:?}");
        };
        check(None, true);
        check(Some(&[(Comparison::Less, 500.0)]), false);
        check(Some(&[(Comparison::Less, 1.0)]), false);
        check(Some(&[(Comparison::Less, 12.0)]), true);
        check(
            Some(&[(Comparison::Less, 500.0), (Comparison::Greater, 6.0)]),
            true,
        );
    }
}

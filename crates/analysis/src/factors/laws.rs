//! Scaling laws of the curves: which law a metric may follow over a factor, and what its trials say of it.
//!
//! A rate that rises along counts of something (CPUs, replicas, connections, users) has the Universal Scalability Law. What is not
//! wished to be high (times, memory, CPU per request) has a power law, as has a rate that does not rise: it is no use of a resource.

use std::sync::OnceLock;

use waggle_metrics::{NamedMetric, OverTrials, Unit, Wish};
use waggle_results::parallel_map;
use waggle_stats::{
    BandPoint, Bias, DifferenceSlope, Errors, FitQuality, LAW_REACH, LAW_RESAMPLES, LawBound,
    LawSettings, LawTrial, LevelCurve, MIN_LAW_LEVELS, NotFitted, PowerLaw, Scale,
    UniversalScalability, Verdict, difference_slope, fit_power_law, fit_universal_scalability,
};

use crate::{
    cell::{
        cell_model::CellModel,
        outcome::{CellTrials, counted_trials},
    },
    factors::{
        layout::{Layout, Over},
        levels::are_counts,
    },
    metric::{scale::scale, trial_value},
    recording::histogram::as_f64,
    trial::trial_model::TrialModel,
};

/// A rate at some level over that at the lowest one: less is no rise.
const MIN_RISE: f64 = 1.05;
/// Points of a band up to the highest level, and beyond it.
const BAND_POINTS: (u32, u32) = (24, 6);

/// The law of one line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct LineLaw {
    pub line: usize,
    pub law: Result<Law, NotFitted>,
    /// Levels with a cell that is not valid, with its verdict.
    pub doubtful: Vec<(String, Verdict)>,
    /// Levels whose value is a bound: the curve may lie on the other side of it.
    pub bounded: Vec<(String, LawBound)>,
}

/// What a metric follows.
#[derive(Debug, Clone, PartialEq)]
pub enum Law {
    Universal(UniversalScalability),
    Power(PowerLaw),
}

impl Law {
    #[must_use]
    pub fn quality(&self) -> &FitQuality {
        match self {
            Self::Universal(law) => &law.quality,
            Self::Power(law) => &law.quality,
        }
    }

    /// Whether the levels are where the law has them.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.quality().holds
    }

    #[must_use]
    pub fn band(&self) -> &[BandPoint] {
        match self {
            Self::Universal(law) => &law.band,
            Self::Power(law) => &law.band,
        }
    }

    /// The curve with its resamples.
    #[must_use]
    pub fn curve(&self) -> &LevelCurve {
        match self {
            Self::Universal(law) => &law.curve,
            Self::Power(law) => &law.curve,
        }
    }
}

/// The laws of one metric's lines: the trials that they rest on, and the laws themselves after the first call of [`CurveLaws::fit`].
/// A fit with its bootstrap takes about 12 ms, and comparisons and histories show no law.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CurveLaws {
    lines: Vec<LineTrials>,
    band_at: Vec<f64>,
    seed: u64,
    fitted: OnceLock<Vec<LineLaw>>,
}

/// What the law of a line rests on.
#[derive(Debug, Clone, PartialEq)]
struct LineTrials {
    line: usize,
    values: Vec<LawTrial>,
    scale: Scale,
    /// Of the law that it may follow; `None`: there are too few levels, or the metric follows none.
    kind: Option<Kind>,
    doubtful: Vec<(String, Verdict)>,
    bounded: Vec<(String, LawBound)>,
}

/// A kind of law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Universal,
    Power,
}

impl CurveLaws {
    /// Fits them at the first call. Empty if the factor has too few levels, or the metric has no law.
    #[must_use]
    pub fn fit(&self) -> &[LineLaw] {
        let fit = || {
            let lines = parallel_map(&self.lines, |line| line.fit(&self.band_at, self.seed));
            lines.into_iter().flatten().collect()
        };
        self.fitted.get_or_init(fit)
    }

    /// The curve of a line: that of its law if it has one that holds, else from level to level. `None` without two levels with values,
    /// or if the metric is no mean over trials.
    #[must_use]
    pub fn curve(&self, line: usize) -> Option<LevelCurve> {
        let mut laws = self.fit().iter();
        let law = laws
            .find(|line_law| line_law.line == line)
            .and_then(|line_law| line_law.law.as_ref().ok());
        if let Some(law) = law.filter(|law| law.holds()) {
            return Some(law.curve().clone());
        }
        let line_trials = self.trials_of(line)?;
        LevelCurve::interpolate(&line_trials.values, &line_trials.settings(&[], self.seed)).ok()
    }

    /// What the second of two lines has more than the first for each unit of the factor.
    pub(crate) fn difference(&self, [first, second]: [usize; 2]) -> Option<DifferenceSlope> {
        let (first, second) = (self.trials_of(first)?, self.trials_of(second)?);
        let settings = LawSettings {
            scale: first.scale.coarser(second.scale),
            ..first.settings(&[], self.seed)
        };
        difference_slope(&first.values, &second.values, &settings)
    }

    fn trials_of(&self, line: usize) -> Option<&LineTrials> {
        self.lines
            .iter()
            .find(|line_trials| line_trials.line == line)
    }
}

impl From<Vec<LineLaw>> for CurveLaws {
    fn from(fitted: Vec<LineLaw>) -> Self {
        Self {
            fitted: fitted.into(),
            ..Self::default()
        }
    }
}

impl LineTrials {
    fn settings<'a>(&self, band_at: &'a [f64], seed: u64) -> LawSettings<'a> {
        LawSettings {
            errors: Errors::Relative,
            scale: self.scale,
            resamples: LAW_RESAMPLES,
            seed,
            band_at,
        }
    }

    fn fit(&self, band_at: &[f64], seed: u64) -> Option<LineLaw> {
        let settings = self.settings(band_at, seed);
        Some(LineLaw {
            line: self.line,
            law: match self.kind? {
                Kind::Universal => {
                    fit_universal_scalability(&self.values, &settings).map(Law::Universal)
                }
                Kind::Power => fit_power_law(&self.values, &settings).map(Law::Power),
            },
            doubtful: self.doubtful.clone(),
            bounded: self.bounded.clone(),
        })
    }
}

/// Of one metric, what each line's law rests on; nothing if the levels are no numbers, or the metric is no mean over trials.
pub(crate) fn laws(
    named: &NamedMetric<'_>,
    layout: &Layout,
    data: CellTrials<'_>,
    seed: u64,
) -> CurveLaws {
    if layout.over.at.is_none() || !is_mean(named) {
        return CurveLaws::default();
    }
    CurveLaws {
        lines: (0..layout.cells.len())
            .map(|line| line_trials(named, layout, line, data))
            .collect(),
        band_at: band_levels(&layout.over),
        seed,
        fitted: OnceLock::new(),
    }
}

fn line_trials(
    named: &NamedMetric<'_>,
    layout: &Layout,
    line: usize,
    data: CellTrials<'_>,
) -> LineTrials {
    let places = &layout.cells[line];
    let positions = layout.over.at.as_deref().unwrap_or_default();
    let placed = places.iter().zip(positions);
    let placed = placed.filter_map(|(place, position)| Some((&data.cells[(*place)?], *position)));
    let mut counted: Vec<(f64, &TrialModel)> = Vec::new();
    let mut bounds: Vec<(f64, LawBound)> = Vec::new();
    for (cell, position) in placed {
        counted.extend(counted_trials(cell, data.trials).map(|trial| (position, trial)));
        bounds.extend(bound(&cell.biases(named.row.metric)).map(|bound| (position, bound)));
    }
    let values = with_bounds(values_over_resolution(named, &counted), &bounds);
    let law_trials: Vec<&TrialModel> = counted.iter().map(|(_, trial)| *trial).collect();
    let levels = layout.over.levels.iter().zip(positions);
    LineTrials {
        line,
        scale: Scale {
            resolution: finest(named, &law_trials),
            ..scale(named, &law_trials)
        },
        kind: kind(named, &layout.over, &values),
        doubtful: doubtful(&layout.over, places, data.cells),
        bounded: levels
            .filter_map(|(name, level)| Some((name.clone(), bound_of_level(*level, &bounds)?)))
            .collect(),
        values,
    }
}

/// The side on which the system's own value may lie, if it is one.
fn bound(biases: &[Bias]) -> Option<LawBound> {
    match biases {
        [Bias::AtLeast] => Some(LawBound::AtLeast),
        [Bias::AtMost] => Some(LawBound::AtMost),
        _ => None,
    }
}

/// The trials of these levels are bounds.
fn with_bounds(trials: Vec<LawTrial>, bounds: &[(f64, LawBound)]) -> Vec<LawTrial> {
    let bounded = |trial: LawTrial| LawTrial {
        bound: bound_of_level(trial.level, bounds),
        ..trial
    };
    trials.into_iter().map(bounded).collect()
}

fn bound_of_level(level: f64, bounds: &[(f64, LawBound)]) -> Option<LawBound> {
    let mut bounds = bounds.iter();
    let (_, bound) = bounds.find(|(bound_level, _)| *bound_level == level)?;
    Some(*bound)
}

/// The value of each trial, but at least what it can tell apart: a level with few requests must not blur those with many. As they are
/// if all are 0.
fn values_over_resolution(named: &NamedMetric<'_>, trials: &[(f64, &TrialModel)]) -> Vec<LawTrial> {
    let values = trials
        .iter()
        .filter_map(|(level, trial)| Some((*level, *trial, trial_value::in_trial(named, trial)?)));
    let values: Vec<(f64, &TrialModel, f64)> = values.collect();
    let is_nothing = values.iter().all(|(.., value)| *value == 0.0);
    let shown = |value: f64, trial: &TrialModel| match is_nothing {
        true => 0.0,
        false if value >= 0.0 => value.max(finest(named, &[trial])),
        false => value,
    };
    values
        .iter()
        .map(|(level, trial, value)| LawTrial::exact(*level, shown(*value, trial)))
        .collect()
}

/// The finest resolution of the metric in these trials; 0: not known.
fn finest(named: &NamedMetric<'_>, trials: &[&TrialModel]) -> f64 {
    let resolutions = trials
        .iter()
        .map(|trial| scale(named, &[trial]).resolution)
        .filter(|resolution| *resolution > 0.0);
    resolutions.reduce(f64::min).unwrap_or_default()
}

/// The law that a metric may follow, if its factor has enough levels.
fn kind(named: &NamedMetric<'_>, over: &Over, values: &[LawTrial]) -> Option<Kind> {
    if over.levels.len() < MIN_LAW_LEVELS || !has_law(named) {
        return None;
    }
    let is_universal = is_rate(named) && are_counts(&over.levels) && rises(values);
    Some(match is_universal {
        true => Kind::Universal,
        false => Kind::Power,
    })
}

pub(crate) fn is_mean(named: &NamedMetric<'_>) -> bool {
    matches!(
        named.over_trials(),
        OverTrials::Mean | OverTrials::MeanOfAll
    )
}

/// A mean over trials that is no share: a share has a highest value, and a maximum no interval.
fn has_law(named: &NamedMetric<'_>) -> bool {
    let may_grow = named.row.wish != Wish::More && named.row.unit != Unit::Share;
    is_mean(named) && (may_grow || is_rate(named))
}

fn is_rate(named: &NamedMetric<'_>) -> bool {
    named.row.wish == Wish::More && named.row.unit == Unit::Rate
}

/// Whether the mean of a level is higher than that of the lowest level.
fn rises(trials: &[LawTrial]) -> bool {
    let mean = |level: f64| {
        let level_trials = trials.iter().filter(|trial| trial.level == level);
        let values: Vec<f64> = level_trials.map(|trial| trial.value).collect();
        values.iter().sum::<f64>() / as_f64(values.len().max(1) as u64)
    };
    let lowest = trials.iter().map(|trial| trial.level).reduce(f64::min);
    let Some(first) = lowest.map(mean) else {
        return false;
    };
    trials
        .iter()
        .any(|trial| mean(trial.level) > MIN_RISE * first)
}

/// Ascending: 0 if that is a level, evenly spaced by ratio up to the highest level, and evenly beyond it, as far as the law is said to
/// reach.
fn band_levels(over: &Over) -> Vec<f64> {
    let all = over.at.as_deref().unwrap_or_default();
    let zero = all.first().copied().filter(|lowest| *lowest == 0.0);
    let lowest = all.get(usize::from(zero.is_some()));
    let Some((&low, &high)) = lowest.zip(all.last()).filter(|(low, _)| **low > 0.0) else {
        return Vec::new();
    };
    let (within, beyond) = BAND_POINTS;
    let inner =
        (0..within).map(|step| low * (high / low).powf(f64::from(step) / f64::from(within)));
    let outer = (0..=beyond)
        .map(|step| high * (1.0 + (LAW_REACH - 1.0) * f64::from(step) / f64::from(beyond)));
    zero.into_iter().chain(inner).chain(outer).collect()
}

fn doubtful(over: &Over, places: &[Option<usize>], cells: &[CellModel]) -> Vec<(String, Verdict)> {
    let levels = over.levels.iter().zip(places);
    let doubtful = levels.filter_map(|(level, place)| {
        let verdict = cells[(*place)?].verdict?;
        (verdict != Verdict::Valid).then(|| (level.clone(), verdict))
    });
    doubtful.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_goes_from_the_lowest_level_to_twice_the_highest() {
        let over = Over {
            factor: "n".to_owned(),
            levels: Vec::new(),
            at: Some(vec![1.0, 10.0, 100.0]),
        };
        let levels = band_levels(&over);
        assert_eq!(levels.len(), 31);
        assert_eq!((levels[0], levels[24], levels[30]), (1.0, 100.0, 200.0));
        assert!(levels.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn metrics_with_a_law() {
        let check = |path: &str, expected: bool| {
            let parts: Vec<&str> = path.split('.').collect();
            let named = waggle_metrics::resolve_in_load(&parts).unwrap();
            assert_eq!(has_law(&named), expected, "{path}");
        };
        check("request.goodput", true);
        check("request.response_time.p99", true);
        check("request.error_rate", false);
    }

    #[test]
    fn a_rate_rises_by_more_than_5_percent() {
        let check = |values: &[f64], expected: bool| {
            let trials = values.iter().enumerate();
            let trials: Vec<LawTrial> = trials
                .map(|(level, value)| LawTrial::exact(as_f64(level as u64), *value))
                .collect();
            assert_eq!(rises(&trials), expected, "{values:?}");
        };
        check(&[], false);
        check(&[100.0, 104.0, 90.0], false);
        check(&[100.0, 120.0, 90.0], true);
    }
}

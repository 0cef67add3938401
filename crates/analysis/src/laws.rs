//! Scaling laws of the curves: which law a metric may follow over a factor, and what its trials say of it.
//!
//! A rate that rises along counts of something (CPUs, replicas, connections, users) has the Universal Scalability Law. What is not
//! wished to be high (times, memory, CPU per request) has a power law, as has a rate that does not rise: it is no use of a resource.

use std::sync::OnceLock;

use waggle_metrics::{NamedMetric, OverTrials, Unit, Wish};
use waggle_results::parallel_map;
use waggle_stats::{
    BandPoint, Errors, FitQuality, LAW_REACH, LAW_RESAMPLES, LawSettings, LawTrial, MIN_LAW_LEVELS,
    NotFitted, PowerLaw, Scale, UniversalScalability, Verdict, fit_power_law,
    fit_universal_scalability,
};

use crate::{
    CellModel, TrialModel, as_f64,
    layout::{Layout, Over},
    levels::are_counts,
    metric,
    outcome::counted_trials,
    scale::scale,
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
    is_universal: bool,
    doubtful: Vec<(String, Verdict)>,
}

impl CurveLaws {
    /// Fits them at the first call. Empty if the factor has too few levels, or the metric has no law.
    #[must_use]
    pub fn fit(&self) -> &[LineLaw] {
        let fit = || parallel_map(&self.lines, |line| line.fit(&self.band_at, self.seed));
        self.fitted.get_or_init(fit)
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
    fn fit(&self, band_at: &[f64], seed: u64) -> LineLaw {
        let settings = LawSettings {
            errors: Errors::Relative,
            scale: self.scale,
            resamples: LAW_RESAMPLES,
            seed,
            band_at,
        };
        LineLaw {
            line: self.line,
            law: match self.is_universal {
                true => fit_universal_scalability(&self.values, &settings).map(Law::Universal),
                false => fit_power_law(&self.values, &settings).map(Law::Power),
            },
            doubtful: self.doubtful.clone(),
        }
    }
}

/// Of one metric, what each line's law rests on; nothing if the factor has too few levels, or the metric has no law.
pub(crate) fn laws(
    named: &NamedMetric<'_>,
    layout: &Layout,
    cells: &[CellModel],
    trials: &[TrialModel],
    seed: u64,
) -> CurveLaws {
    let Some(at) = &layout.over.at else {
        return CurveLaws::default();
    };
    if at.len() < MIN_LAW_LEVELS || !has_law(named) {
        return CurveLaws::default();
    }
    let of_line = |(line, places): (usize, &Vec<Option<usize>>)| {
        let placed = || {
            places
                .iter()
                .zip(at)
                .filter_map(|(place, at)| Some(((*place)?, *at)))
        };
        let counted: Vec<(f64, &TrialModel)> = placed()
            .flat_map(|(place, at)| counted_trials(&cells[place], trials).map(move |one| (at, one)))
            .collect();
        let values = counted.iter().filter_map(|(level, trial)| {
            let value = metric::in_trial(named, trial)?;
            Some(LawTrial {
                level: *level,
                value,
            })
        });
        let values: Vec<LawTrial> = values.collect();
        let own: Vec<&TrialModel> = counted.iter().map(|(_, trial)| *trial).collect();
        LineTrials {
            line,
            scale: scale(named, &own),
            is_universal: is_rate(named) && are_counts(&layout.over.levels) && rises(&values),
            doubtful: doubtful(&layout.over, places, cells),
            values,
        }
    };
    CurveLaws {
        lines: layout.cells.iter().enumerate().map(of_line).collect(),
        band_at: band_levels(&layout.over),
        seed,
        fitted: OnceLock::new(),
    }
}

/// A mean over trials that is no share: a share has a highest value, and a maximum no interval.
fn has_law(named: &NamedMetric<'_>) -> bool {
    let is_mean = matches!(
        named.over_trials(),
        OverTrials::Mean | OverTrials::MeanOfAll
    );
    let may_grow = named.row.wish != Wish::More && named.row.unit != Unit::Share;
    is_mean && (may_grow || is_rate(named))
}

fn is_rate(named: &NamedMetric<'_>) -> bool {
    named.row.wish == Wish::More && named.row.unit == Unit::Rate
}

/// Whether the mean of a level is higher than that of the lowest level.
fn rises(trials: &[LawTrial]) -> bool {
    let mean = |level: f64| {
        let own = trials.iter().filter(|trial| trial.level == level);
        let values: Vec<f64> = own.map(|trial| trial.value).collect();
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

/// Ascending, evenly spaced by ratio up to the highest level, and evenly beyond it, as far as the law is said to reach.
fn band_levels(over: &Over) -> Vec<f64> {
    let ends = over.at.as_ref().and_then(|at| at.first().zip(at.last()));
    let Some((&low, &high)) = ends.filter(|(low, _)| **low > 0.0) else {
        return Vec::new();
    };
    let (within, beyond) = BAND_POINTS;
    let inner =
        (0..within).map(|step| low * (high / low).powf(f64::from(step) / f64::from(within)));
    let outer = (0..=beyond)
        .map(|step| high * (1.0 + (LAW_REACH - 1.0) * f64::from(step) / f64::from(beyond)));
    inner.chain(outer).collect()
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
        let found = band_levels(&over);
        assert_eq!(found.len(), 31);
        assert_eq!((found[0], found[24], found[30]), (1.0, 100.0, 200.0));
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
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
                .map(|(level, value)| LawTrial {
                    level: as_f64(level as u64),
                    value: *value,
                })
                .collect();
            assert_eq!(rises(&trials), expected, "{values:?}");
        };
        check(&[], false);
        check(&[100.0, 104.0, 90.0], false);
        check(&[100.0, 120.0, 90.0], true);
    }
}

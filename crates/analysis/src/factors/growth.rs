//! What a study asks of its curves: where they cross bounds, and how two levels of a factor differ over the curves' axis.

use waggle_metrics::{NamedMetric, Wish};
use waggle_results::RunInfo;
use waggle_spec::{Comparison, Pair};
use waggle_stats::{Crossing, DifferenceSlope, Estimate, Sample, ratio};

use crate::{
    cell::{
        asked_metrics::headline,
        outcome::{CellTrials, Outcome},
    },
    factors::{
        curves::{Curve, CurvesModel},
        laws::is_mean,
        layout::{Layout, level_name},
    },
    info::{factor::Factor, metric_path::without_names},
};

/// A bound on the metric of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// Place of the chart.
    pub chart: usize,
    /// The condition as the study has it.
    pub text: String,
    /// In the unit of a threshold on the metric.
    pub value: f64,
}

/// Where one line crosses a bound.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundCrossing<'a> {
    pub bound: &'a Bound,
    pub line: usize,
    pub crossing: Crossing,
    /// Whether its law says so; else the line from level to level.
    pub is_law: bool,
}

/// Two levels of a factor in one metric, at equal levels of all others.
#[derive(Debug, Clone, PartialEq)]
pub struct PairModel {
    /// Place of the chart.
    pub chart: usize,
    pub factor: String,
    /// As they are called: `rest`, or `workers 2`.
    pub levels: [String; 2],
    /// Places of their lines.
    pub lines: [usize; 2],
    /// The level of the other factor; empty if there is none.
    pub rest: String,
    pub wish: Wish,
    /// Second less first, for each unit of the factor along the axis; `None` of fewer than three levels.
    pub difference: Option<DifferenceSlope>,
    /// Second ÷ first at each level of the axis; `None` without values.
    pub ratios: Vec<Option<Estimate>>,
}

/// Ratios whose interval comes as close to 1 as this show no difference.
const EQUAL_WITHIN: f64 = 0.001;

impl PairModel {
    /// The ratio that is farthest from 1, with the place of its level; `None` if no interval shows one.
    #[must_use]
    pub fn largest(&self) -> Option<(usize, &Estimate)> {
        let ratios = self.ratios.iter().enumerate();
        let shown = ratios.filter_map(|(level, ratio)| Some((level, ratio.as_ref()?)));
        let is_shown = |ratio: &Estimate| {
            ratio
                .interval
                .is_some_and(|(low, high)| low > 1.0 + EQUAL_WITHIN || high < 1.0 - EQUAL_WITHIN)
        };
        shown
            .filter(|(_, ratio)| is_shown(ratio) && ratio.point > 0.0)
            .max_by(|a, b| a.1.point.ln().abs().total_cmp(&b.1.point.ln().abs()))
    }
}

impl CurvesModel {
    /// Every bound on every line that has values.
    #[must_use]
    pub fn bound_crossings(&self) -> Vec<BoundCrossing<'_>> {
        let mut crossings = Vec::new();
        for bound in &self.bounds {
            for line in 0..self.lines.len() {
                let Some(curve) = self.charts[bound.chart].laws.curve(line) else {
                    continue;
                };
                crossings.push(BoundCrossing {
                    bound,
                    line,
                    crossing: curve.cross_bound(bound.value),
                    is_law: curve.is_law(),
                });
            }
        }
        crossings
    }

    /// From which level on the first of a pair is above or below the second; `None` if one of them has no values, or if they differ at no
    /// level.
    #[must_use]
    pub fn lead(&self, pair: &PairModel) -> Option<Crossing> {
        pair.largest()?;
        let laws = &self.charts[pair.chart].laws;
        let [first, second] = pair.lines.map(|line| laws.curve(line));
        let lowest = self.over.at.as_ref().and_then(|all| all.first());
        Some(match first?.cross_curve(&second?) {
            // The interval is the whole curve.
            Crossing::At {
                interval: Some((low, None)),
                ..
            } if lowest.is_some_and(|lowest| low <= *lowest) => Crossing::Undecided,
            crossing => crossing,
        })
    }
}

/// The bounds of the study and its thresholds, each once, on metrics that have a chart.
pub(crate) fn bounds(info: &RunInfo, charts: &[Curve]) -> Vec<Bound> {
    let study_bounds = info.scaling.iter().flat_map(|scaling| &scaling.bounds);
    let mut bounds: Vec<Bound> = Vec::new();
    // What is equal to a number is not crossed, and no metric is on both sides of 0.
    let all = study_bounds
        .chain(&info.thresholds)
        .filter(|bound| bound.op != Comparison::Equal && bound.value > 0.0);
    for condition in all {
        let Some(named) = without_names(&condition.metric, info).filter(is_mean) else {
            continue;
        };
        let column = named.column();
        let Some(chart) = charts.iter().position(|chart| chart.column == column) else {
            continue;
        };
        let is_known =
            |known: &Bound| known.chart == chart && known.value.total_cmp(&condition.value).is_eq();
        if !bounds.iter().any(is_known) {
            bounds.push(Bound {
                chart,
                text: condition.text.clone(),
                value: condition.value,
            });
        }
    }
    bounds
}

/// Each pair of the study in each metric that it asks about, at each level of the other factors.
pub(crate) fn pairs(
    info: &RunInfo,
    factors: &[Factor],
    layout: &Layout,
    charts: &[Curve],
    data: CellTrials<'_>,
) -> Vec<PairModel> {
    let asked = info.scaling.iter().flat_map(|scaling| &scaling.pairs);
    let metrics: Vec<(usize, NamedMetric<'_>)> = headline(info)
        .into_iter()
        .filter(is_mean)
        .filter_map(|named| {
            let column = named.column();
            let chart = charts.iter().position(|chart| chart.column == column)?;
            Some((chart, named))
        })
        .collect();
    let mut pairs = Vec::new();
    for pair in asked {
        for lines in lines_of(pair, factors, layout) {
            for (chart, named) in &metrics {
                let outcome = Outcome {
                    name: charts[*chart].name.clone(),
                    named: *named,
                };
                pairs.push(PairModel {
                    chart: *chart,
                    factor: pair.factor.clone(),
                    levels: pair
                        .levels
                        .each_ref()
                        .map(|level| level_name(&pair.factor, level)),
                    lines,
                    rest: rest(pair, factors, layout, lines[0]),
                    wish: named.row.wish,
                    difference: charts[*chart].laws.difference(lines),
                    ratios: ratios(&outcome, lines.map(|line| &layout.cells[line][..]), data),
                });
            }
        }
    }
    pairs
}

/// The lines of both levels that have equal levels of the other factors; none if the pair's factor makes no lines.
fn lines_of(pair: &Pair, factors: &[Factor], layout: &Layout) -> Vec<[usize; 2]> {
    let Some(index) = layout.others.iter().position(|name| *name == pair.factor) else {
        return Vec::new();
    };
    let factor = factors.iter().find(|factor| factor.name == pair.factor);
    let place = |level: &String| factor?.levels.iter().position(|known| known == level);
    let [Some(first), Some(second)] = pair.levels.each_ref().map(place) else {
        return Vec::new();
    };
    let partner = |places: &[usize]| {
        let mut wanted = places.to_vec();
        wanted[index] = second;
        layout.lines.iter().position(|line| line.places == wanted)
    };
    let lines = layout.lines.iter().enumerate();
    lines
        .filter(|(_, line)| line.places[index] == first)
        .filter_map(|(place, line)| Some([place, partner(&line.places)?]))
        .collect()
}

/// The levels of a line but for that of the pair's factor.
fn rest(pair: &Pair, factors: &[Factor], layout: &Layout, line: usize) -> String {
    let places = layout.others.iter().zip(&layout.lines[line].places);
    let others = places.filter(|(name, _)| **name != pair.factor);
    let names = others.filter_map(|(name, place)| {
        let factor = factors.iter().find(|factor| factor.name == *name)?;
        Some(level_name(name, factor.levels.get(*place)?))
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Second ÷ first at each level.
fn ratios(
    outcome: &Outcome<'_>,
    [first, second]: [&[Option<usize>]; 2],
    data: CellTrials<'_>,
) -> Vec<Option<Estimate>> {
    let at_level = |(first, second): (&Option<usize>, &Option<usize>)| {
        let both = [&data.cells[(*first)?], &data.cells[(*second)?]];
        let [old, new]: [Vec<Sample>; 2] = both.map(|cell| outcome.samples(cell, data.trials));
        Some(ratio(&new, &old, outcome.resolution(&both, data.trials))?.estimate)
    };
    first.iter().zip(second).map(at_level).collect()
}

//! Crossings of scaling curves and pairs of levels, for other programs.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{BoundCrossing, CurvesModel, Model, PairModel};
use waggle_metrics::{NamedMetric, Row};
use waggle_stats::{Crossing, Estimate};

use crate::layout::json_values::Value;

/// A bound on a metric along one line of its scaling curve.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BoundResult<'a> {
    /// As in the columns of `tables.csv`.
    metric: &'a str,
    factor: &'a str,
    /// The levels of the other factors, in words; empty if no other factor varies.
    line: &'a str,
    /// The condition as the study has it.
    condition: &'a str,
    /// `scaling law`, or `between levels` if there is none that holds.
    by: &'static str,
    #[serde(flatten)]
    crossing: Place,
}

/// Where a curve crosses a bound or another curve.
#[derive(Debug, Serialize, JsonSchema)]
struct Place {
    /// `rises`, `falls`, `above`, `below` or `undecided`. Of two curves it is the first one, seen from the second.
    result: &'static str,
    /// The level of the crossing. Of `above` and `below` the level up to which that is so; of two curves, from which on.
    level: Option<f64>,
    /// The ends of its interval; `high` is `null` if it is beyond the curve.
    low: Option<f64>,
    high: Option<f64>,
}

/// Two levels of a factor over another, in one metric.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PairResult<'a> {
    /// As in the columns of `tables.csv`.
    metric: &'a str,
    factor: &'a str,
    /// The second is compared with the first.
    levels: &'a [String; 2],
    /// The level of the other factor, in words; empty if no other factor varies.
    line: &'a str,
    /// The factor along the curves.
    over: &'a str,
    /// Second less first for each unit of `over`, in the unit at the end of the metric's name; `null`: not proportional, or too few
    /// levels.
    difference_per_unit: Option<Value>,
    ratios: Vec<LevelRatio<'a>>,
    /// The level with the ratio that is farthest from 1; `null`: no interval is without 1.
    largest_at: Option<&'a str>,
    /// Where the first level's curve crosses that of the second, seen from the highest level.
    lead: Option<Place>,
}

/// Second ÷ first at one level.
#[derive(Debug, Serialize, JsonSchema)]
struct LevelRatio<'a> {
    level: &'a str,
    ratio: Value,
}

pub(crate) fn bounds<'a>(model: &'a Model) -> Vec<BoundResult<'a>> {
    let Some(curves) = &model.curves else {
        return Vec::new();
    };
    let crossings = curves.bound_crossings().into_iter();
    crossings
        .map(|crossing| bound_result(curves, &crossing))
        .collect()
}

fn bound_result<'a>(curves: &'a CurvesModel, crossing: &BoundCrossing<'a>) -> BoundResult<'a> {
    BoundResult {
        metric: &curves.charts[crossing.bound.chart].column,
        factor: &curves.over.factor,
        line: &curves.lines[crossing.line].name,
        condition: &crossing.bound.text,
        by: match crossing.is_law {
            true => "scaling law",
            false => "between levels",
        },
        crossing: place(&crossing.crossing),
    }
}

fn place(crossing: &Crossing) -> Place {
    let (result, level, ends) = match *crossing {
        Crossing::At {
            level,
            interval,
            rises,
        } => {
            let result = match rises {
                true => "rises",
                false => "falls",
            };
            (result, Some(level), interval)
        }
        Crossing::None { is_above, level } => {
            let result = match is_above {
                true => "above",
                false => "below",
            };
            (result, Some(level), None)
        }
        Crossing::Undecided => ("undecided", None, None),
    };
    Place {
        result,
        level,
        low: ends.map(|(low, _)| low),
        high: ends.and_then(|(_, high)| high),
    }
}

pub(crate) fn pairs(model: &Model) -> Vec<PairResult<'_>> {
    let Some(curves) = &model.curves else {
        return Vec::new();
    };
    let pairs = curves.pairs.iter();
    pairs.map(|pair| pair_result(curves, pair)).collect()
}

fn pair_result<'a>(curves: &'a CurvesModel, pair: &'a PairModel) -> PairResult<'a> {
    let chart = &curves.charts[pair.chart];
    let row = NamedMetric::of_all(chart.metric).row;
    let levels = curves.over.levels.iter().zip(&pair.ratios);
    let ratio = |(level, ratio): (&'a String, &Option<Estimate>)| {
        Some(LevelRatio {
            level,
            ratio: Value::of_ratio(ratio.as_ref()?)?,
        })
    };
    PairResult {
        metric: &chart.column,
        factor: &pair.factor,
        levels: &pair.levels,
        line: &pair.rest,
        over: &curves.over.factor,
        difference_per_unit: per_unit(pair, row),
        ratios: levels.filter_map(ratio).collect(),
        largest_at: pair
            .largest()
            .map(|(level, _)| curves.over.levels[level].as_str()),
        lead: curves.lead(pair).as_ref().map(place),
    }
}

fn per_unit(pair: &PairModel, row: &Row) -> Option<Value> {
    let slope = pair.difference.filter(|slope| slope.is_straight)?;
    Value::of_metric(row, waggle_analysis::Number::Estimate(slope.per_unit))
}

//! Scaling laws for other programs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{Curve, CurvesModel, Law, LineLaw, Model, Number};
use waggle_metrics::{NamedMetric, Row};
use waggle_stats::{Coefficient, Peak, PowerLaw, UniversalScalability};

use super::words::{growth, reason_text};
use crate::layout::json_values::Value;

/// What a metric follows over a factor with six or more numeric levels.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScalingLaw<'a> {
    /// As in the columns of `tables.csv`.
    metric: &'a str,
    factor: &'a str,
    /// The levels of the other factors, in words; empty if no other factor varies.
    line: &'a str,
    /// `universal_scalability` or `power`; `null`: none is fitted.
    law: Option<&'static str>,
    /// Why none is fitted.
    why_none: Option<String>,
    /// `scale`, `contention` and `coherency`, or `constant`, `factor` and `exponent`, and with a change of exponent `break` (the level)
    /// and `exponent_beyond`; empty if the law does not hold. Times in the unit
    /// at the end of the metric's name.
    coefficients: BTreeMap<&'static str, Value>,
    /// Coefficients at the end of what they may be.
    at_bound: Vec<&'static str>,
    /// The level at which the curve of the Universal Scalability Law is highest; `null`: not within twice the highest level. Its `high`
    /// is `null` if that is beyond twice the highest level.
    peak: Option<Value>,
    /// The metric over that of the lowest level for each unit of the factor, if that is above 1.05: check the measurement.
    high_efficiency: Option<f64>,
    /// How it grows up to a change of its exponent, in the same words; `null` without one.
    growth_to_break: Option<&'static str>,
    /// Of a power law, beyond a change of its exponent: `flat`, `falls`, `linear`, `worse than linear`, `better than linear`, `grows`, `undecided` or `no power law`.
    growth: Option<&'static str>,
    /// The farthest level from the curve, as a share of the curve.
    farthest: Option<f64>,
    /// False if a level is too far from the curve.
    holds: Option<bool>,
}

pub(crate) fn laws(model: &Model) -> Vec<ScalingLaw<'_>> {
    let Some(curves) = &model.curves else {
        return Vec::new();
    };
    let all = curves.charts.iter();
    all.flat_map(|curve| {
        curve
            .laws
            .fit()
            .iter()
            .map(move |line| law(curves, curve, line))
    })
    .collect()
}

fn law<'a>(curves: &'a CurvesModel, curve: &'a Curve, line: &'a LineLaw) -> ScalingLaw<'a> {
    let fit = line.law.as_ref().ok();
    let none = ScalingLaw {
        metric: &curve.column,
        factor: &curves.over.factor,
        line: &curves.lines[line.line].name,
        law: None,
        why_none: line.law.as_ref().err().map(|reason| reason_text(*reason)),
        coefficients: BTreeMap::new(),
        at_bound: Vec::new(),
        peak: None,
        high_efficiency: None,
        growth_to_break: None,
        growth: None,
        farthest: fit.map(|law| law.quality().farthest),
        holds: fit.map(Law::holds),
    };
    let row = NamedMetric::of_all(curve.metric).row;
    let law = match fit {
        None => return none,
        Some(Law::Universal(law)) => universal(none, row, law),
        Some(Law::Power(law)) => power(none, row, law),
    };
    match law.holds {
        Some(true) => law,
        _ => ScalingLaw {
            coefficients: BTreeMap::new(),
            at_bound: Vec::new(),
            peak: None,
            growth_to_break: None,
            ..law
        },
    }
}

fn universal<'a>(none: ScalingLaw<'a>, row: &Row, law: &UniversalScalability) -> ScalingLaw<'a> {
    let coefficients = vec![
        ("scale", law.scale, in_metric(row, &law.scale)),
        ("contention", law.contention, bare(&law.contention)),
        ("coherency", law.coherency, bare(&law.coherency)),
    ];
    let peak = match law.peak {
        Peak::At {
            level, low, high, ..
        } => Value::of_ratio(&waggle_stats::Estimate {
            point: level,
            interval: Some((low, high.unwrap_or(f64::INFINITY))),
            ..law.scale.estimate
        }),
        Peak::NotWithin(_) => None,
    };
    ScalingLaw {
        law: Some("universal_scalability"),
        peak,
        high_efficiency: law.high_efficiency.map(|finding| finding.efficiency),
        ..with_coefficients(none, coefficients)
    }
}

fn power<'a>(none: ScalingLaw<'a>, row: &Row, law: &PowerLaw) -> ScalingLaw<'a> {
    let mut coefficients = vec![
        ("constant", law.constant, in_metric(row, &law.constant)),
        ("factor", law.factor, in_metric(row, &law.factor)),
        ("exponent", law.exponent, bare(&law.exponent)),
    ];
    if let Some(break_point) = &law.break_point {
        let level = Coefficient {
            estimate: break_point.level,
            is_at_bound: false,
        };
        coefficients.extend([
            ("break", level, bare(&level)),
            (
                "exponent_beyond",
                break_point.exponent,
                bare(&break_point.exponent),
            ),
        ]);
    }
    ScalingLaw {
        law: Some("power"),
        growth_to_break: law
            .break_point
            .map(|break_point| growth(break_point.growth)),
        growth: Some(growth(law.growth)),
        ..with_coefficients(none, coefficients)
    }
}

fn with_coefficients<'a>(
    none: ScalingLaw<'a>,
    all: Vec<(&'static str, Coefficient, Option<Value>)>,
) -> ScalingLaw<'a> {
    let at_bound = all
        .iter()
        .filter(|(_, coefficient, _)| coefficient.is_at_bound);
    ScalingLaw {
        at_bound: at_bound.map(|(name, ..)| *name).collect(),
        coefficients: all
            .into_iter()
            .filter_map(|(name, _, value)| Some((name, value?)))
            .collect(),
        ..none
    }
}

fn in_metric(row: &Row, coefficient: &Coefficient) -> Option<Value> {
    Value::of_metric(row, Number::Estimate(coefficient.estimate))
}

fn bare(coefficient: &Coefficient) -> Option<Value> {
    Value::of_ratio(&coefficient.estimate)
}

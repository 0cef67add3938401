//! Numbers of reports and comparisons for other programs, in the unit at the end of the metric's name, as in `tables.csv`.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::Number;
use waggle_metrics::Row;
use waggle_stats::Estimate;

/// A point with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Value {
    point: f64,
    /// The lowest that the value itself may be, of a delay that is known to within a range; the point is the highest.
    earliest: Option<f64>,
    /// The ends of the interval; `null` without one, or if it has no end.
    low: Option<f64>,
    high: Option<f64>,
    /// Trials that it rests on; `null`: a sum or a maximum over trials.
    trials: Option<usize>,
}

impl Value {
    /// In the unit of the metric's column; `None` of a number that is not finite.
    pub(crate) fn of_metric(row: &Row, number: Number) -> Option<Self> {
        Self::new(number, |value| row.in_column(value))
    }

    /// Without a unit.
    pub(crate) fn of_ratio(ratio: &Estimate) -> Option<Self> {
        Self::new(Number::Estimate(*ratio), |value| value)
    }

    fn new(number: Number, convert: impl Fn(f64) -> f64) -> Option<Self> {
        let (interval, trials) = match number {
            Number::Estimate(estimate) => (estimate.interval, Some(estimate.count)),
            Number::Exact(_) | Number::Within(_) => (None, None),
        };
        let (earliest, point) = number.ends_of_point();
        let finite = |value: f64| Some(convert(value)).filter(|value| value.is_finite());
        Some(Self {
            point: finite(point)?,
            earliest: finite(earliest).filter(|_| earliest < point),
            low: interval.and_then(|(low, _)| finite(low)),
            high: interval.and_then(|(_, high)| finite(high)),
            trials,
        })
    }
}

/// A factor with a cell's level of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Level<'a> {
    factor: &'a str,
    level: &'a str,
}

pub(crate) fn levels(levels: &[(String, String)]) -> Vec<Level<'_>> {
    let levels = levels.iter();
    levels
        .map(|(factor, level)| Level { factor, level })
        .collect()
}

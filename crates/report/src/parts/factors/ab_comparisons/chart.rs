//! A/B comparison of two levels of a factor.

use serde::Serialize;

use crate::{layout::chart_numbers::ends, parts::factors::curves::chart::Axis};
use waggle_analysis::{Ahead, Compared, ComparisonModel, Found, Measure};

#[derive(Serialize)]
pub(crate) struct Comparison<'a> {
    levels: &'a [String; 2],
    over: Axis<'a>,
    lines: Vec<&'a str>,
    outcomes: Vec<Outcome<'a>>,
}

#[derive(Serialize)]
struct Outcome<'a> {
    name: &'a str,
    difference: bool,
    points: Vec<Point>,
}

/// Line, level, point, low, high, which level is ahead, whether both cells are reliable. Ahead is 0 or 1, `None` without a difference, and
/// 2 without an interval.
type Point = (
    usize,
    usize,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<u8>,
    bool,
);

impl<'a> Comparison<'a> {
    pub(crate) fn new(comparison: &'a ComparisonModel) -> Self {
        let outcomes = comparison.outcomes.iter();
        Self {
            levels: &comparison.levels,
            over: Axis::new(&comparison.over),
            lines: comparison
                .lines
                .iter()
                .map(|line| line.name.as_str())
                .collect(),
            outcomes: outcomes
                .map(|outcome| of_outcome(comparison, outcome))
                .collect(),
        }
    }
}

fn of_outcome<'a>(comparison: &ComparisonModel, outcome: &'a Compared) -> Outcome<'a> {
    let lines = outcome.at.iter().enumerate();
    let points = lines.flat_map(|(line, levels)| {
        let levels = levels.iter().enumerate();
        levels.filter_map(move |(level, effect)| point(comparison, outcome, (line, level), effect))
    });
    Outcome {
        name: &outcome.name,
        difference: outcome.measure == Measure::Difference,
        points: points.collect(),
    }
}

fn point(
    comparison: &ComparisonModel,
    outcome: &Compared,
    (line, level): (usize, usize),
    effect: &Found,
) -> Option<Point> {
    let [point, low, high] = ends(Some(effect.number()?));
    let ahead = match outcome.leader(effect) {
        Ahead::First => Some(0),
        Ahead::Second => Some(1),
        Ahead::Unsure => Some(2),
        Ahead::Neither | Ahead::Alone => None,
        Ahead::Unknown => return None,
    };
    let believed = comparison.is_free_of_doubt(line, level);
    Some((line, level, point, low, high, ahead, believed))
}

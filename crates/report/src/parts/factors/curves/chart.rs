//! Scaling curves: each outcome over one factor.

use serde::Serialize;

use crate::{
    layout::chart_numbers::{ends, round_to},
    words::{findings, labels},
};

use waggle_analysis::{Curve, CurvePoint, CurvesModel, Law, LineLaw, Over};

#[derive(Serialize)]
pub(crate) struct Curves<'a> {
    over: Axis<'a>,
    lines: Vec<Line<'a>>,
    panels: Vec<Panel<'a>>,
    charts: Vec<Chart<'a>>,
    kinds: Option<Kinds<'a>>,
}

/// The factor along the axis.
#[derive(Serialize)]
pub(crate) struct Axis<'a> {
    factor: &'a str,
    levels: &'a [String],
    at: Option<&'a [f64]>,
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    colour: usize,
    dash: usize,
}

/// The lines that share a chart.
#[derive(Serialize)]
struct Panel<'a> {
    name: &'a str,
    /// Place among the lines, and name in this chart.
    lines: Vec<(usize, &'a str)>,
}

#[derive(Serialize)]
struct Chart<'a> {
    name: &'a str,
    kind: &'static str,
    points: Vec<Point>,
    laws: Vec<LawLine>,
}

/// The curve of a law along one line, if the law holds.
#[derive(Serialize)]
struct LawLine {
    line: usize,
    /// Level, value, low, high.
    band: Vec<[f64; 4]>,
    /// Where its exponent changes: level, ends of the interval, value.
    turn: Option<[f64; 4]>,
}

/// Line, level, cell, point, low, high, reference result, why it is not reliable.
type Point = (
    usize,
    usize,
    u32,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<String>,
);

/// Failed requests by kind.
#[derive(Serialize)]
struct Kinds<'a> {
    names: Vec<String>,
    shares: &'a [(usize, usize, Vec<f64>)],
}

impl<'a> Curves<'a> {
    pub(crate) fn new(curves: &'a CurvesModel) -> Self {
        let lines = curves.lines.iter().map(|line| Line {
            name: &line.name,
            colour: line.places.first().copied().unwrap_or(0),
            dash: line.places.get(1).copied().unwrap_or(0),
        });
        let kinds = curves.kinds.as_ref().map(|failed| Kinds {
            names: failed.kinds.iter().map(|kind| kind.in_words()).collect(),
            shares: &failed.shares,
        });
        Self {
            over: Axis::new(&curves.over),
            lines: lines.collect(),
            panels: curves.panels.iter().map(Panel::new).collect(),
            charts: curves.charts.iter().map(Chart::new).collect(),
            kinds,
        }
    }
}

impl<'a> Panel<'a> {
    fn new(panel: &'a waggle_analysis::Panel) -> Self {
        let lines = panel.lines.iter();
        Self {
            name: &panel.name,
            lines: lines.map(|line| (line.line, line.name.as_str())).collect(),
        }
    }
}

impl<'a> Axis<'a> {
    pub(crate) fn new(over: &'a Over) -> Self {
        Self {
            factor: &over.factor,
            levels: &over.levels,
            at: over.at.as_deref(),
        }
    }
}

impl<'a> Chart<'a> {
    fn new(curve: &'a Curve) -> Self {
        Self {
            name: &curve.name,
            kind: labels::unit(curve.unit),
            points: curve.points.iter().map(point).collect(),
            laws: curve.laws.fit().iter().filter_map(law).collect(),
        }
    }
}

fn law(line: &LineLaw) -> Option<LawLine> {
    let law = line.law.as_ref().ok().filter(|law| law.holds())?;
    let band = law
        .band()
        .iter()
        .map(|point| [point.level, point.value, point.low, point.high].map(round_to));
    Some(LawLine {
        line: line.line,
        band: band.collect(),
        turn: turn(law),
    })
}

fn turn(law: &Law) -> Option<[f64; 4]> {
    let Law::Power(power) = law else {
        return None;
    };
    let level = power.break_point?.level;
    let (low, high) = level.interval?;
    let turn = [level.point, low, high, power.curve.point(level.point)];
    Some(turn.map(round_to))
}

fn point(point: &CurvePoint) -> Point {
    let [middle, low, high] = ends(point.estimate.as_ref());
    (
        point.line,
        point.level,
        point.cell,
        middle,
        low,
        high,
        point.reference.map(round_to),
        point.thin.as_ref().map(findings::thin),
    )
}

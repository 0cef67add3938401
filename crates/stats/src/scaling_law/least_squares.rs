//! Weighted nonlinear least squares with bounds: Levenberg (1944) and Marquardt (1963), with coefficients that would leave their
//! bounds held there.
//!
//! The means of the levels are fitted, each weighted by its number of trials: that has the same minimum as all trials. The search
//! starts from the best points of a grid of shapes, the scale being known for each.

use crate::scaling_law::{
    Errors,
    form::{Fitted, Form, Law, MAX_SHAPE, Shape},
    levels::Levels,
};

const MAX_STEPS: usize = 200;
/// A smaller gain, as a share of the sum of squares, ends the search.
const MIN_GAIN: f64 = 1e-13;
const DAMPING: f64 = 1e-3;
const MAX_DAMPING: f64 = 1e12;
/// Points of the grid from which the search starts.
const STARTS_TRIED: usize = 4;
/// Coefficients of a fit, at most: the scale, and those of the shape.
const SIZE: usize = 1 + MAX_SHAPE;

/// Shapes from which a search starts, with their transformed values at the levels: they do not depend on what is fitted.
pub(super) struct Grid {
    pub(super) law: Law,
    shapes: Vec<(Shape, Vec<f64>)>,
}

impl Grid {
    pub(super) fn new(law: Law, levels: &Levels, starts: impl Iterator<Item = Shape>) -> Self {
        let mut shapes = Vec::new();
        for shape in starts {
            let values = levels.all.iter();
            let values = values.map(|level| levels.transform(law.form.shape(shape, level.x)));
            shapes.push((shape, values.collect()));
        }
        Self { law, shapes }
    }

    /// Each start with its sum of squares, with the scale that suits it best; the best one first.
    fn starts(&self, levels: &Levels) -> Vec<(f64, Fitted)> {
        let mut starts = Vec::new();
        for (shape, values) in &self.shapes {
            let (scale, squares) = best_scale(levels, values);
            if squares.is_finite() && scale > 0.0 {
                let shape = *shape;
                starts.push((squares, Fitted { scale, shape }));
            }
        }
        starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        starts
    }

    /// The coefficients that come nearest, from several starts; `None` if none has a finite distance.
    pub(super) fn fit(&self, levels: &Levels) -> Option<Fitted> {
        let starts = self.starts(levels).into_iter().take(STARTS_TRIED);
        best(starts.map(|(_, start)| descend(&self.law, levels, start)))
    }

    /// The same near a known fit of similar data: from there and from the best start.
    pub(super) fn fit_near(&self, levels: &Levels, known: Fitted) -> Option<Fitted> {
        let nearest = self.starts(levels).first().map(|(_, start)| *start);
        let starts = [Some(known), nearest].into_iter().flatten();
        best(starts.map(|start| descend(&self.law, levels, start)))
    }
}

/// The sum of squares about a curve; not a number if the curve has no value somewhere.
pub(super) fn sum_of_squares(form: Form, levels: &Levels, fit: &Fitted) -> f64 {
    let squares = levels.all.iter().map(|level| {
        let off = level.deviation(levels.transform(fit.value(form, level.x)));
        level.weight() * off * off
    });
    squares.sum()
}

fn best(ends: impl Iterator<Item = (f64, Fitted)>) -> Option<Fitted> {
    ends.filter(|(squares, _)| squares.is_finite())
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, fitted)| fitted)
}

/// The scale that brings a shape's values nearest to the levels, and the sum of squares that is left. It is a factor, or a sum of
/// logarithms.
fn best_scale(levels: &Levels, values: &[f64]) -> (f64, f64) {
    let pairs = || levels.all.iter().zip(values);
    let sum = |term: fn(f64, f64) -> f64| -> f64 {
        pairs()
            .map(|(level, value)| level.weight() * term(level.mean, *value))
            .sum()
    };
    let squares = |scaled: &dyn Fn(f64) -> f64| -> f64 {
        pairs()
            .map(|(level, value)| level.weight() * level.deviation(scaled(*value)).powi(2))
            .sum()
    };
    match levels.errors {
        Errors::Relative => {
            let shift = sum(|mean, value| mean - value) / sum(|_, _| 1.0);
            (shift.exp(), squares(&|value| value + shift))
        }
        Errors::Absolute => {
            let scale = sum(|mean, value| mean * value) / sum(|_, value| value * value);
            (scale, squares(&|value| value * scale))
        }
    }
}

/// Down from one start, to the coefficients with their sum of squares.
fn descend(law: &Law, levels: &Levels, start: Fitted) -> (f64, Fitted) {
    let mut fit = start;
    let mut squares = sum_of_squares(law.form, levels, &fit);
    let mut damping = DAMPING;
    let mut steps = 0;
    while steps < MAX_STEPS && damping < MAX_DAMPING && squares > 0.0 {
        steps += 1;
        let Some(next) = step(law, levels, &fit, damping) else {
            damping *= 10.0;
            continue;
        };
        let next_squares = sum_of_squares(law.form, levels, &next);
        // Not a number is no gain.
        if next_squares < squares {
            let gain = (squares - next_squares) / squares;
            (fit, squares) = (next, next_squares);
            damping = (damping / 10.0).max(f64::EPSILON);
            if gain < MIN_GAIN {
                break;
            }
        } else {
            damping *= 10.0;
        }
    }
    (squares, fit)
}

/// One damped step, held within the bounds.
fn step(law: &Law, levels: &Levels, fit: &Fitted, damping: f64) -> Option<Fitted> {
    let size = law.form.coefficients();
    let (mut normal, slope) = normal_equations(law.form, levels, fit);
    let [a, b, c, d] = fit.shape;
    let place = [fit.scale, a, b, c, d];
    let [first, second, third, fourth] = law.bounds;
    let bounds = [(0.0, f64::INFINITY), first, second, third, fourth];
    for (row, (low, high)) in bounds.into_iter().enumerate().take(size) {
        let leaves =
            (place[row] <= low && slope[row] < 0.0) || (place[row] >= high && slope[row] > 0.0);
        // What does not change the curve, or would leave its bounds, is held.
        if leaves || normal[row][row] <= 0.0 {
            normal[row] = [0.0; SIZE];
            for line in &mut normal {
                line[row] = 0.0;
            }
            normal[row][row] = f64::INFINITY;
        } else {
            normal[row][row] *= 1.0 + damping;
        }
    }
    let change = solve(normal, slope, size)?;
    let moved = |row: usize| (place[row] + change[row]).clamp(bounds[row].0, bounds[row].1);
    let next = Fitted {
        // A scale of 0 would end the search.
        scale: moved(0).max(fit.scale / 10.0),
        shape: [moved(1), moved(2), moved(3), moved(4)],
    };
    (next != *fit).then_some(next)
}

/// Products of the derivatives with each other, and with the distances.
fn normal_equations(
    form: Form,
    levels: &Levels,
    fit: &Fitted,
) -> ([[f64; SIZE]; SIZE], [f64; SIZE]) {
    let size = form.coefficients();
    let (mut normal, mut slope) = ([[0.0; SIZE]; SIZE], [0.0; SIZE]);
    for level in &levels.all {
        let shape = form.shape(fit.shape, level.x);
        let [a, b, c, d] = form
            .gradient(fit.shape, level.x)
            .map(|derivative| fit.scale * derivative);
        let value = fit.scale * shape;
        let outer = match levels.errors {
            Errors::Relative => 1.0 / value,
            Errors::Absolute => 1.0,
        };
        let gradient = [shape, a, b, c, d].map(|derivative| derivative * outer);
        let curve = levels.transform(value);
        let off = level.deviation(curve);
        // A bound that is kept says nothing.
        if level.bound.is_some() && off == 0.0 {
            continue;
        }
        for row in 0..size {
            slope[row] += level.weight() * gradient[row] * off;
            for column in 0..size {
                normal[row][column] += level.weight() * gradient[row] * gradient[column];
            }
        }
    }
    (normal, slope)
}

/// Gaussian elimination of a positive definite matrix, of which the first `size` rows count; an infinite diagonal holds its unknown
/// at 0.
fn solve(
    mut matrix: [[f64; SIZE]; SIZE],
    mut right: [f64; SIZE],
    size: usize,
) -> Option<[f64; SIZE]> {
    for row in 0..size {
        if matrix[row][row].is_infinite() {
            matrix[row][row] = 1.0;
            right[row] = 0.0;
        }
    }
    for pivot in 0..size {
        if matrix[pivot][pivot] <= 0.0 || matrix[pivot][pivot].is_nan() {
            return None;
        }
        let above = matrix[pivot];
        for row in pivot + 1..size {
            let factor = matrix[row][pivot] / above[pivot];
            for (element, above) in matrix[row].iter_mut().zip(above) {
                *element -= factor * above;
            }
            right[row] -= factor * right[pivot];
        }
    }
    let mut solution = [0.0; SIZE];
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size)
            .map(|column| matrix[row][column] * solution[column])
            .sum();
        solution[row] = (right[row] - known) / matrix[row][row];
    }
    solution
        .iter()
        .all(|element| element.is_finite())
        .then_some(solution)
}

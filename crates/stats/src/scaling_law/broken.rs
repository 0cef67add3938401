//! A power law whose exponent changes once: a + b·n^k up to the break n₀, a + b·n₀^(k − l)·n^l beyond it. The curve has no step.
//!
//! It is fitted as c·(s + (1 − s)·p), where p is 1 at the highest level. The criterion is that of Schwarz (*Annals of Statistics* 6,
//! 1978) with the correction for small samples of McQuarrie (*Statistics and Probability Letters* 44, 1999). Trials count one by one,
//! unless the levels are farther from the curve than their trials explain: then trials of a level say the same, and levels count.

use crate::{
    arithmetic::sample::size,
    intervals::estimate::Estimate,
    scaling_law::{
        Coefficient, LawSettings,
        bootstrap::Resamples,
        form::{Fitted, Form, Law, Shape},
        least_squares::{Grid, sum_of_squares},
        levels::Levels,
        power::{Growth, MAX_EXPONENT, PowerLaw, change, growth},
        quality::{FitQuality, Misfit},
    },
};

/// A law with a break has five coefficients; fewer levels above 0 than this have none.
pub const MIN_BREAK_LEVELS: usize = 7;
/// Levels above 0 on each side of the break, at least: two exponents and where they meet need three each.
const SIDE_LEVELS: usize = 3;
/// The criterion of the law with a break must be lower by so much: "very strong" evidence of Kass and Raftery (*Journal of the American
/// Statistical Association* 90, 1995).
const MIN_EVIDENCE: f64 = 10.0;
/// Levels that are this unlikely to be so far from the curve by the scatter of their trials count instead of these.
const CLUSTERED_BELOW: f64 = 0.05;
/// Relative deviations below this are none, however little trials scatter.
const MIN_DEVIATION: f64 = 1e-3;
/// Shares and exponents from which the search for the best ones starts.
const STARTS: ([f64; 4], [f64; 6]) = ([0.000_3, 0.01, 0.1, 0.5], [0.05, 0.5, 1.0, 1.4, 2.0, 3.0]);
const FORM: Form = Form::Broken;

/// The level from which on the exponent is another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakPoint {
    pub level: Estimate,
    /// Beyond it, -5 to 5.
    pub exponent: Coefficient,
    /// How the value grows up to it.
    pub growth: Growth,
    /// By how much the criterion is lower than that of the law without a break.
    pub evidence: f64,
}

/// `None` if the levels are too few, or do not show a break clearly; `simple`: the fit without a break.
pub(super) fn fit(
    levels: &Levels,
    simple: &Fitted,
    settings: &LawSettings<'_>,
) -> Option<PowerLaw> {
    let law = law(levels)?;
    let fit = Grid::new(law, levels, starts(&law, levels)).fit(levels)?;
    let evidence = evidence(levels, simple, &fit);
    let (least, most) = law.bounds[3];
    // At a bound the levels on one side are too few.
    let is_inside = least < fit.shape[3] && fit.shape[3] < most;
    if evidence < MIN_EVIDENCE || !is_inside {
        return None;
    }
    let near = places(&law, levels).map(|place| [fit.shape[0], fit.shape[1], fit.shape[2], place]);
    let grid = Grid::new(law, levels, near);
    let resamples = Resamples::draw(levels, &grid, fit, settings);
    let (slower, faster) = resamples.interval(|curve| curve.shape[2] - curve.shape[1])?;
    let power_law = describe(levels, &fit, resamples, settings, evidence);
    let is_change = slower > 0.0 || faster < 0.0;
    (is_change && power_law.growth != Growth::Flat).then_some(power_law)
}

/// The break is within the levels of which there are enough on both sides.
fn law(levels: &Levels) -> Option<Law> {
    let above = levels.above_zero();
    if above.len() < MIN_BREAK_LEVELS {
        return None;
    }
    let place = |level: usize| above[level].x.ln();
    let exponent = match levels.has_zero() {
        true => (0.0, MAX_EXPONENT),
        false => (-MAX_EXPONENT, MAX_EXPONENT),
    };
    let between = (place(SIDE_LEVELS - 1), place(above.len() - SIDE_LEVELS));
    Some(Law {
        form: FORM,
        bounds: [(0.0, 1.0), exponent, exponent, between],
    })
}

/// Places of a break from which the search starts: in the middle between two levels.
fn places(law: &Law, levels: &Levels) -> impl Iterator<Item = f64> {
    let (least, most) = law.bounds[3];
    let pairs = levels.above_zero().windows(2);
    let middle = pairs.map(|pair| f64::midpoint(pair[0].x.ln(), pair[1].x.ln()));
    middle.filter(move |place| (least..=most).contains(place))
}

fn starts(law: &Law, levels: &Levels) -> impl Iterator<Item = Shape> {
    let (shares, exponents) = STARTS;
    let of_place = move |place: f64| {
        shares.into_iter().flat_map(move |share| {
            exponents
                .into_iter()
                .flat_map(move |first| exponents.map(move |second| [share, first, second, place]))
        })
    };
    places(law, levels).flat_map(of_place)
}

/// By how much the criterion of the law with a break is lower.
fn evidence(levels: &Levels, simple: &Fitted, broken: &Fitted) -> f64 {
    let misfit = Misfit::measure(FORM, levels, broken);
    let is_clustered = misfit
        .p_value()
        .is_none_or(|chance| chance < CLUSTERED_BELOW);
    let (count, within) = match is_clustered {
        true => (size(levels.all.len()), 0.0),
        false => (size(levels.trials), levels.scatter().0),
    };
    let least = size(levels.trials) * MIN_DEVIATION * MIN_DEVIATION;
    let squares =
        |form: Form, fit: &Fitted| (sum_of_squares(form, levels, fit) + within).max(least);
    let criterion = |form: Form, fit: &Fitted| {
        let coefficients = size(form.coefficients());
        let left = count - coefficients - 2.0;
        (left > 0.0).then(|| count * (squares(form, fit).ln() + coefficients * count.ln() / left))
    };
    let both = criterion(Form::Power, simple).zip(criterion(FORM, broken));
    both.map_or(f64::NEG_INFINITY, |(simple, broken)| simple - broken)
}

fn describe(
    levels: &Levels,
    fit: &Fitted,
    resamples: Resamples,
    settings: &LawSettings<'_>,
    evidence: f64,
) -> PowerLaw {
    let exponent = |place: usize| {
        let is_at_bound = fit.shape[place].abs() >= MAX_EXPONENT;
        resamples.coefficient(fit, is_at_bound, |curve| curve.shape[place])
    };
    let factor = |curve: &Fitted| {
        let [share, first, second, fit] = curve.shape;
        curve.scale * (1.0 - share) * ((second - first) * fit).exp() * levels.unit.powf(-first)
    };
    let level = |curve: &Fitted| curve.shape[3].exp() * levels.unit;
    let lowest = levels.lowest() / levels.unit;
    let first_change =
        |curve: &Fitted| curve.value(FORM, curve.shape[3].exp()) / curve.value(FORM, lowest);
    let (first, second) = (exponent(1), exponent(2));
    let change = change(FORM, levels, &resamples, fit);
    let quality = FitQuality::judge(FORM, levels, fit);
    let first_change = resamples.estimate(first_change(fit), first_change);
    PowerLaw {
        constant: resamples.coefficient(fit, fit.shape[0] <= 0.0, |curve| {
            curve.scale * curve.shape[0]
        }),
        factor: resamples.coefficient(fit, fit.shape[0] >= 1.0, factor),
        exponent: first,
        break_point: Some(BreakPoint {
            level: resamples.estimate(level(fit), level),
            exponent: second,
            growth: growth(&first_change, &first.estimate, &quality),
            evidence,
        }),
        change,
        growth: growth(&change, &second.estimate, &quality),
        quality,
        band: resamples.band(levels, fit, settings.band_at),
        curve: resamples.into_curve(levels, *fit),
    }
}

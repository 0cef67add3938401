//! Sentences about scaling laws.

use waggle_analysis::{Curve, CurvesModel, Law, LineLaw};
use waggle_stats::{
    BreakPoint, Coefficient, Estimate, FitQuality, HighEfficiency, LawBound, LawGrowth,
    MIN_EXACT_LEVELS, NotFitted, Peak, PowerLaw, UniversalScalability,
};

use crate::words::{format, labels, sentence::uncapitalise};

/// From here on a level between those of the study is a whole number of three digits.
const WHOLE_FROM: f64 = 999.5;

/// What each line of a chart follows.
#[must_use]
pub fn sentences(curves: &CurvesModel, curve: &Curve) -> Vec<String> {
    let mut sentences = Vec::new();
    for line in curve.laws.fit() {
        let subject = subject(curves, curve, line);
        match &line.law {
            Ok(Law::Universal(law)) => sentences.push(universal(&subject, law, curves)),
            Ok(Law::Power(law)) => sentences.push(power(&subject, law, curves)),
            Err(_) => {}
        }
    }
    sentences
}

/// What puts the laws of a chart in doubt.
#[must_use]
pub fn cautions(curves: &CurvesModel, curve: &Curve) -> Vec<String> {
    let efficiencies = curve.laws.fit().iter().filter_map(|line| match &line.law {
        Ok(Law::Universal(law)) => {
            let high = law.high_efficiency.as_ref()?;
            Some(high_efficiency(&subject(curves, curve, line), high, curves))
        }
        _ => None,
    });
    efficiencies.collect()
}

/// The levels of a line that the laws rest on although their cell is not valid, said once for all charts.
#[must_use]
pub fn doubtful(curves: &CurvesModel) -> Option<String> {
    let curve = curves
        .charts
        .iter()
        .find(|curve| !curve.laws.fit().is_empty())?;
    let lines = curve
        .laws
        .fit()
        .iter()
        .filter(|line| !line.doubtful.is_empty());
    let all: Vec<String> = lines.map(|line| doubtful_levels(curves, line)).collect();
    (!all.is_empty()).then(|| {
        format!(
            "The laws rest on cells that are not valid, too. Levels of {}: {}.",
            curves.over.factor,
            all.join("; ")
        )
    })
}

fn doubtful_levels(curves: &CurvesModel, line: &LineLaw) -> String {
    let levels: Vec<String> = line
        .doubtful
        .iter()
        .map(|(level, verdict)| format!("{level} ({})", labels::verdict(*verdict)))
        .collect();
    let name = &curves.lines[line.line].name;
    let of_line = match name.is_empty() {
        true => String::new(),
        false => format!("{name}: "),
    };
    format!("{of_line}{}", levels.join(", "))
}

/// Why lines have no law, a sentence for each reason.
#[must_use]
pub fn not_fitted(curves: &CurvesModel) -> Vec<String> {
    let mut by_reason: Vec<(NotFitted, Vec<String>)> = Vec::new();
    for curve in &curves.charts {
        for line in curve.laws.fit() {
            let Err(reason) = line.law else { continue };
            let subject = uncapitalise(&subject(curves, curve, line));
            match by_reason.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, subjects)) => subjects.push(subject),
                None => by_reason.push((reason, vec![subject])),
            }
        }
    }
    let sentences = by_reason.into_iter().map(|(reason, subjects)| {
        format!(
            "No law is fitted to {}: {}.",
            subjects.join("; "),
            reason_text(reason)
        )
    });
    sentences.collect()
}

/// Levels whose values the laws take as bounds; a sentence for each metric.
pub(crate) fn bounded_text(curves: &CurvesModel) -> Vec<String> {
    let mut sentences = Vec::new();
    for curve in &curves.charts {
        let bounds = [LawBound::AtLeast, LawBound::AtMost].into_iter();
        sentences.extend(bounds.filter_map(|bound| bounded_sentence(curves, curve, bound)));
    }
    sentences
}

/// `None` if no level is such a bound.
fn bounded_sentence(curves: &CurvesModel, curve: &Curve, bound: LawBound) -> Option<String> {
    let mut levels = Vec::new();
    for line in curve.laws.fit() {
        let bounded_levels = line.bounded.iter().filter(|(_, limit)| *limit == bound);
        let name = &curves.lines[line.line].name;
        let of_line = match name.is_empty() {
            true => String::new(),
            false => format!(" with {name}"),
        };
        levels.extend(bounded_levels.map(|(level, _)| format!("{level}{of_line}")));
    }
    let (side, open) = match bound {
        LawBound::AtLeast => ("lower", "above"),
        LawBound::AtMost => ("upper", "below"),
    };
    (!levels.is_empty()).then(|| {
        format!(
            "The law of {} takes the values at {} {} as {side} bounds, because the load generator was the limit: the curve may lie {open} \
             them.",
            uncapitalise(&curve.name),
            curves.over.factor,
            levels.join(", ")
        )
    })
}

/// Why there is no law.
#[must_use]
pub fn reason_text(reason: NotFitted) -> String {
    match reason {
        NotFitted::TooFewLevels(levels) => {
            format!("only {levels} of its levels have values, and a law needs six")
        }
        NotFitted::TooFewExactLevels(levels) => format!(
            "only {levels} of its levels have values that are no bounds, and a law needs {MIN_EXACT_LEVELS}"
        ),
        NotFitted::LevelNotPositive => {
            "a level is not above 0, which the Universal Scalability Law needs".to_owned()
        }
        NotFitted::LevelBelowZero => "a level is below 0".to_owned(),
        NotFitted::ValueNotUsable => "a value is below 0 or not finite".to_owned(),
        NotFitted::NothingAboveZero => "all values are 0".to_owned(),
        NotFitted::NothingIdentifiable => "no curve goes near the values".to_owned(),
    }
}

/// How it grows, in a few words.
#[must_use]
pub fn growth(growth: LawGrowth) -> &'static str {
    match growth {
        LawGrowth::Flat => "flat",
        LawGrowth::Falls => "falls",
        LawGrowth::Linear => "linear",
        LawGrowth::WorseThanLinear => "worse than linear",
        LawGrowth::BetterThanLinear => "better than linear",
        LawGrowth::Grows => "grows",
        LawGrowth::Undecided => "undecided",
        LawGrowth::OtherShape => "no power law",
    }
}

/// `Goodput`, or `Goodput, rest`.
fn subject(curves: &CurvesModel, curve: &Curve, line: &LineLaw) -> String {
    name(curves, curve, line.line)
}

/// The same by the place of a line.
pub(crate) fn name(curves: &CurvesModel, curve: &Curve, line: usize) -> String {
    match curves.lines[line].name.as_str() {
        "" => curve.name.clone(),
        name => format!("{}, {name}", curve.name),
    }
}

/// A level as the study writes it, or a number between levels: `71,200`, `0.25`.
pub(crate) fn level(number: f64, curves: &CurvesModel) -> String {
    let known = curves.over.at.as_ref();
    let place = known.and_then(|all| all.iter().position(|candidate| *candidate == number));
    match place {
        Some(place) => curves.over.levels[place].clone(),
        None if number >= WHOLE_FROM => {
            let digit = 10_f64.powf(number.log10().floor() - 2.0);
            format::amount((number / digit).round() * digit)
        }
        None => format::plain(number),
    }
}

fn universal(subject: &str, law: &UniversalScalability, curves: &CurvesModel) -> String {
    let factor = &curves.over.factor;
    if !law.quality.holds {
        return other_shape(
            subject,
            "the Universal Scalability Law",
            &law.quality,
            curves,
        );
    }
    let coefficients = format!(
        "contention {}, coherency {}",
        coefficient(&law.contention),
        coefficient(&law.coherency)
    );
    match &law.peak {
        Peak::At { .. } => format!(
            "{subject} peaks at {factor} {}: {coefficients}.",
            peak(&law.peak, curves)
        ),
        Peak::NotWithin(reach) => format!(
            "{subject} has no peak within twice the range, up to {factor} {}: {coefficients}.",
            format::plain(*reach)
        ),
    }
}

/// `24.0 (20.1 – 31.4)`, `24.0 (20.1 – beyond twice the range)`.
pub(crate) fn peak(peak: &Peak, curves: &CurvesModel) -> String {
    match *peak {
        Peak::At {
            level, low, high, ..
        } => {
            let high = high.map_or_else(|| "beyond twice the range".to_owned(), format::plain);
            format!("{} ({} – {high})", format::plain(level), format::plain(low))
        }
        Peak::NotWithin(_) => format!("not within twice the range of {}", curves.over.factor),
    }
}

fn power(subject: &str, law: &PowerLaw, curves: &CurvesModel) -> String {
    if let Some(break_point) = &law.break_point {
        return broken(subject, law, break_point, curves);
    }
    let factor = &curves.over.factor;
    let exponent = coefficient(&law.exponent);
    let ends = match curves.over.levels.as_slice() {
        [first, .., last] => format!("from {factor} {first} to {last}"),
        _ => format!("over {factor}"),
    };
    let change = || format!("{ends} by a factor of {}", ratio(&law.change));
    match law.growth {
        LawGrowth::Flat => format!(
            "{subject} is flat {ends}: its change is within 5 %, {}.",
            ratio(&law.change)
        ),
        LawGrowth::Falls => format!("{subject} falls {}.", change()),
        LawGrowth::Linear => format!("{subject} grows linearly: exponent {exponent}."),
        LawGrowth::WorseThanLinear => {
            format!("{subject} grows worse than linear: exponent {exponent}.")
        }
        LawGrowth::BetterThanLinear => {
            format!("{subject} grows better than linear: exponent {exponent}.")
        }
        LawGrowth::Grows => format!(
            "{subject} grows {}; whether linearly is not decided: exponent {exponent}.",
            change()
        ),
        LawGrowth::Undecided => format!(
            "Whether {} changes is not decided: {}.",
            uncapitalise(subject),
            change()
        ),
        LawGrowth::OtherShape => other_shape(subject, "a power law", &law.quality, curves),
    }
}

/// `Response time is linear to n 32,000 (27,000 – 38,000), then exponent 1.31 (1.22 – 1.40).`
fn broken(subject: &str, law: &PowerLaw, break_point: &BreakPoint, curves: &CurvesModel) -> String {
    if !law.quality.holds {
        let law_name = "a power law, even with a change of its exponent";
        return other_shape(subject, law_name, &law.quality, curves);
    }
    let start = match break_point.growth {
        LawGrowth::Linear => "is linear".to_owned(),
        LawGrowth::Flat => "is flat".to_owned(),
        _ => format!("has exponent {}", coefficient(&law.exponent)),
    };
    format!(
        "{subject} {start} to {} {}, then exponent {}.",
        curves.over.factor,
        estimate(&break_point.level, |at| level(at, curves)),
        coefficient(&break_point.exponent)
    )
}

fn other_shape(subject: &str, law: &str, quality: &FitQuality, curves: &CurvesModel) -> String {
    let side = match quality.farthest < 0.0 {
        true => "below",
        false => "above",
    };
    format!(
        "{subject} does not follow {law}: at {} {} it is {} {side} the curve.",
        curves.over.factor,
        level(quality.farthest_level, curves),
        format::share(quality.farthest.abs()),
    )
}

fn high_efficiency(subject: &str, high: &HighEfficiency, curves: &CurvesModel) -> String {
    let (place, lowest) = (level(high.level, curves), level(high.lowest_level, curves));
    let factor = &curves.over.factor;
    format!(
        "Check the measurement: for each unit of {factor}, {} at {place} is {} of that at {lowest}. Above 1.05× is better than linear, which \
         few systems are; often the lowest level was not at its limit, or something else differed.",
        uncapitalise(subject),
        format::times(high.efficiency),
    )
}

/// `1.31 (1.22 – 1.40)`; with a note if it is at its bound.
pub(crate) fn coefficient(coefficient: &Coefficient) -> String {
    let text = estimate(&coefficient.estimate, format::plain);
    match coefficient.is_at_bound {
        true => format!("{text}, at its bound"),
        false => text,
    }
}

/// `1.31 (1.22 – 1.40)` as a factor.
pub(crate) fn ratio(change: &Estimate) -> String {
    estimate(change, format::plain)
}

/// A number and the ends of its interval, each shown by `show`.
pub(crate) fn estimate(estimate: &Estimate, show: impl Fn(f64) -> String) -> String {
    let point = show(estimate.point);
    match estimate.interval {
        Some((low, high)) => format!("{point} ({} – {})", show(low), show(high)),
        None => point,
    }
}

#[cfg(test)]
pub(crate) mod tests;

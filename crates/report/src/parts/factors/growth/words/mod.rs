//! Sentences about where scaling curves cross bounds and each other, and how two levels of a factor differ along them.

use waggle_analysis::{BoundCrossing, CurvesModel, PairModel};
use waggle_metrics::{Unit, Wish};
use waggle_stats::Crossing;

use crate::{
    parts::factors::laws,
    words::{format, sentence},
};

/// Where each line crosses each bound.
#[must_use]
pub fn bounds(curves: &CurvesModel) -> Vec<String> {
    let crossings = curves.bound_crossings();
    crossings
        .iter()
        .map(|crossing| bound(crossing, curves))
        .collect()
}

fn bound(crossing: &BoundCrossing<'_>, curves: &CurvesModel) -> String {
    let subject = laws::words::name(curves, &curves.charts[crossing.bound.chart], crossing.line);
    let limit = limit(&crossing.bound.text);
    let factor = &curves.over.factor;
    let how = match crossing.is_law {
        true => "",
        false => ", between levels",
    };
    match crossing.crossing {
        Crossing::At { rises, .. } => {
            let verb = match rises {
                true => "crosses",
                false => "falls below",
            };
            let place = place(&crossing.crossing, curves);
            format!("{subject} {verb} {limit} at {factor} {place}{how}.")
        }
        Crossing::None {
            is_above: false,
            level,
        } => {
            let level = laws::words::level(level, curves);
            format!("{subject} stays below {limit} up to {factor} {level}.")
        }
        Crossing::None {
            is_above: true,
            level,
        } if is_highest(level, curves) => {
            format!("{subject} is above {limit} at every level.")
        }
        Crossing::None {
            is_above: true,
            level,
        } => {
            let level = laws::words::level(level, curves);
            format!("{subject} stays above {limit} up to {factor} {level}.")
        }
        Crossing::Undecided => format!(
            "Whether {} is above {limit} is not decided at the lowest level.",
            sentence::uncapitalise(&subject)
        ),
    }
}

fn is_highest(level: f64, curves: &CurvesModel) -> bool {
    let levels = curves.over.at.as_ref();
    levels
        .and_then(|all| all.last())
        .is_some_and(|last| level >= *last)
}

/// `71,200 (65,100 – 80,300)`, `71,200 (65,100 – beyond the curve)`; `None` without a crossing.
pub(crate) fn place(crossing: &Crossing, curves: &CurvesModel) -> String {
    let Crossing::At {
        level, interval, ..
    } = crossing
    else {
        return format::NONE.to_owned();
    };
    let shown = |level: f64| laws::words::level(level, curves);
    let ends = interval.map(|(low, high)| {
        let high = high.map_or_else(|| "beyond the curve".to_owned(), shown);
        format!(" ({} – {high})", shown(low))
    });
    format!("{}{}", shown(*level), ends.unwrap_or_default())
}

/// The value of a condition as the study has it: `1s` of `list.response_time.mean < 1s`.
pub(crate) fn limit(condition: &str) -> &str {
    let value = condition.rsplit(['<', '>', '=']).next();
    value.unwrap_or(condition).trim()
}

/// What the study asks of each pair: how they differ, and from which level on one is ahead.
#[must_use]
pub fn pairs(curves: &CurvesModel) -> Vec<String> {
    let pairs = curves.pairs.iter();
    pairs.map(|pair| pair_sentence(pair, curves)).collect()
}

fn pair_sentence(pair: &PairModel, curves: &CurvesModel) -> String {
    let parts = [
        difference(pair, curves),
        largest(pair, curves),
        lead(pair, curves),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let subject = subject(pair, curves);
    match parts.is_empty() {
        true => format!(
            "{subject}: no difference between {} and {} is shown.",
            pair.levels[0], pair.levels[1]
        ),
        false => format!("{subject}: {}.", parts.join("; ")),
    }
}

fn subject(pair: &PairModel, curves: &CurvesModel) -> String {
    let name = &curves.charts[pair.chart].name;
    match pair.rest.as_str() {
        "" => name.clone(),
        rest => format!("{name}, {rest}"),
    }
}

/// `steve has 550 B (540 – 560 B) more than kubernetes for each unit of n`.
fn difference(pair: &PairModel, curves: &CurvesModel) -> Option<String> {
    let slope = pair.difference?;
    let [first, second] = &pair.levels;
    let factor = &curves.over.factor;
    if !slope.is_straight {
        return Some(format!(
            "the difference of {second} and {first} is not proportional to {factor}"
        ));
    }
    let (low, high) = slope.per_unit.interval?;
    let (sign, word) = match () {
        () if low > 0.0 => (1.0, "more"),
        () if high < 0.0 => (-1.0, "less"),
        () => return None,
    };
    let unit = curves.charts[pair.chart].unit;
    let ends = [low * sign, high * sign];
    let size = format::in_unit(slope.per_unit.point.abs(), unit);
    let ends = format::ends_in_unit((ends[0].min(ends[1]), ends[0].max(ends[1])), unit);
    Some(format!(
        "{second} has {size} ({ends}) {word} than {first} for each unit of {factor}"
    ))
}

/// `steve is up to 1.60× (1.50 – 1.70) of kubernetes, at n 64000`.
fn largest(pair: &PairModel, curves: &CurvesModel) -> Option<String> {
    let (level, ratio) = pair.largest()?;
    let [first, second] = &pair.levels;
    let word = match ratio.point > 1.0 {
        true => "up to",
        false => "down to",
    };
    Some(format!(
        "{second} is {word} {} of {first}, at {} {}",
        format::ratio(ratio),
        curves.over.factor,
        curves.over.levels[level]
    ))
}

/// `etcd is faster than sqlite from n 12,000 (9,000 – 16,000) on`.
pub(crate) fn lead(pair: &PairModel, curves: &CurvesModel) -> Option<String> {
    let crossing = curves.lead(pair)?;
    let first_is_above = match crossing {
        Crossing::At { rises, .. } => rises,
        Crossing::None { is_above, .. } => is_above,
        Crossing::Undecided => return None,
    };
    let [first, second] = &pair.levels;
    let (above, below) = match first_is_above {
        true => (first, second),
        false => (second, first),
    };
    let (ahead, behind, word) = match (pair.wish, curves.charts[pair.chart].unit) {
        (Wish::More, _) => (above, below, "higher"),
        (_, Unit::Time) => (below, above, "faster"),
        _ => (below, above, "lower"),
    };
    let factor = &curves.over.factor;
    let lowest = curves.over.at.as_ref().and_then(|all| all.first());
    let range = match crossing {
        Crossing::None { level, .. } if lowest.is_some_and(|lowest| level <= *lowest) => {
            "at every level".to_owned()
        }
        Crossing::None { level, .. } => {
            format!("from {factor} {} on", laws::words::level(level, curves))
        }
        _ => format!("from {factor} {} on", place(&crossing, curves)),
    };
    Some(format!("{ahead} is {word} than {behind} {range}"))
}

#[cfg(test)]
mod tests;

//! Who is ahead where, in a sentence that goes no further than the intervals.

use waggle_stats::Estimate;

use super::{Ahead, Compared, Measure};
use crate::{model::layout::Over, text};

const EVERY: &str = "at every level";

/// What one sentence tells of.
pub(super) struct Told<'a> {
    pub(super) compared: &'a Compared,
    pub(super) levels: &'a [String; 2],
    pub(super) over: &'a Over,
    /// Empty where there is one.
    pub(super) line: &'a str,
    pub(super) at: &'a [Option<Estimate>],
}

/// `Goodput over users: rest is higher up to 200 (most at 200: 1.93× (1.8 – 2.1)); rabbitmq is higher from 250 on …`.
pub(super) fn of(told: &Told<'_>) -> String {
    let ahead: Vec<Ahead> = told
        .at
        .iter()
        .map(|found| told.compared.ahead(found.as_ref()))
        .collect();
    let with = match told.line {
        "" => String::new(),
        line => format!(" with {line}"),
    };
    let mut parts: Vec<String> = Vec::new();
    for who in in_order(&ahead) {
        parts.push(part(told, &ahead, who));
    }
    let unsure = if told
        .at
        .iter()
        .flatten()
        .all(|found| found.interval.is_none())
    {
        ". One trial a cell, so how sure that is nobody knows"
    } else {
        ""
    };
    format!(
        "{} over {}{with}: {}{unsure}.{}",
        told.compared.name,
        told.over.factor,
        parts.join("; "),
        changes(told.over, &ahead)
    )
}

/// Outcomes in which nobody is ahead anywhere.
pub(super) fn even(names: &[&str]) -> Option<String> {
    (!names.is_empty()).then(|| {
        format!(
            "No difference was seen at any level in: {}.",
            names.join(", ")
        )
    })
}

/// Those who are ahead somewhere as they come, then what is not known.
fn in_order(ahead: &[Ahead]) -> Vec<Ahead> {
    let mut order: Vec<Ahead> = Vec::new();
    let first = |who: &&Ahead| matches!(who, Ahead::First | Ahead::Second);
    let then = [Ahead::Neither, Ahead::Unknown];
    for who in ahead.iter().filter(first).chain(&then) {
        if ahead.contains(who) && !order.contains(who) {
            order.push(*who);
        }
    }
    order
}

fn part(told: &Told<'_>, ahead: &[Ahead], who: Ahead) -> String {
    let places: Vec<usize> = (0..ahead.len()).filter(|at| ahead[*at] == who).collect();
    let place = where_in(told.over, &places);
    let level = match who {
        Ahead::First => &told.levels[0],
        Ahead::Second => &told.levels[1],
        Ahead::Neither => return format!("no difference seen {}", any(&place)),
        Ahead::Unknown => return format!("nothing to compare {}", any(&place)),
    };
    let phrase = told.compared.better.phrase();
    let far = |at: &usize| told.at[*at].map_or(0.0, |found| distance(told.compared, &found));
    let most = places.iter().max_by(|a, b| far(a).total_cmp(&far(b)));
    let most = most.and_then(|at| {
        let shown = strength(told.compared, &told.at[*at]?);
        Some(match places.len() {
            1 => format!(" ({shown})"),
            _ => format!(" (most at {}: {shown})", told.over.levels[*at]),
        })
    });
    format!("{level} {phrase} {place}{}", most.unwrap_or_default())
}

/// Of what is nowhere one does not say `every`.
fn any(place: &str) -> &str {
    if place == EVERY {
        "at any level"
    } else {
        place
    }
}

/// How far from even, whichever way.
fn distance(compared: &Compared, found: &Estimate) -> f64 {
    match compared.measure {
        Measure::Ratio => found.point.ln().abs(),
        Measure::Difference => found.point.abs(),
    }
}

/// By how much the one that is ahead is: the larger ÷ the smaller, or points.
fn strength(compared: &Compared, found: &Estimate) -> String {
    match compared.measure {
        Measure::Ratio if found.point < 1.0 => text::ratio(&Estimate {
            point: 1.0 / found.point,
            interval: found.interval.map(|(low, high)| (1.0 / high, 1.0 / low)),
            count: found.count,
        }),
        Measure::Ratio => text::ratio(found),
        Measure::Difference if found.point < 0.0 => text::points(&Estimate {
            point: -found.point,
            interval: found.interval.map(|(low, high)| (-high, -low)),
            count: found.count,
        }),
        Measure::Difference => text::points(found),
    }
}

/// `up to 200`, `from 250 on`, `at 50 and from 150 to 200`, `at every level`; of levels that have no order each by its name.
fn where_in(over: &Over, places: &[usize]) -> String {
    let last = over.levels.len() - 1;
    let name = |at: usize| over.levels[at].as_str();
    if places.len() == over.levels.len() {
        return EVERY.to_owned();
    }
    if over.at.is_none() {
        let names: Vec<&str> = places.iter().map(|at| name(*at)).collect();
        return format!("at {}", joined(&names));
    }
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for at in places {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == *at => *to = *at,
            _ => ranges.push((*at, *at)),
        }
    }
    let shown: Vec<String> = ranges
        .iter()
        .map(|(from, to)| match (*from, *to) {
            (from, to) if from == to => format!("at {}", name(from)),
            (0, to) => format!("up to {}", name(to)),
            (from, to) if to == last => format!("from {} on", name(from)),
            (from, to) => format!("from {} to {}", name(from), name(to)),
        })
        .collect();
    joined(&shown.iter().map(String::as_str).collect::<Vec<_>>())
}

/// `a`, `a and b`, `a, b and c`.
fn joined(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// Between which levels the lead changes: the last where the one is clearly ahead and the first where the other is.
fn changes(over: &Over, ahead: &[Ahead]) -> String {
    if over.at.is_none() {
        return String::new();
    }
    let clear: Vec<usize> = (0..ahead.len())
        .filter(|at| matches!(ahead[*at], Ahead::First | Ahead::Second))
        .collect();
    let between: Vec<String> = clear
        .windows(2)
        .filter(|pair| ahead[pair[0]] != ahead[pair[1]])
        .map(|pair| {
            let [before, after] = [pair[0], pair[1]].map(|at| &over.levels[at]);
            format!("between {before} and {after}")
        })
        .collect();
    match between.as_slice() {
        [] => String::new(),
        all => format!(
            " The sign changes {}.",
            joined(&all.iter().map(String::as_str).collect::<Vec<_>>())
        ),
    }
}

/// Most cells that a caution names.
const NAMED: usize = 6;

pub(super) fn caution(named: &[String]) -> Option<String> {
    let (shown, rest) = named.split_at(named.len().min(NAMED));
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| {
        format!(
            "Cells that are not valid are compared all the same: {}{more}.",
            shown.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::outcome::Better;

    const USERS: [&str; 6] = ["50", "100", "150", "200", "250", "300"];

    fn over(levels: &[&str]) -> Over {
        let levels: Vec<String> = levels.iter().map(|level| (*level).to_owned()).collect();
        Over {
            factor: "users".to_owned(),
            at: crate::model::levels::numbers(&levels),
            levels,
        }
    }

    /// Ratios with intervals of 5 % to both sides; 0: nothing to compare.
    fn ratios(points: &[f64]) -> Vec<Option<Estimate>> {
        let of = |point: &f64| {
            (*point > 0.0).then_some(Estimate {
                point: *point,
                interval: Some((point * 0.95, point * 1.05)),
                count: 6,
            })
        };
        points.iter().map(of).collect()
    }

    fn compared(better: Better, measure: Measure) -> Compared {
        Compared {
            name: "It".to_owned(),
            better,
            measure,
            at: Vec::new(),
            sentences: Vec::new(),
        }
    }

    fn check_of(compared: &Compared, over: &Over, at: &[Option<Estimate>], expected: &str) {
        let told = of(&Told {
            compared,
            levels: &["rest".to_owned(), "rabbitmq".to_owned()],
            over,
            line: "",
            at,
        });
        assert_eq!(told, expected);
    }

    fn check(points: &[f64], expected: &str) {
        let higher = compared(Better::Higher, Measure::Ratio);
        check_of(&higher, &over(&USERS), &ratios(points), expected);
    }

    #[test]
    fn who_is_ahead_where() {
        check(
            &[0.8, 0.7, 0.6, 0.5, 1.01, 13.0],
            "It over users: rest is higher up to 200 (most at 200: 2.00× (1.90 – 2.11)); rabbitmq is higher at 300 \
             (13.0× (12.3 – 13.7)); no difference seen at 250. The sign changes between 200 and 300.",
        );
        check(
            &[2.0, 2.0, 2.0, 2.0, 2.0, 3.0],
            "It over users: rabbitmq is higher at every level (most at 300: 3.00× (2.85 – 3.15)).",
        );
        check(&[1.0; 6], "It over users: no difference seen at any level.");
        check(
            &[2.0, 1.0, 2.0, 3.0, 1.0, 0.0],
            "It over users: rabbitmq is higher at 50 and from 150 to 200 (most at 200: 3.00× (2.85 – 3.15)); \
             no difference seen at 100 and at 250; nothing to compare at 300.",
        );
        check(
            &[0.5, 2.0, 2.0, 0.5, 0.5, 0.4],
            "It over users: rest is higher at 50 and from 200 on (most at 300: 2.50× (2.38 – 2.63)); rabbitmq is higher from 100 to 150 \
             (most at 150: 2.00× (1.90 – 2.10)). The sign changes between 50 and 100 and between 150 and 200.",
        );
    }

    #[test]
    fn less_is_better_for_times_and_errors() {
        let quicker = compared(Better::Quicker, Measure::Ratio);
        let two = over(&["50", "100"]);
        check_of(
            &quicker,
            &two,
            &ratios(&[2.0, 0.5]),
            "It over users: rest is quicker at 50 (2.00× (1.90 – 2.10)); rabbitmq is quicker at 100 (2.00× (1.90 – 2.11)). \
             The sign changes between 50 and 100.",
        );
        let errors = compared(Better::FewerErrors, Measure::Difference);
        let difference = |point: f64, off: f64| {
            Some(Estimate {
                point,
                interval: Some((point - off, point + off)),
                count: 6,
            })
        };
        check_of(
            &errors,
            &two,
            &[difference(0.0, 0.0), difference(-0.28, 0.03)],
            "It over users: rabbitmq has fewer errors at 100 (28.0 points (25.0 – 31.0)); no difference seen at 50.",
        );
    }

    #[test]
    fn levels_without_an_order_and_numbers_without_intervals() {
        let backends = over(&["files", "memory", "network"]);
        let single = [0.5, 2.0, 2.0].map(|point| {
            Some(Estimate {
                point,
                interval: None,
                count: 2,
            })
        });
        check_of(
            &compared(Better::Higher, Measure::Ratio),
            &backends,
            &single,
            "It over users: rest is higher at files (2.00×); rabbitmq is higher at memory and network (most at network: 2.00×). \
             One trial a cell, so how sure that is nobody knows.",
        );
    }
}

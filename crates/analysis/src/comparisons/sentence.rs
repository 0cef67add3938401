//! Who is ahead where, in a sentence that goes no further than the intervals.

use waggle_stats::Estimate;

use super::{Ahead, Compared, Found, Measure, Without};
use crate::{layout::Over, text};

const EVERY: &str = "at every level";

/// What one sentence tells of.
pub(super) struct Told<'a> {
    pub(super) compared: &'a Compared,
    pub(super) levels: &'a [String; 2],
    pub(super) over: &'a Over,
    /// Empty where there is one.
    pub(super) line: &'a str,
    pub(super) at: &'a [Found],
}

/// `Goodput over users: rest is higher up to 200 (most at 200: 1.93× (1.8 – 2.1)); rabbitmq is higher from 250 on …`.
pub(super) fn of(told: &Told<'_>) -> String {
    let of_each = |ahead: &dyn Fn(&Found) -> Ahead| told.at.iter().map(ahead).collect::<Vec<_>>();
    let mut ahead = of_each(&|found| told.compared.ahead(found));
    // Where nothing has an interval the points are all there is to tell; they say nothing of where the sign changes.
    let is_single = ahead.contains(&Ahead::Unsure) && !ahead.iter().any(|who| is_sure(*who));
    let (unsure, changes) = if is_single {
        ahead = of_each(&|found| told.compared.leaning(found));
        let unsure = ". There is no interval, so how sure that is nobody knows";
        (unsure, String::new())
    } else {
        ("", changes(told.over, &ahead))
    };
    let with = match told.line {
        "" => String::new(),
        line => format!(" with {line}"),
    };
    let parts: Vec<String> = in_order(&ahead)
        .into_iter()
        .filter_map(|who| part(told, &ahead, who))
        .chain(without_success(told))
        .collect();
    format!(
        "{} over {}{with}: {}{unsure}.{changes}",
        told.compared.name,
        told.over.factor,
        parts.join("; "),
    )
}

fn is_sure(who: Ahead) -> bool {
    !matches!(who, Ahead::Unsure | Ahead::Unknown)
}

/// Which of the two had no success where.
fn without_success(told: &Told<'_>) -> Vec<String> {
    let subjects = [
        (Without::First, told.levels[0].as_str()),
        (Without::Second, told.levels[1].as_str()),
        (Without::Both, "neither"),
    ];
    let part = |(of, subject): (Without, &str)| {
        let is_so = |found: &Found| matches!(found, Found::NoSuccess(none) if none.of == of);
        let places: Vec<usize> = (0..told.at.len())
            .filter(|at| is_so(&told.at[*at]))
            .collect();
        let place = where_in(told.over, &places);
        let none = match of {
            Without::Both => "had a success",
            Without::First | Without::Second => "had no success",
        };
        (!places.is_empty()).then(|| format!("{subject} {none} {}", any(&place)))
    };
    subjects.into_iter().filter_map(part).collect()
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
    let then = [Ahead::Neither, Ahead::Unsure, Ahead::Unknown];
    for who in ahead.iter().filter(first).chain(&then) {
        if ahead.contains(who) && !order.contains(who) {
            order.push(*who);
        }
    }
    order
}

/// `None` where all that could be told is that one of the two had no success.
fn part(told: &Told<'_>, ahead: &[Ahead], who: Ahead) -> Option<String> {
    let all = (0..ahead.len()).filter(|at| ahead[*at] == who);
    let has_success = |at: &usize| !matches!(told.at[*at], Found::NoSuccess(_));
    let (level, places): (&str, Vec<usize>) = match who {
        Ahead::First => (told.levels[0].as_str(), all.collect()),
        Ahead::Second => (told.levels[1].as_str(), all.collect()),
        Ahead::Neither => ("no difference seen", all.collect()),
        Ahead::Unsure => ("no interval", all.filter(has_success).collect()),
        Ahead::Unknown => ("nothing to compare", all.filter(has_success).collect()),
    };
    if places.is_empty() {
        return None;
    }
    let place = where_in(told.over, &places);
    if !matches!(who, Ahead::First | Ahead::Second) {
        return Some(format!("{level} {}", any(&place)));
    }
    let phrase = told.compared.better.phrase();
    let most = most(told, &places).unwrap_or_default();
    Some(format!("{level} {phrase} {place}{most}"))
}

/// By how much where that is most: ` (most at 200: 1.93× (1.8 – 2.1))`; `None` where no level has a number.
fn most(told: &Told<'_>, places: &[usize]) -> Option<String> {
    let numbers = places
        .iter()
        .filter_map(|at| Some((*at, told.at[*at].number()?)));
    let far = |found: &Estimate| distance(told.compared, found);
    let (at, found) = numbers.max_by(|a, b| far(a.1).total_cmp(&far(b.1)))?;
    let shown = strength(told.compared, found);
    let level = &told.over.levels[at];
    let is_all = places.iter().all(|at| told.at[*at].number().is_some());
    Some(match (places.len(), is_all) {
        (1, _) => format!(" ({shown})"),
        (_, true) => format!(" (most at {level}: {shown})"),
        // Where one of the two had no success it is more than any number.
        (_, false) => format!(" (where both had a success, most at {level}: {shown})"),
    })
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

/// The first few, and how many more.
fn few(named: &[String]) -> String {
    let (shown, rest) = named.split_at(named.len().min(NAMED));
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

pub(super) fn caution(named: &[String]) -> Option<String> {
    (!named.is_empty()).then(|| {
        format!(
            "Cells that are not valid are compared all the same: {}.",
            few(named)
        )
    })
}

/// Of levels at which a number has no interval; whether others have one.
pub(super) fn unsure(levels: &[String], is_sure: bool) -> Option<String> {
    let said = match is_sure {
        true => format!(
            "There are numbers without an interval at {}, where a cell has one trial or its trials scatter too widely: such a level is on \
             neither side and says nothing of where the sign changes.",
            few(levels)
        ),
        false => "No number has an interval, for a cell has one trial or its trials scatter too widely; so nothing is said of where the \
                  sign changes."
            .to_owned(),
    };
    (!levels.is_empty()).then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{comparisons::NoSuccess, outcome::Better};

    const USERS: [&str; 6] = ["50", "100", "150", "200", "250", "300"];

    fn over(levels: &[&str]) -> Over {
        let levels: Vec<String> = levels.iter().map(|level| (*level).to_owned()).collect();
        Over {
            factor: "users".to_owned(),
            at: crate::levels::numbers(&levels),
            levels,
        }
    }

    /// Ratios with intervals of 5 % to both sides; 0: nothing to compare.
    fn ratios(points: &[f64]) -> Vec<Found> {
        points.iter().map(|point| ratio(*point)).collect()
    }

    fn ratio(point: f64) -> Found {
        let found = Found::Number(Estimate {
            point,
            interval: Some((point * 0.95, point * 1.05)),
            count: 6,
        });
        if point > 0.0 { found } else { Found::Nothing }
    }

    /// Without an interval.
    fn single(point: f64) -> Found {
        Found::Number(Estimate {
            point,
            interval: None,
            count: 2,
        })
    }

    fn none(of: Without, trials: usize) -> Found {
        Found::NoSuccess(NoSuccess { of, trials })
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

    fn check_of(compared: &Compared, over: &Over, at: &[Found], expected: &str) {
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
            Found::Number(Estimate {
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
        check_of(
            &compared(Better::Higher, Measure::Ratio),
            &backends,
            &[0.5, 2.0, 2.0].map(single),
            "It over users: rest is higher at files (2.00×); rabbitmq is higher at memory and network (most at network: 2.00×). \
             There is no interval, so how sure that is nobody knows.",
        );
        check_of(
            &compared(Better::Higher, Measure::Ratio),
            &over(&["50", "100"]),
            &[single(0.5), none(Without::First, 1)],
            "It over users: rest is higher at 50 (2.00×); rabbitmq is higher at 100; rest had no success at 100. \
             There is no interval, so how sure that is nobody knows.",
        );
    }

    #[test]
    fn a_level_without_an_interval_is_on_neither_side() {
        let check = |at: &[Found], expected: &str| {
            let higher = compared(Better::Higher, Measure::Ratio);
            check_of(&higher, &over(&["50", "100", "150"]), at, expected);
        };
        check(
            &[ratio(0.5), single(2.0), ratio(0.5)],
            "It over users: rest is higher at 50 and at 150 (most at 150: 2.00× (1.90 – 2.11)); no interval at 100.",
        );
        check(
            &[ratio(0.5), single(0.5), ratio(3.0)],
            "It over users: rest is higher at 50 (2.00× (1.90 – 2.11)); rabbitmq is higher at 150 (3.00× (2.85 – 3.15)); \
             no interval at 100. The sign changes between 50 and 150.",
        );
        check(
            &[ratio(0.5), single(3.0), single(4.0)],
            "It over users: rest is higher at 50 (2.00× (1.90 – 2.11)); no interval from 100 on.",
        );
        // All the same where trials scatter so that one of them may be nothing.
        let from_nothing = Found::Number(Estimate {
            point: 0.5,
            interval: Some((0.0, 0.8)),
            count: 4,
        });
        check(
            &[from_nothing, ratio(1.0), ratio(1.0)],
            "It over users: rest is higher at 50 (2.00× (1.25 or more)); no difference seen from 100 on.",
        );
    }

    #[test]
    fn who_had_no_success_is_told_in_words() {
        let higher = compared(Better::Higher, Measure::Ratio);
        let users = over(&["50", "100", "150"]);
        let rest = none(Without::First, 3);
        check_of(
            &higher,
            &users,
            &[ratio(0.5), ratio(2.0), rest],
            "It over users: rest is higher at 50 (2.00× (1.90 – 2.11)); rabbitmq is higher from 100 on (where both had a success, \
             most at 100: 2.00× (1.90 – 2.10)); rest had no success at 150. The sign changes between 50 and 100.",
        );
        check_of(
            &higher,
            &users,
            &[ratio(0.5), rest, none(Without::Both, 3)],
            "It over users: rest is higher at 50 (2.00× (1.90 – 2.11)); rabbitmq is higher at 100; rest had no success at 100; \
             neither had a success at 150. The sign changes between 50 and 100.",
        );
        let (once, none_of_second) = (none(Without::First, 1), none(Without::Second, 3));
        check_of(
            &higher,
            &users,
            &[ratio(0.5), once, none_of_second],
            "It over users: rest is higher at 50 and at 150 (where both had a success, most at 50: 2.00× (1.90 – 2.11)); \
             rest had no success at 100; rabbitmq had no success at 150.",
        );
        check_of(
            &compared(Better::Quicker, Measure::Ratio),
            &users,
            &[ratio(2.0), Found::Nothing, rest],
            "It over users: rest is quicker at 50 (2.00× (1.90 – 2.10)); nothing to compare at 100; rest had no success at 150.",
        );
    }
}

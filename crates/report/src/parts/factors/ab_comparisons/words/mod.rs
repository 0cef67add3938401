//! A/B comparison in sentences that claim no more than the intervals show.

use waggle_analysis::{Ahead, Better, Compared, ComparisonModel, Found, Measure, Over, Without};
use waggle_stats::{Estimate, TrialsNeeded};

use crate::words::{format, labels, trials_needed};

const EVERY: &str = "at every level";

/// Which level is ahead and where, outcome by outcome; last the outcomes without a difference.
#[must_use]
pub fn sentences(comparison: &ComparisonModel) -> Vec<String> {
    let (even, others): (Vec<&Compared>, Vec<&Compared>) = comparison
        .outcomes
        .iter()
        .partition(|outcome| outcome.is_even());
    let told = others
        .into_iter()
        .flat_map(|outcome| outcome_sentences(comparison, outcome));
    let even: Vec<&str> = even.iter().map(|outcome| outcome.name.as_str()).collect();
    told.chain(without_difference(&even)).collect()
}

/// A sentence on one outcome for each line.
#[must_use]
pub fn outcome_sentences(comparison: &ComparisonModel, compared: &Compared) -> Vec<String> {
    let lines = comparison.lines.iter().zip(&compared.at);
    let told = lines.map(|(line, differences)| Told {
        compared,
        levels: &comparison.levels,
        over: &comparison.over,
        line: &line.name,
        at: differences,
    });
    told.map(|told| sentence(&told)).collect()
}

/// The verb phrase for the better level.
#[must_use]
pub fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "is higher",
        Better::Quicker => "is quicker",
        Better::Cheaper => "costs less",
        Better::FewerErrors => "has fewer errors",
    }
}

/// The content of one sentence.
struct Told<'a> {
    compared: &'a Compared,
    levels: &'a [String; 2],
    over: &'a Over,
    /// Empty if it is the only one.
    line: &'a str,
    at: &'a [Found],
}

/// `Goodput over users: rest is higher up to 200 (most at 200: 1.93× (1.8 – 2.1)); rabbitmq is higher from 250 on …`.
fn sentence(told: &Told<'_>) -> String {
    let lead = told.compared.lead(told.over, told.at);
    let unsure = match lead.is_by_points {
        true => ". Without intervals the certainty is not known",
        false => "",
    };
    let with = match told.line {
        "" => String::new(),
        line => format!(" with {line}"),
    };
    let parts: Vec<String> = in_order(&lead.ahead)
        .into_iter()
        .filter_map(|who| part(told, &lead.ahead, who))
        .chain(without_success(told))
        .collect();
    format!(
        "{} over {}{with}: {}{unsure}.{}",
        told.compared.name,
        told.over.factor,
        parts.join("; "),
        changes(told.over, &lead.changes)
    )
}

/// The levels at which one of the two had no success.
fn without_success(told: &Told<'_>) -> Vec<String> {
    let subjects = [
        (Without::First, told.levels[0].as_str()),
        (Without::Second, told.levels[1].as_str()),
        (Without::Both, "neither"),
    ];
    let mut parts = Vec::new();
    for (side, subject) in subjects {
        let is_so =
            |index: &usize| matches!(&told.at[*index], Found::NoSuccess(none) if none.of == side);
        let places: Vec<usize> = (0..told.at.len()).filter(is_so).collect();
        let place = where_in(told.over, &places);
        let none = match side {
            Without::Both => "had a success",
            Without::First | Without::Second => "had no success",
        };
        if !places.is_empty() {
            parts.push(format!("{subject} {none} {}", place_or_any(&place)));
        }
    }
    parts
}

/// Outcomes without a difference at any level.
fn without_difference(names: &[&str]) -> Option<String> {
    (!names.is_empty()).then(|| format!("No difference found at any level: {}.", names.join(", ")))
}

/// The levels that are ahead, in order of appearance, then the unknown ones.
fn in_order(ahead: &[Ahead]) -> Vec<Ahead> {
    let mut order: Vec<Ahead> = Vec::new();
    let first = |who: &&Ahead| matches!(who, Ahead::First | Ahead::Second);
    let then = [Ahead::Alone, Ahead::Neither, Ahead::Unsure, Ahead::Unknown];
    for who in ahead.iter().filter(first).chain(&then) {
        if ahead.contains(who) && !order.contains(who) {
            order.push(*who);
        }
    }
    order
}

/// `None` if one of the two had no success everywhere.
fn part(told: &Told<'_>, ahead: &[Ahead], who: Ahead) -> Option<String> {
    let all = (0..ahead.len()).filter(|index| ahead[*index] == who);
    let has_success = |index: &usize| !matches!(told.at[*index], Found::NoSuccess(_));
    let (level, places): (&str, Vec<usize>) = match who {
        Ahead::First => (told.levels[0].as_str(), all.collect()),
        Ahead::Second => (told.levels[1].as_str(), all.collect()),
        Ahead::Alone => {
            let places: Vec<usize> = all.collect();
            return (!places.is_empty()).then(|| alone_text(told, &places));
        }
        Ahead::Neither => ("no difference found", all.collect()),
        Ahead::Unsure => ("no interval", all.filter(has_success).collect()),
        Ahead::Unknown => ("nothing to compare", all.filter(has_success).collect()),
    };
    if places.is_empty() {
        return None;
    }
    let place = where_in(told.over, &places);
    if !matches!(who, Ahead::First | Ahead::Second) {
        return Some(format!("{level} {}", place_or_any(&place)));
    }
    let phrase = better(told.compared.better);
    let most = largest_ratio_text(told, &places).unwrap_or_default();
    Some(format!("{level} {phrase} {place}{most}"))
}

/// Levels whose own interval shows a difference that may be chance among all statements: `at 50 the interval alone excludes 1 (1.93× (1.8 –
/// 2.1)), but it is not shown together with all 24 statements (Holm)`.
fn alone_text(told: &Told<'_>, places: &[usize]) -> String {
    let compared = told.compared;
    let place = where_in(told.over, places);
    let which = match (places.len(), compared.measure) {
        (1, Measure::Ratio) => "the interval alone excludes 1",
        (1, Measure::Difference) => "the interval alone excludes 0",
        (_, Measure::Ratio) => "each interval alone excludes 1",
        (_, Measure::Difference) => "each interval alone excludes 0",
    };
    let largest = compared.largest_difference(told.at, places);
    let shown = |difference: &Estimate| difference_text(compared.measure, difference);
    let largest = match (largest, places.len()) {
        (None, _) => String::new(),
        (Some((_, difference)), 1) => format!(" ({})", shown(&difference)),
        (Some((index, difference)), _) => {
            let level = &told.over.levels[index];
            format!(" (most at {level}: {})", shown(&difference))
        }
    };
    let needed = places.iter().filter_map(|index| match &told.at[*index] {
        Found::Number(difference) => difference.trials_needed,
        Found::NoSuccess(_) | Found::Nothing => None,
    });
    let needed = needed
        .reduce(TrialsNeeded::combine)
        .map_or_else(String::new, |needed| {
            format!(
                "; {} of each cell would do if the ratio is the observed one",
                trials_needed::count(needed, "trial")
            )
        });
    format!(
        "{place} {which}{largest}, but that is not shown together with all {} statements (Holm){needed}",
        compared.family
    )
}

/// The largest difference: ` (most at 200: 1.93× (1.8 – 2.1))`; `None` if no level has a value.
fn largest_ratio_text(told: &Told<'_>, places: &[usize]) -> Option<String> {
    let (index, estimate) = told.compared.largest_difference(told.at, places)?;
    let shown = strength(told.compared, &estimate);
    let level = &told.over.levels[index];
    let is_all = places
        .iter()
        .all(|index| told.at[*index].number().is_some());
    Some(match (places.len(), is_all) {
        (1, _) => format!(" ({shown})"),
        (_, true) => format!(" (most at {level}: {shown})"),
        // Without a success of one of the two the ratio is larger than any number.
        (_, false) => format!(" (where both had a success, most at {level}: {shown})"),
    })
}

/// `any` instead of `every` after a negation.
fn place_or_any(place: &str) -> &str {
    if place == EVERY {
        "at any level"
    } else {
        place
    }
}

/// The difference in favour of the better level.
fn strength(compared: &Compared, estimate: &Estimate) -> String {
    difference_text(compared.measure, &compared.advantage(estimate))
}

fn difference_text(measure: Measure, difference: &Estimate) -> String {
    match measure {
        Measure::Ratio => format::ratio(difference),
        Measure::Difference => format::points(difference),
    }
}

/// `up to 200`, `from 250 on`, `at 50 and from 150 to 200`, `at every level`; levels without an order by name.
fn where_in(over: &Over, places: &[usize]) -> String {
    let last = over.levels.len() - 1;
    let name = |index: usize| over.levels[index].as_str();
    if places.len() == over.levels.len() {
        return EVERY.to_owned();
    }
    if over.at.is_none() {
        let names: Vec<&str> = places.iter().map(|index| name(*index)).collect();
        return format!("at {}", join_with_and(&names));
    }
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for index in places {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == *index => *to = *index,
            _ => ranges.push((*index, *index)),
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
    join_with_and(&shown.iter().map(String::as_str).collect::<Vec<_>>())
}

/// `a`, `a and b`, `a, b and c`.
fn join_with_and(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// The levels between which the lead changes.
fn changes(over: &Over, changes: &[(usize, usize)]) -> String {
    let between: Vec<String> = changes
        .iter()
        .map(|(before, after)| {
            format!(
                "between {} and {}",
                over.levels[*before], over.levels[*after]
            )
        })
        .collect();
    match between.as_slice() {
        [] => String::new(),
        all => format!(
            " The lead changes {}.",
            join_with_and(&all.iter().map(String::as_str).collect::<Vec<_>>())
        ),
    }
}

/// Cells in the comparison that are not valid, and levels without an interval.
#[must_use]
pub fn caution(comparison: &ComparisonModel) -> Option<String> {
    let mut named = Vec::new();
    let mut unsure = Vec::new();
    for (line, series) in comparison.lines.iter().enumerate() {
        let with = match series.name.as_str() {
            "" => String::new(),
            name => format!(", {name}"),
        };
        for (level, name) in comparison.over.levels.iter().enumerate() {
            let doubtful = comparison.doubtful[line][level].iter();
            named.extend(doubtful.map(|(which, verdict)| {
                format!("{which} at {name}{with} ({})", labels::verdict(*verdict))
            }));
            let mut outcomes = comparison.outcomes.iter();
            if outcomes.any(|outcome| outcome.leader(&outcome.at[line][level]) == Ahead::Unsure) {
                unsure.push(format!("{name}{with}"));
            }
        }
    }
    let is_sure = comparison.outcomes.iter().any(Compared::is_sure_somewhere);
    let parts = [not_valid(&named), without_interval(&unsure, is_sure)];
    let told: Vec<String> = parts.into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// Maximum number of cells that a caution names.
const NAMED: usize = 6;

/// The first few, and the number of the others.
fn first_names(named: &[String]) -> String {
    let (shown, rest) = named.split_at(named.len().min(NAMED));
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

/// Cells that are not valid.
fn not_valid(named: &[String]) -> Option<String> {
    (!named.is_empty()).then(|| {
        format!(
            "The comparison includes cells that are not valid: {}.",
            first_names(named)
        )
    })
}

/// Levels at which a value has no interval; whether others have one.
fn without_interval(levels: &[String], is_sure: bool) -> Option<String> {
    let said = match is_sure {
        true => format!(
            "Values at {} have no interval, because a cell has one trial or its trials vary too much: such a level counts for neither side \
             and does not show where the lead changes.",
            first_names(levels)
        ),
        false => "No value has an interval, because a cell has one trial or its trials vary too much, so the levels at which the lead \
                  changes are not known."
            .to_owned(),
    };
    (!levels.is_empty()).then_some(said)
}

#[cfg(test)]
mod tests;

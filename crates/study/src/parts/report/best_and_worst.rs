//! The part `best_and_worst` of a study: by which metrics the best and the worst trial of a cell are chosen, and what the tables of
//! them show.

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_metrics::{Unit, Wish, resolve};
use waggle_spec::OrderedMetric;

use crate::{
    at::{At, Key},
    check::{Checker, Known, is_of_several_trials, unit_of},
    levels::{Levels, check_factors, factors_of},
    mistake::{Finding, Position},
    raw::OneOrSeveral,
    tree::quote,
};

/// The best and the worst trial of each cell by a list of metrics in order.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BestAndWorst {
    /// Metrics of a trial, as in `thresholds`: the first one decides, each further one between trials that are equal in those before
    /// it. Whether more or less is better is the metric's own; `lowest` or `highest` before it says otherwise, e.g.
    /// `lowest metrics.queue.end`.
    #[schemars(required, length(min = 1))]
    pub order: Key<Vec<At<String>>>,
    /// A factor or a list of them, whose levels are the rows of the tables; the other factors are their columns. The first factor by
    /// default.
    pub rows: Key<OneOrSeveral<At<String>>>,
    /// A count of failures, e.g. `get.failed`: a table has the least and the most of them in the trials of each cell.
    pub failures: Key<String>,
    /// A count of successes and of what it is a part of: a table has both in the best and in the worst trial of each cell.
    pub successes: Key<Successes>,
}

/// Successes, and all of which they are a part.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Successes {
    /// The metric that counts them, e.g. `get.succeeded`.
    #[schemars(required)]
    pub metric: Key<String>,
    /// The metric that counts all, or several that make all together, e.g. `[get.succeeded, get.failed]`.
    #[schemars(required)]
    pub of: Key<OneOrSeveral<At<String>>>,
}

/// `None`: the study does not ask for it, or it has a mistake. Without `known` the metrics are not known, because of a mistake in the
/// load that was reported.
pub(crate) fn best_and_worst(
    checker: &mut Checker<'_>,
    given: &Key<BestAndWorst>,
    cells: &[Levels],
    known: Option<&[Known]>,
) -> Option<waggle_spec::BestAndWorst> {
    let keys = given.value()?;
    let rows = match keys.rows.content() {
        Some(given) => check_factors(checker, given, "has", cells),
        // The first factor.
        None => Some(factors_of(cells).take(1).map(str::to_owned).collect()),
    };
    let known = known?;
    let order = order(checker, keys.order.content(), known);
    let failures = keys.failures.content();
    let failures = failures.map(|text| count_metric(checker, &text.value, text.place.value, known));
    let successes = keys.successes.value();
    let successes = successes.map(|keys| successes_of(checker, keys, known));
    Some(waggle_spec::BestAndWorst {
        order: order?,
        rows: rows?,
        failures: optional(failures)?,
        successes: optional(successes)?,
    })
}

/// Reports the part in a study with a search.
pub(crate) fn refuse_search(checker: &mut Checker<'_>, given: &Key<BestAndWorst>) {
    if let Some(place) = given.place() {
        let why = "belongs to studies without search, whose trials have different loads";
        checker.report(place.key_mistake(why).with_expected("a study without it"));
    }
}

/// `None`: it was given, and has a mistake.
#[expect(
    clippy::option_option,
    reason = "not given, given, and given with a mistake"
)]
fn optional<T>(given: Option<Option<T>>) -> Option<Option<T>> {
    match given {
        None => Some(None),
        Some(checked) => checked.map(Some),
    }
}

fn order(
    checker: &mut Checker<'_>,
    given: Option<&At<Vec<At<String>>>>,
    known: &[Known],
) -> Option<Vec<OrderedMetric>> {
    let At { place, value } = given?;
    let mut checked: Vec<OrderedMetric> = Vec::new();
    for text in value {
        let position = text.place.value;
        match ordered_metric(&text.value, position, known) {
            Ok(entry) if checked.iter().any(|other| other.metric == entry.metric) => {
                let what = format!("has {} twice", entry.metric.join("."));
                let mistake = place.mistake_in(position, what);
                checker.report(mistake.with_expected("each metric once"));
            }
            Ok(entry) => checked.push(entry),
            Err(finding) => checker.report(finding),
        }
    }
    (checked.len() == value.len()).then_some(checked)
}

/// `METRIC`, `lowest METRIC` or `highest METRIC`.
fn ordered_metric(
    text: &str,
    position: Position,
    known: &[Known],
) -> Result<OrderedMetric, Finding> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (path, is_lowest_best) = match words[..] {
        ["lowest", path] => (path, Some(true)),
        ["highest", path] => (path, Some(false)),
        [path] => (path, None),
        _ => {
            let what = format!("{} is no metric to order by", quote(text));
            let expected = "METRIC, lowest METRIC or highest METRIC";
            return Err(Finding::new(position, what).with_expected(expected));
        }
    };
    let metric = metric_of_trial(path, position, known)?;
    let parts: Vec<&str> = path.split('.').collect();
    let wish = resolve(&parts).map_or(Wish::Neither, |named| named.row.wish);
    let is_lowest_best = match (is_lowest_best, wish) {
        (Some(is_lowest_best), _) => is_lowest_best,
        (None, Wish::More) => false,
        (None, Wish::Less) => true,
        (None, Wish::Neither) => {
            let what = format!("neither more nor less of {path} is better");
            let expected = format!("lowest {path} or highest {path}");
            return Err(Finding::new(position, what).with_expected(expected));
        }
    };
    Ok(OrderedMetric {
        metric,
        is_lowest_best,
    })
}

fn metric_of_trial(
    path: &str,
    position: Position,
    known: &[Known],
) -> Result<Vec<String>, Finding> {
    unit_of(path, position, known)?;
    let metric: Vec<String> = path.split('.').map(str::to_owned).collect();
    if is_of_several_trials(&metric) {
        let what =
            format!("{path} is a metric over trials, and these are compared with each other");
        return Err(Finding::new(position, what).with_expected("a metric of one trial"));
    }
    Ok(metric)
}

fn count_metric(
    checker: &mut Checker<'_>,
    text: &str,
    position: Position,
    known: &[Known],
) -> Option<Vec<String>> {
    let name = text.trim();
    let metric = metric_of_trial(name, position, known);
    let metric = metric.and_then(|metric| match unit_of(name, position, known)? {
        Unit::Count => Ok(metric),
        _ => Err(Finding::new(position, format!("{name} is no count"))
            .with_expected("a metric that counts, such as REQUEST.failed")),
    });
    metric.map_err(|finding| checker.report(finding)).ok()
}

fn successes_of(
    checker: &mut Checker<'_>,
    keys: &Successes,
    known: &[Known],
) -> Option<waggle_spec::Successes> {
    let metric = keys.metric.content()?;
    let metric = count_metric(checker, &metric.value, metric.place.value, known);
    let entries = keys.of.content()?.entries();
    let parts = entries.into_iter();
    let parts: Vec<_> = parts
        .map(|(position, text)| count_metric(checker, text, position, known))
        .collect();
    Some(waggle_spec::Successes {
        metric: metric?,
        of: parts.into_iter().collect::<Option<_>>()?,
    })
}

//! The best and the worst trial of each cell: by which metrics, and what the tables of them show.

use waggle_metrics::{Unit, Wish, resolve};
use waggle_spec::{BestAndWorst, OrderedMetric, Successes};

use super::{
    Checker,
    known_metrics::Known,
    threshold::{is_of_several_trials, unit_of},
};
use crate::{
    levels::Levels,
    mistake::{Finding, Position},
    nearest::{list, nearest_word},
    raw,
    tree::quote,
};

const KEY: &str = "best_and_worst";

/// `None`: the study does not ask for it, or it has a mistake. Without `known` the metrics are not known, because of a mistake in the
/// load that was reported.
pub(super) fn best_and_worst(
    checker: &mut Checker<'_>,
    study: &raw::Study,
    cells: &[Levels],
    known: Option<&[Known]>,
) -> Option<BestAndWorst> {
    let raw = study.best_and_worst.as_ref()?;
    if study.search.is_some() {
        let what =
            "best_and_worst belongs to studies without search, whose trials have different loads";
        let finding = Finding::new(checker.key(&[KEY]), what);
        checker.report(finding.with_expected("a study without it"));
    }
    let rows = rows(checker, raw, cells);
    let known = known?;
    let order = order(checker, raw, known);
    let failures = raw.failures.as_ref();
    let failures = failures.map(|text| count_metric(checker, text, &[KEY, "failures"], known));
    let successes = raw.successes.as_ref();
    let successes = successes.map(|raw| successes_of(checker, raw, known));
    Some(BestAndWorst {
        order: order?,
        rows: rows?,
        failures: optional(failures)?,
        successes: optional(successes)?,
    })
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
    raw: &raw::BestAndWorst,
    known: &[Known],
) -> Option<Vec<OrderedMetric>> {
    let given = raw.order.as_ref()?;
    let mut checked: Vec<OrderedMetric> = Vec::new();
    for (index, text) in given.iter().enumerate() {
        let position = checker.position_of(&[KEY, "order", &index.to_string()]);
        match ordered_metric(text, position, known) {
            Ok(entry) if checked.iter().any(|other| other.metric == entry.metric) => {
                let what = format!("best_and_worst.order has {} twice", entry.metric.join("."));
                checker.report(Finding::new(position, what).with_expected("each metric once"));
            }
            Ok(entry) => checked.push(entry),
            Err(finding) => checker.report(finding),
        }
    }
    (checked.len() == given.len()).then_some(checked)
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
    path: &[&str],
    known: &[Known],
) -> Option<Vec<String>> {
    let position = checker.position_of(path);
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
    raw: &raw::Successes,
    known: &[Known],
) -> Option<Successes> {
    let path = [KEY, "successes", "metric"];
    let metric = count_metric(checker, raw.metric.as_deref()?, &path, known);
    let parts = parts_of_all(checker, raw.of.as_ref()?, known);
    Some(Successes {
        metric: metric?,
        of: parts?,
    })
}

fn parts_of_all(
    checker: &mut Checker<'_>,
    raw: &raw::OneOrSeveral,
    known: &[Known],
) -> Option<Vec<Vec<String>>> {
    let texts = raw.texts();
    let mut checked = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let index = index.to_string();
        let path = [KEY, "successes", "of", &index];
        let path = match raw {
            raw::OneOrSeveral::One(_) => &path[..3],
            raw::OneOrSeveral::Several(_) => &path,
        };
        checked.extend(count_metric(checker, text, path, known));
    }
    (checked.len() == texts.len()).then_some(checked)
}

/// The factors whose levels are the rows; the first factor by default.
fn rows(
    checker: &mut Checker<'_>,
    raw: &raw::BestAndWorst,
    cells: &[Levels],
) -> Option<Vec<String>> {
    let factors = || {
        let first = cells.first().into_iter().flatten();
        first.map(|(name, ..)| name.as_str())
    };
    let Some(given) = &raw.rows else {
        return Some(factors().take(1).map(str::to_owned).collect());
    };
    let names = given.texts();
    let mut factor_names = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let position = match given {
            raw::OneOrSeveral::One(_) => checker.position_of(&[KEY, "rows"]),
            raw::OneOrSeveral::Several(_) => {
                checker.position_of(&[KEY, "rows", &index.to_string()])
            }
        };
        if names[..index].contains(name) {
            let what = format!("best_and_worst.rows has {} twice", quote(name));
            checker.report(Finding::new(position, what).with_expected("each factor once"));
        } else if factors().any(|factor| factor == name) {
            factor_names.push(name.clone());
        } else {
            let what = format!(
                "best_and_worst.rows has {}, which is no factor",
                quote(name)
            );
            let expected = match factors().next() {
                Some(_) => list(factors()),
                None => "a study with factors or cells".to_owned(),
            };
            let near = nearest_word(name, factors());
            let finding = Finding::new(position, what).with_expected(expected);
            checker.report(finding.with_suggestion(near));
        }
    }
    (factor_names.len() == names.len()).then_some(factor_names)
}

//! The answer to the study's question, in sentences that claim no more than the results show.

use waggle_analysis::{
    Account, AnswerOf, CellModel, CellValue, Limit, LimitedBy, MetricAnswer, Model, Number, Spread,
};
use waggle_metrics::{Metric, Wish};
use waggle_stats::{Estimate, Verdict};

use super::{
    cell_name,
    format::{self, Unit},
    labels, name_of, operating_points, search,
};

/// Maximum number of cells of a search with a sentence each; of more, only the best cell has one.
const SEARCHES_TOLD: usize = 6;
/// Maximum number of reasons why no trial was completed.
const REASONS_TOLD: usize = 3;

/// The answer, a sentence each, the most important first.
#[must_use]
pub fn sentences(model: &Model) -> Vec<String> {
    match &model.answer.of {
        AnswerOf::Nothing => reasons_for_none(model),
        AnswerOf::Metrics(metrics) => match find_cell(model, model.answer.cell) {
            Some(cell) => of_metrics(model, metrics, cell),
            None => Vec::new(),
        },
        AnswerOf::Searches(ranking) => of_searches(model, ranking),
    }
}

/// A reason without the values of answers in it (`found "…"`, `got "…"`), which differ from trial to trial.
fn without_values(reason: &str) -> String {
    let mut text = String::with_capacity(reason.len());
    let mut rest = reason;
    while let Some(at) = ["found \"", "got \""]
        .iter()
        .filter_map(|words| Some(rest.find(words)? + words.len()))
        .min()
    {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let mut is_escaped = false;
        let end = rest.find(|letter: char| {
            let ends = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            ends
        });
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    text + rest
}

/// Why there is no answer. Of reasons that differ in values the first one is told.
fn reasons_for_none(model: &Model) -> Vec<String> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for failure in model
        .trials
        .iter()
        .filter_map(|trial| trial.failure.as_ref())
    {
        let kind = without_values(&failure.reason);
        match reasons
            .iter_mut()
            .find(|(known, _)| without_values(known) == kind)
        {
            Some((_, count)) => *count += 1,
            None => reasons.push((&failure.reason, 1)),
        }
    }
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut sentences = vec!["No trial was completed, so the study has no answer.".to_owned()];
    let trials = model.trials.len();
    sentences.extend(reasons.iter().take(REASONS_TOLD).map(|(reason, count)| {
        let end = match reason.ends_with(['.', '?', '!']) {
            true => "",
            false => ".",
        };
        match trials {
            1 => format!("The trial failed: {reason}{end}"),
            _ => format!("{count} of {trials} trials failed: {reason}{end}"),
        }
    }));
    if reasons.len() > REASONS_TOLD {
        let others = reasons.len() - REASONS_TOLD;
        sentences.push(format!("{others} other reasons are in the list of trials."));
    }
    sentences
}

fn find_cell(model: &Model, cell: Option<u32>) -> Option<&CellModel> {
    model.cells.iter().find(|one| Some(one.cell) == cell)
}

fn of_metrics(model: &Model, metrics: &[MetricAnswer], shown: &CellModel) -> Vec<String> {
    let mut sentences = Vec::new();
    let cells = model.cells.len();
    for metric in metrics {
        sentences.extend(best_and_worst(model, metric));
    }
    let asks_for_times = metrics.iter().any(|one| one.metric == Metric::ResponseTime);
    let of_cell = [
        response(shown).filter(|_| !asks_for_times || cells > 1),
        delay(shown).filter(|_| metrics.iter().all(|one| one.metric != Metric::Delay)),
        model.answer.limit.as_ref().map(limit),
    ];
    // All of them are about this cell: one prefix is enough.
    let prefix = match cells {
        0 | 1 => String::new(),
        _ => format!("At {}, ", cell_name(model, shown)),
    };
    sentences.extend(add_prefix(&prefix, of_cell));
    for metric in metrics {
        sentences.extend(ties(model, metric));
        sentences.extend(doubtful(model, metric));
    }
    sentences.extend(model.account.as_ref().map(|all| completeness(all, cells)));
    sentences
}

pub(super) fn best_and_worst(model: &Model, answer: &MetricAnswer) -> Vec<String> {
    let mut sentences = Vec::new();
    if !answer.is_believed {
        sentences.push(format!(
            "No cell has a reliable {}; these are the values with their verdicts.",
            uncapitalise(&answer.name)
        ));
    }
    let subject = match (&answer.worst, answer.wish) {
        (None, _) => answer.name.clone(),
        (Some(_), Wish::Less) => format!("The lowest {}", uncapitalise(&answer.name)),
        (Some(_), Wish::More | Wish::Neither) => {
            format!("The highest {}", uncapitalise(&answer.name))
        }
    };
    let best = cell_value(model, answer, &answer.best);
    sentences.push(match &answer.worst {
        None => format!("{subject} is {best}."),
        Some(worst) => {
            let other = match answer.wish {
                Wish::Less => "highest",
                Wish::More | Wish::Neither => "lowest",
            };
            format!(
                "{subject} is {best}; the {other} is {}.",
                cell_value(model, answer, worst)
            )
        }
    });
    sentences
}

/// A better value that may not be believed.
pub(super) fn doubtful(model: &Model, answer: &MetricAnswer) -> Option<String> {
    let better = answer.doubtful?;
    let cell = find_cell(model, Some(better.cell))?;
    Some(format!(
        "{} has {}, but is {}.",
        cell_label(model, cell),
        format::value_with_bound(
            value(model, answer, better.number.point()),
            better.number.shown_least()
        ),
        cell.verdict.map_or("unfinished", labels::verdict)
    ))
}

/// More cells than this are counted and not named.
const TIED_SHOWN: usize = 3;

pub(super) fn ties(model: &Model, answer: &MetricAnswer) -> Option<String> {
    let has_interval = |value: &CellValue| match value.number {
        Number::Estimate(estimate) => estimate.interval.is_some(),
        Number::Exact(_) | Number::Within(_) => false,
    };
    if answer.tied.is_empty() || !has_interval(&answer.best) {
        return None;
    }
    let what = match answer.tied.len() {
        some if some + 1 == model.cells.len() => "that of any other cell".to_owned(),
        some if some > TIED_SHOWN => format!("that of {some} other cells"),
        _ => {
            let names = answer.tied.iter().map(|cell| name_of(model, *cell));
            format!("that at {}", names.collect::<Vec<_>>().join("; "))
        }
    };
    let best = name_of(model, answer.best.cell);
    Some(format!(
        "{} at {best} is not shown to differ from {what}.",
        answer.name
    ))
}

/// `12.4 ms at rate=50/s (95 % interval 11.9 – 13.0 ms, 5 trials)`.
fn cell_value(model: &Model, answer: &MetricAnswer, of: &CellValue) -> String {
    let place = match (model.cells.len(), name_of(model, of.cell)) {
        (0 | 1, _) => String::new(),
        (_, levels) if levels.is_empty() => String::new(),
        (_, levels) => format!(" at {levels}"),
    };
    let least = of.number.shown_least();
    let lowest = least.map(|least| format!("≥ {}, ", in_unit(least, answer.unit)));
    let lowest = lowest.unwrap_or_default();
    let certainty = match of.number {
        Number::Estimate(Estimate {
            interval: Some((low, high)),
            count,
            ..
        }) => format!(
            "95 % interval {} – {}, {count} trials",
            in_unit(low, answer.unit),
            in_unit(high, answer.unit)
        ),
        Number::Estimate(_) => format!("{lowest}single trial, no interval"),
        Number::Exact(_) | Number::Within(_) => format!("{lowest}over all trials"),
    };
    let verdict = find_cell(model, Some(of.cell)).and_then(|cell| cell.verdict);
    let doubt = verdict
        .filter(|verdict| *verdict != Verdict::Valid)
        .map(|verdict| format!("; verdict: {}", labels::verdict(verdict)))
        .unwrap_or_default();
    let value = format::value_with_bound(value(model, answer, of.number.point()), least);
    format!("{value}{place} ({certainty}{doubt})")
}

fn value(model: &Model, answer: &MetricAnswer, number: f64) -> String {
    match answer.metric {
        Metric::Goodput => format!(
            "{} {} per second",
            Unit::Plain.show(number),
            labels::counted_word(model.counted)
        ),
        _ => format::in_unit(number, answer.unit),
    }
}

fn in_unit(number: f64, unit: waggle_metrics::Unit) -> String {
    match unit {
        waggle_metrics::Unit::Rate => Unit::Plain.show(number),
        unit => format::in_unit(number, unit),
    }
}

/// The highest level of all cells first, then those of the others.
fn of_searches(model: &Model, ranking: &[u32]) -> Vec<String> {
    let Some(found) = &model.search else {
        return Vec::new();
    };
    let told = match ranking.len() {
        cells if cells > SEARCHES_TOLD => 1,
        cells => cells,
    };
    let one = |number: &u32| {
        let cell = find_cell(model, Some(*number))?;
        let at = match cell.levels.as_slice() {
            [] => String::new(),
            levels => format::levels(levels),
        };
        let search = found.of_cell(*number)?;
        let why = search.shortfalls().first().map(search::shortfall);
        Some(search::sentence(
            found.info.maximize,
            &search.answer,
            why.as_deref(),
            &at,
        ))
    };
    let mut sentences: Vec<String> = ranking[..told].iter().filter_map(one).collect();
    if let Some(best) = find_cell(model, model.answer.cell) {
        let at = match model.cells.len() {
            0 | 1 => "At that level, ".to_owned(),
            _ => format!(
                "At the highest of these levels, with {}, ",
                cell_name(model, best)
            ),
        };
        let of_cell = [response(best), model.answer.limit.as_ref().map(limit)];
        sentences.extend(add_prefix(&at, of_cell));
    }
    sentences.extend(operating_points::in_short(model));
    sentences
}

/// The sentences that exist; the first of them with a prefix.
fn add_prefix<const N: usize>(
    prefix: &str,
    sentences: [Option<String>; N],
) -> impl Iterator<Item = String> {
    let sentences = sentences.into_iter().flatten().enumerate();
    sentences.map(move |(place, sentence)| match (place, prefix) {
        (0, prefix) if !prefix.is_empty() => format!("{prefix}{}", uncapitalise(&sentence)),
        _ => sentence,
    })
}

pub(crate) fn uncapitalise(sentence: &str) -> String {
    let mut rest = sentence.chars();
    let first = rest
        .next()
        .map(|first| first.to_lowercase().collect::<String>())
        .unwrap_or_default();
    format!("{first}{}", rest.as_str())
}

fn cell_label(model: &Model, cell: &CellModel) -> String {
    if cell.levels.is_empty() {
        "The cell".to_owned()
    } else {
        format!("The cell {}", cell_name(model, cell))
    }
}

fn response(cell: &CellModel) -> Option<String> {
    let p50 = cell.response.p50.estimate?;
    let p99 = cell.response.p99.estimate?;
    let max = cell.response.max.estimate?;
    let thin = if cell.response.p99.thin.is_some() {
        ", from few samples"
    } else {
        ""
    };
    Some(format!(
        "Half of the requests were answered within {} and 99 % within {}{thin}; the slowest took {}.",
        Unit::Time.show(p50.point),
        format::long(Some(&p99), Unit::Time),
        Unit::Time.show(max.point)
    ))
}

/// Over all cells, because a missing record in any of them matters.
fn completeness(account: &Account, cells: usize) -> String {
    let accepted = format::count(account.accepted);
    let missing = match account.missing.sum {
        0 => format!("In the whole study all {accepted} accepted records were delivered"),
        missing => format!(
            "In the whole study {} of {accepted} accepted records are missing, in {} of {cells} cells",
            format::count(missing),
            account.missing.cells.len(),
        ),
    };
    format!("{missing}{}.", beside_the_accepted(account))
}

/// The other counts of the delivery accounting, each after a semicolon; empty if all are zero.
fn beside_the_accepted(account: &Account) -> String {
    let part = |of: &Spread, what: &str| match of.sum {
        0 => String::new(),
        count => format!("; {} {what}", format::count(count)),
    };
    let unclear = format!(
        "records without a clear answer, of which {} were delivered",
        format::count(account.unknown_delivered)
    );
    [
        part(&account.duplicates, "duplicates"),
        part(&account.unknown, &unclear),
        part(
            &account.rejected_delivered,
            "rejected records were delivered",
        ),
        part(&account.stray, "unexpected records"),
    ]
    .concat()
}

fn delay(cell: &CellModel) -> Option<String> {
    let delay = cell.delay.p99.estimate?;
    let most = Unit::Time.show(delay.point);
    Some(match delay.shown_least() {
        None => format!("99 % of the records were visible within {most}."),
        Some(least) => format!(
            "The p99 of the delivery delay was ≤ {most} (≥ {}).",
            Unit::Time.show(least)
        ),
    })
}

fn limit(limit: &Limit) -> String {
    let most = match &limit.most {
        Some((busiest, cores)) => {
            format!(", of which {busiest} used {}", format::three_digits(*cores))
        }
        None => String::new(),
    };
    let used = format!(
        "the system used {} of {} CPU{}{most}",
        format::three_digits(limit.system_cores),
        limit.system_cpus,
        if limit.system_cpus == 1 { "" } else { "s" }
    );
    let busy = format::share(limit.generator_utilization);
    let likelier = match &limit.by {
        LimitedBy::SystemCpu => return format!("The bottleneck is the CPU of the system: {used}."),
        LimitedBy::ComponentLimit {
            component,
            cores,
            cpus,
        } => {
            let (cores, cpus) = (format::three_digits(*cores), format::three_digits(*cpus));
            return format!(
                "The bottleneck is the CPU limit of {component}: it used {cores} of the {cpus} CPUs that it may use."
            );
        }
        LimitedBy::Generator => {
            return format!(
                "The bottleneck may be the load generator (utilization {busy}), while {used}."
            );
        }
        LimitedBy::OtherPrograms { cores } => {
            let cores = format::three_digits(*cores);
            return format!(
                "The bottleneck may be other programs on the machine: they used {cores} cores, while {used}."
            );
        }
        LimitedBy::Asked => "the offered load",
        LimitedBy::UsersOrWaiting => {
            "the load that the users offer, or waiting for disks, locks or answers"
        }
        LimitedBy::Waiting => "waiting for disks, locks or answers",
        LimitedBy::Connecting => {
            "the time to open connections (a full queue of the listener makes a client wait for a second and more), or waiting for disks, \
             locks or answers"
        }
    };
    format!(
        "No CPU was saturated ({used}; load generator utilization {busy}), so the likely limit is {likelier}."
    )
}

#[cfg(test)]
mod tests {
    use super::without_values;

    #[test]
    fn reasons_are_alike_if_only_values_of_answers_differ() {
        let check = |one: &str, other: &str, is_alike: bool| {
            let same = without_values(one) == without_values(other);
            assert_eq!(same, is_alike, "{one} {other}");
        };
        check(
            r#"step a: json $.t: expected "x", found "{\"t\":\"abc\"}""#,
            r#"step a: json $.t: expected "x", found "{\"t\":\"\"}""#,
            true,
        );
        check(
            r#"expected "x", got "a", at 1"#,
            r#"expected "x", got "b", at 1"#,
            true,
        );
        check(
            r#"probe "database" cannot begin"#,
            r#"probe "broker" cannot begin"#,
            false,
        );
        check(
            r#"expected "x", found "a""#,
            r#"expected "y", found "a""#,
            false,
        );
        check("found \"a", "found \"b", true);
    }
}

//! The answer to the study's question, in sentences that claim no more than the results show.

use waggle_analysis::{
    Account, AnswerOf, CellModel, Counted, Highest, Limit, LimitedBy, Model, Spread,
};
use waggle_stats::{Estimate, Verdict};

use super::{
    format::{self, Unit},
    labels, levels_of, search,
};

/// Maximum number of cells of a search with a sentence each; of more, only the best cell has one.
const SEARCHES_TOLD: usize = 6;

/// The answer, a sentence each, the most important first.
#[must_use]
pub fn sentences(model: &Model) -> Vec<String> {
    match &model.answer.of {
        AnswerOf::Nothing => {
            vec!["No trial was completed, so the study has no answer.".to_owned()]
        }
        AnswerOf::Highest(highest) => match find_cell(model, model.answer.cell) {
            Some(cell) => of_highest(model, highest, cell),
            None => Vec::new(),
        },
        AnswerOf::Searches(ranking) => of_searches(model, ranking),
    }
}

fn find_cell(model: &Model, cell: Option<u32>) -> Option<&CellModel> {
    model.cells.iter().find(|one| Some(one.cell) == cell)
}

fn of_highest(model: &Model, highest: &Highest, shown: &CellModel) -> Vec<String> {
    let mut sentences = Vec::new();
    if !highest.is_believed {
        sentences.push(
            "No cell is reliable; this is the cell with the highest goodput, with its verdict."
                .to_owned(),
        );
    }
    let cells = model.cells.len();
    sentences.push(goodput(shown, model.counted, cells));
    let of_cell = [
        response(shown),
        quickest(model, shown, highest.quickest),
        model.answer.limit.as_ref().map(limit),
    ];
    // All of them are about this cell: one preposition is enough.
    let prefix = match cells {
        0 | 1 => "",
        _ => "At that cell, ",
    };
    sentences.extend(add_prefix(prefix, of_cell));
    sentences.extend(model.account.as_ref().map(|all| completeness(all, cells)));
    if let Some(more) = find_cell(model, highest.more) {
        sentences.push(format!(
            "{} has a higher goodput, {} {} per second, but is {}.",
            cell_label(more),
            Unit::Plain.show(point(more.goodput.as_ref())),
            labels::counted_word(model.counted),
            more.verdict.map_or("unfinished", labels::verdict)
        ));
    }
    sentences
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
                format::levels(&best.levels)
            ),
        };
        let of_cell = [response(best), model.answer.limit.as_ref().map(limit)];
        sentences.extend(add_prefix(&at, of_cell));
    }
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

fn point(estimate: Option<&Estimate>) -> f64 {
    estimate.map_or(f64::NEG_INFINITY, |estimate| estimate.point)
}

fn uncapitalise(sentence: &str) -> String {
    let mut rest = sentence.chars();
    let first = rest
        .next()
        .map(|first| first.to_lowercase().collect::<String>())
        .unwrap_or_default();
    format!("{first}{}", rest.as_str())
}

fn cell_label(cell: &CellModel) -> String {
    if cell.levels.is_empty() {
        "The cell".to_owned()
    } else {
        format!("The cell {}", format::levels(&cell.levels))
    }
}

fn goodput(cell: &CellModel, counted: Counted, cells: usize) -> String {
    let Some(estimate) = cell.goodput else {
        return String::new();
    };
    let place = match (cells, cell.levels.is_empty()) {
        (_, true) | (1, _) => String::new(),
        _ => format!(", at {}", format::levels(&cell.levels)),
    };
    let certainty = match estimate.interval {
        Some((low, high)) => format!(
            "95 % interval {} – {}, {} trials",
            Unit::Plain.show(low),
            Unit::Plain.show(high),
            estimate.count
        ),
        None => "single trial, no interval".to_owned(),
    };
    let verdict = cell.verdict.filter(|verdict| *verdict != Verdict::Valid);
    let doubt = verdict
        .map(|verdict| format!("; verdict: {}", labels::verdict(verdict)))
        .unwrap_or_default();
    let what = if cells > 1 {
        "The highest goodput is"
    } else {
        "Goodput is"
    };
    format!(
        "{what} {} {} per second{place} ({certainty}{doubt}).",
        Unit::Plain.show(estimate.point),
        labels::counted_word(counted)
    )
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

fn quickest(model: &Model, best: &CellModel, quickest: Option<u32>) -> Option<String> {
    let delay = best.delay.p99.estimate?;
    let quickest = find_cell(model, quickest)?;
    let resolution = best
        .delay_resolution_ms
        .map(|ms| format!(" (resolution {})", Unit::Time.show(ms * 1000.0)))
        .unwrap_or_default();
    let soonest = if quickest.cell != best.cell {
        format!(
            "; the shortest delay is {} at {}, with {} {} per second",
            Unit::Time.show(quickest.delay.p99.estimate?.point),
            levels_of(model, quickest.cell),
            Unit::Plain.show(point(quickest.goodput.as_ref())),
            labels::counted_word(model.counted)
        )
    } else if model.cells.len() > 1 {
        ", the shortest delay of all cells".to_owned()
    } else {
        String::new()
    };
    Some(format!(
        "99 % of the records were visible within {}{resolution}{soonest}.",
        Unit::Time.show(delay.point)
    ))
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
    let likelier = match limit.by {
        LimitedBy::SystemCpu => return format!("The bottleneck is the CPU of the system: {used}."),
        LimitedBy::Generator => {
            return format!(
                "The bottleneck may be the load generator (utilization {busy}), while {used}."
            );
        }
        LimitedBy::Asked => "the offered load",
        LimitedBy::UsersOrWaiting => {
            "the load that the users offer, or waiting for disks, locks or answers"
        }
        LimitedBy::Waiting => "waiting for disks, locks or answers",
    };
    format!(
        "No CPU was saturated ({used}; load generator utilization {busy}), so the likely limit is {likelier}."
    )
}

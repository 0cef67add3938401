//! The answer to the study's question, in sentences made from the numbers and no further than they go.

use waggle_analysis::{
    Account, AnswerOf, CellModel, Counted, Highest, Limit, LimitedBy, Model, Spread,
};
use waggle_stats::{Estimate, Verdict};

use super::{
    levels_of, search,
    text::{self, Unit},
    words,
};

/// Most cells of a search that are each told in a sentence; of more only the best is.
const SEARCHES_TOLD: usize = 6;

/// The answer, a sentence each, the most important first.
#[must_use]
pub fn sentences(model: &Model) -> Vec<String> {
    match &model.answer.of {
        AnswerOf::Nothing => {
            vec!["No trial came to its end, so there is no number to answer with.".to_owned()]
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
        sentences.push("No cell gave a number that may be believed; the highest seen is told with its verdict.".to_owned());
    }
    let cells = model.cells.len();
    sentences.push(goodput(shown, model.counted, cells));
    let there = |sentence: String| match cells {
        0 | 1 => sentence,
        _ => format!("There, {}", uncapitalise(&sentence)),
    };
    let of_cell = [
        response(shown),
        quickest(model, shown, highest.quickest),
        model.answer.limit.as_ref().map(limit),
    ];
    sentences.extend(of_cell.into_iter().flatten().map(there));
    sentences.extend(model.account.as_ref().map(|all| completeness(all, cells)));
    if let Some(more) = find_cell(model, highest.more) {
        sentences.push(format!(
            "{} showed more, {} {} per second, but is {}.",
            cell_label(more),
            Unit::Plain.show(point(more.goodput.as_ref())),
            words::counted_word(model.counted),
            more.verdict.map_or("unfinished", words::verdict)
        ));
    }
    sentences
}

/// The highest level of all cells first, then those of the others.
fn of_searches(model: &Model, ranking: &[u32]) -> Vec<String> {
    let Some(find) = &model.find else {
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
            levels => text::levels(levels),
        };
        let search = find.of_cell(*number)?;
        let why = search.shortfalls().first().map(search::shortfall);
        Some(search::sentence(
            find.info.what,
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
                "At the highest of them, with {}, ",
                text::levels(&best.levels)
            ),
        };
        let there = [response(best), model.answer.limit.as_ref().map(limit)];
        let there = there.into_iter().flatten();
        sentences.extend(there.map(|sentence| format!("{at}{}", uncapitalise(&sentence))));
    }
    sentences
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
        format!("The cell {}", text::levels(&cell.levels))
    }
}

fn goodput(cell: &CellModel, counted: Counted, cells: usize) -> String {
    let Some(estimate) = cell.goodput else {
        return String::new();
    };
    let place = match (cells, cell.levels.is_empty()) {
        (_, true) | (1, _) => String::new(),
        _ => format!(", at {}", text::levels(&cell.levels)),
    };
    let certainty = match estimate.interval {
        Some((low, high)) => format!(
            "95 % interval {} – {}, {} trials",
            Unit::Plain.show(low),
            Unit::Plain.show(high),
            estimate.count
        ),
        None => "single run, no uncertainty known".to_owned(),
    };
    let verdict = cell.verdict.filter(|verdict| *verdict != Verdict::Valid);
    let doubt = verdict
        .map(|verdict| format!("; verdict: {}", words::verdict(verdict)))
        .unwrap_or_default();
    let most = if cells > 1 { "At most" } else { "It took" };
    format!(
        "{most} {} {} per second{place} ({certainty}{doubt}).",
        Unit::Plain.show(estimate.point),
        words::counted_word(counted)
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
        "Half of the answers came within {} and 99 % within {}{thin}; the slowest took {}.",
        Unit::Time.show(p50.point),
        text::long(Some(&p99), Unit::Time),
        Unit::Time.show(max.point)
    ))
}

/// Over all cells: a record lost anywhere is news.
fn completeness(account: &Account, cells: usize) -> String {
    let accepted = text::count(account.accepted);
    let missing = match account.missing.sum {
        0 => format!("Over the whole study every one of {accepted} accepted records was delivered"),
        missing => format!(
            "Over the whole study {} of {accepted} accepted records are missing, in {} of {cells} cells",
            text::count(missing),
            account.missing.cells.len(),
        ),
    };
    format!("{missing}{}.", beside_the_accepted(account))
}

/// What else the accounts say, each part with a semicolon before it; nothing where there is nothing to say.
fn beside_the_accepted(account: &Account) -> String {
    let part = |of: &Spread, what: &str| match of.sum {
        0 => String::new(),
        count => format!("; {} {what}", text::count(count)),
    };
    let unclear = format!(
        "records got no clear answer, of which {} are there",
        text::count(account.unknown_delivered)
    );
    [
        part(&account.duplicates, "extra copies were found"),
        part(&account.unknown, &unclear),
        part(
            &account.rejected_delivered,
            "rejected records are there all the same",
        ),
        part(
            &account.stray,
            "records were found that should not be there",
        ),
    ]
    .concat()
}

fn quickest(model: &Model, best: &CellModel, quickest: Option<u32>) -> Option<String> {
    let there = best.delay.p99.estimate?;
    let quickest = find_cell(model, quickest)?;
    let resolution = best
        .delay_resolution_ms
        .map(|ms| format!(", known to within {}", Unit::Time.show(ms * 1000.0)))
        .unwrap_or_default();
    let soonest = if quickest.cell != best.cell {
        format!(
            "; soonest at {}: within {}, at {} {} per second",
            levels_of(model, quickest.cell),
            Unit::Time.show(quickest.delay.p99.estimate?.point),
            Unit::Plain.show(point(quickest.goodput.as_ref())),
            words::counted_word(model.counted)
        )
    } else if model.cells.len() > 1 {
        ", the shortest delay of all cells".to_owned()
    } else {
        String::new()
    };
    Some(format!(
        "99 % of the records could be read within {}{resolution}{soonest}.",
        Unit::Time.show(there.point)
    ))
}

fn limit(limit: &Limit) -> String {
    let most = match &limit.most {
        Some((busiest, cores)) => format!(", {busiest} most of it: {}", text::three_digits(*cores)),
        None => String::new(),
    };
    let used = format!(
        "the system used {} of the {} CPU{} it could use{most}",
        text::three_digits(limit.system_cores),
        limit.system_cpus,
        if limit.system_cpus == 1 { "" } else { "s" }
    );
    let busy = text::share(limit.engine_busy_share);
    let likelier = match limit.by {
        LimitedBy::SystemCpu => return format!("What limits is the system's CPU: {used}."),
        LimitedBy::Generator => {
            return format!(
                "The load generator was near its own limit (its busiest worker {busy} busy), while {used}."
            );
        }
        LimitedBy::Asked => "no more was asked for",
        LimitedBy::UsersOrWaiting => {
            "what the users asked for, or waiting, for disk, locks or answers,"
        }
        LimitedBy::Waiting => "waiting, for disk, locks or answers,",
    };
    format!(
        "No CPU was full ({used}; the busiest load worker was {busy} busy), so that {likelier} is the likelier limit."
    )
}

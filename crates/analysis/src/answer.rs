//! The answer to the study's question, in sentences made from the numbers and no further than they go.

use waggle_results::{LoadModel, RunInfo};
use waggle_stats::{Estimate, Verdict};

use crate::{CellModel, CellSearch, Counted, FindModel, INSTRUMENT, busiest::cpus_of_system};
use crate::{
    text::{self, Unit},
    words,
};

/// Above this share of the CPUs it was given, a component's CPU is named as the limit.
const CPU_FULL: f64 = 0.9;

/// Above this share a worker of the engine is named as near its own limit (method, rule 9).
const ENGINE_NEAR_LIMIT: f64 = 0.8;

/// From this share of what fell due on, all of it was answered (as the verdict takes it).
const ALL_ANSWERED: f64 = 0.99;

/// The answer, and how far it may be believed.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Of the cell the first sentence speaks of; `None`: nothing was measured.
    pub verdict: Option<Verdict>,
    pub sentences: Vec<String>,
    /// Number of that cell.
    pub cell: Option<u32>,
}

impl Answer {
    /// All sentences in one line.
    #[must_use]
    pub fn text(&self) -> String {
        self.sentences.join(" ")
    }
}

pub(crate) fn answer(
    info: &RunInfo,
    counted: Counted,
    cells: &[CellModel],
    find: Option<&FindModel>,
) -> Answer {
    if let Some(find) = find {
        return of_search(info, cells, find);
    }
    let believed = |cell: &&CellModel| cell.verdict.is_some_and(words::may_be_believed);
    let highest_of_all = highest(cells.iter());
    let Some(any) = highest_of_all else {
        return Answer {
            verdict: cells.iter().filter_map(|cell| cell.verdict).max(),
            sentences: vec![
                "No trial came to its end, so there is no number to answer with.".to_owned(),
            ],
            cell: None,
        };
    };
    let best = highest(cells.iter().filter(believed));
    let mut sentences = Vec::new();
    if best.is_none() {
        sentences.push("No cell gave a number that may be believed; the highest seen is told with its verdict.".to_owned());
    }
    let shown = best.unwrap_or(any);
    sentences.push(goodput(shown, counted, cells.len()));
    let there = |sentence: Option<String>| {
        sentence.map(|sentence| {
            if cells.len() > 1 {
                at_that_cell(&sentence)
            } else {
                sentence
            }
        })
    };
    sentences.extend(there(response(shown)));
    sentences.extend(there(quickest(cells, shown, counted, best.is_some())));
    sentences.extend(there(limit(shown, info)));
    sentences.extend(completeness(cells));
    if best.is_some() && any.cell != shown.cell {
        sentences.push(format!(
            "{} showed more, {} {} per second, but is {}.",
            at(any),
            Unit::Plain.show(point(any.goodput.as_ref())),
            counted.word(),
            any.verdict.map_or("unfinished", words::verdict)
        ));
    }
    Answer {
        verdict: shown.verdict,
        sentences,
        cell: Some(shown.cell),
    }
}

/// Most cells of a search that are each told in a sentence; of more only the best is.
const SEARCHES_TOLD: usize = 6;

/// The highest level of all cells first, then those of the others.
fn of_search(info: &RunInfo, cells: &[CellModel], find: &FindModel) -> Answer {
    let mut searches: Vec<(&CellModel, &CellSearch)> = cells
        .iter()
        .filter_map(|cell| Some((cell, find.of_cell(cell.cell)?)))
        .collect();
    let held = |search: &CellSearch| search.answer.holds.map_or(0.0, |held| held.level);
    searches.sort_by(|a, b| held(b.1).total_cmp(&held(a.1)));
    let told = if searches.len() > SEARCHES_TOLD {
        1
    } else {
        searches.len()
    };
    let mut sentences: Vec<String> = searches[..told]
        .iter()
        .map(|(cell, search)| {
            let at = match cell.levels.as_slice() {
                [] => String::new(),
                levels => text::levels(levels),
            };
            find.sentence(search, &at)
        })
        .collect();
    let best = searches
        .first()
        .map(|(cell, _)| *cell)
        .filter(|cell| cell.verdict.is_some());
    if let Some(best) = best {
        let at = if cells.len() > 1 {
            format!(
                "At the highest of them, with {}, ",
                text::levels(&best.levels)
            )
        } else {
            "At that level, ".to_owned()
        };
        let there = [response(best), limit(best, info)];
        let there = there.into_iter().flatten();
        sentences.extend(there.map(|sentence| format!("{at}{}", uncapitalised(&sentence))));
    }
    Answer {
        verdict: best.and_then(|cell| cell.verdict),
        sentences,
        cell: best.map(|cell| cell.cell),
    }
}

fn highest<'a>(cells: impl Iterator<Item = &'a CellModel>) -> Option<&'a CellModel> {
    cells
        .filter(|cell| cell.goodput.is_some())
        .max_by(|a, b| point(a.goodput.as_ref()).total_cmp(&point(b.goodput.as_ref())))
}

fn point(estimate: Option<&Estimate>) -> f64 {
    estimate.map_or(f64::NEG_INFINITY, |estimate| estimate.point)
}

/// The sentence with "There, " before it.
fn at_that_cell(sentence: &str) -> String {
    format!("There, {}", uncapitalised(sentence))
}

fn uncapitalised(sentence: &str) -> String {
    let mut rest = sentence.chars();
    let first = rest
        .next()
        .map(|first| first.to_lowercase().collect::<String>())
        .unwrap_or_default();
    format!("{first}{}", rest.as_str())
}

fn at(cell: &CellModel) -> String {
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
        counted.word()
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
fn completeness(cells: &[CellModel]) -> Option<String> {
    let ledgers: Vec<_> = cells
        .iter()
        .filter_map(|cell| cell.ledger.as_ref())
        .collect();
    if ledgers.is_empty() {
        return None;
    }
    let sum = |pick: fn(&waggle_results::LedgerInfo) -> u64| {
        ledgers.iter().map(|ledger| pick(ledger)).sum::<u64>()
    };
    let (accepted, missing) = (sum(|ledger| ledger.accepted), sum(|ledger| ledger.missing));
    let mut text = if missing == 0 {
        format!(
            "Over the whole study every one of {} accepted records was delivered",
            text::count(accepted)
        )
    } else {
        let where_from = cells
            .iter()
            .filter(|cell| {
                cell.ledger
                    .as_ref()
                    .is_some_and(|ledger| ledger.missing > 0)
            })
            .count();
        format!(
            "Over the whole study {} of {} accepted records are missing, in {where_from} of {} cells",
            text::count(missing),
            text::count(accepted),
            cells.len()
        )
    };
    text.push_str(&beside_the_accepted(sum));
    text.push('.');
    Some(text)
}

/// What else the accounts say, each part with a semicolon before it; nothing where there is nothing to say.
fn beside_the_accepted(sum: impl Fn(fn(&waggle_results::LedgerInfo) -> u64) -> u64) -> String {
    let unknown_delivered = sum(|ledger| ledger.unknown_delivered);
    let denied = sum(|ledger| ledger.rejected_delivered);
    let stray = sum(|ledger| ledger.unexpected).saturating_sub(denied);
    let parts = [
        (
            sum(|ledger| ledger.duplicates),
            "extra copies were found".to_owned(),
        ),
        (
            sum(|ledger| ledger.unknown),
            format!(
                "records got no clear answer, of which {} are there",
                text::count(unknown_delivered)
            ),
        ),
        (denied, "rejected records are there all the same".to_owned()),
        (
            stray,
            "records were found that should not be there".to_owned(),
        ),
    ];
    let said = parts.into_iter().filter(|(count, _)| *count > 0);
    said.map(|(count, what)| format!("; {} {what}", text::count(count)))
        .collect()
}

fn quickest(
    cells: &[CellModel],
    best: &CellModel,
    counted: Counted,
    only_believed: bool,
) -> Option<String> {
    let there = best.delay.p99.estimate?;
    let quickest = cells
        .iter()
        .filter(|cell| !only_believed || cell.verdict.is_some_and(words::may_be_believed))
        .filter(|cell| cell.delay.p99.estimate.is_some())
        .min_by(|a, b| {
            point(a.delay.p99.estimate.as_ref()).total_cmp(&point(b.delay.p99.estimate.as_ref()))
        })?;
    let resolution = best
        .delay_resolution_ms
        .map(|ms| format!(", known to within {}", Unit::Time.show(ms * 1000.0)))
        .unwrap_or_default();
    let mut text = format!(
        "99 % of the records could be read within {}{resolution}",
        Unit::Time.show(there.point)
    );
    if quickest.cell == best.cell {
        if cells.len() > 1 {
            text.push_str(", the shortest delay of all cells");
        }
    } else {
        text.push_str(&format!(
            "; soonest at {}: within {}, at {} {} per second",
            text::levels(&quickest.levels),
            Unit::Time.show(quickest.delay.p99.estimate?.point),
            Unit::Plain.show(point(quickest.goodput.as_ref())),
            counted.word()
        ));
    }
    text.push('.');
    Some(text)
}

/// Names the limit only where a number shows it.
fn limit(cell: &CellModel, info: &RunInfo) -> Option<String> {
    let components = || {
        let all = cell.component_cores.iter();
        all.filter(|(component, _)| component != INSTRUMENT)
    };
    let busiest = components().max_by(|a, b| a.1.point.total_cmp(&b.1.point))?;
    let system: f64 = components().map(|(_, cores)| cores.point).sum();
    let given = cpus_of_system(info);
    let most = if components().count() == 1 {
        String::new()
    } else {
        format!(
            ", {} most of it: {}",
            busiest.0,
            text::three(busiest.1.point)
        )
    };
    let used = format!(
        "the system used {} of the {given} CPU{} it could use{most}",
        text::three(system),
        if given == 1 { "" } else { "s" }
    );
    let engine = cell.engine_busy_share.unwrap_or(0.0);
    Some(if system >= CPU_FULL * f64::from(given) {
        format!("What limits is the system's CPU: {used}.")
    } else if engine >= ENGINE_NEAR_LIMIT {
        format!(
            "The load generator was near its own limit (its busiest worker {} busy), while {used}.",
            text::share(engine)
        )
    } else {
        format!(
            "No CPU was full ({used}; the busiest load worker was {} busy), {}.",
            text::share(engine),
            beside_cpus(cell, info)
        )
    })
}

/// What limits where no CPU does: of load that comes by itself it is that no more came, as long as all of it was answered.
fn beside_cpus(cell: &CellModel, info: &RunInfo) -> &'static str {
    let answered = cell
        .achieved_share
        .is_some_and(|share| share >= ALL_ANSWERED);
    match info.load_model {
        LoadModel::Open if answered => "so that no more was asked for is the likelier limit",
        LoadModel::Users => {
            "so that what the users asked for, or waiting, for disk, locks or answers, is the likelier limit"
        }
        LoadModel::Open | LoadModel::Closed => {
            "so that waiting, for disk, locks or answers, is the likelier limit"
        }
    }
}

//! Delivery accounting in sentences: missing records, duplicates, rejected records that were delivered, records without a clear answer.
//! The numbers are those of the table.

use waggle_analysis::{Account, Model, Spread};
use waggle_results::SampleInfo;

use super::{format, name_of};

/// Most cells that a sentence names.
const NAMED: usize = 4;

/// `Missing: 51 of 168,590 accepted records (at victim=gateway).` and others; empty if records were not followed.
#[must_use]
pub fn sentences(model: &Model) -> Vec<String> {
    let Some(account) = &model.account else {
        return Vec::new();
    };
    let told = |spread: &Spread| spread_text(model, account, spread);
    let accepted = format::count(account.accepted);
    let missing = match told(&account.missing) {
        Some((count, place)) => format!("Missing: {count} of {accepted} accepted records{place}."),
        None => format!("Missing: none of {accepted} accepted records."),
    };
    let duplicates = match told(&account.duplicates) {
        Some((count, place)) => format!("Duplicates: {count} extra copies{place}."),
        None => "Duplicates: none.".to_owned(),
    };
    let mut sentences = vec![missing, duplicates];
    if account.is_told_apart
        && let Some((rejected, _)) = told(&account.rejected)
    {
        sentences.push(rejected_records(
            &rejected,
            told(&account.rejected_delivered),
        ));
    }
    if let Some((unknown, place)) = told(&account.unknown) {
        let absent = account
            .unknown
            .sum
            .saturating_sub(account.unknown_delivered);
        sentences.push(format!(
            "Unknown: {unknown} records without a clear answer{place}, of which {} were delivered and {} were not.",
            format::count(account.unknown_delivered),
            format::count(absent)
        ));
    }
    sentences.extend(told(&account.stray).map(|(count, place)| {
        let what = match account.is_told_apart {
            true => "Never sent",
            false => "Rejected or never sent",
        };
        format!("{what}, but visible: {count} records{place}.")
    }));
    sentences
}

/// `12,345 of 1,200,000`.
#[must_use]
pub fn sample_counts(sample: SampleInfo) -> String {
    format!(
        "{} of {}",
        format::count(sample.followed),
        format::count(sample.of)
    )
}

/// `of 12,345 sampled records of 1,200,000`.
#[must_use]
pub fn sample(sample: SampleInfo) -> String {
    format!(
        "of {} sampled records of {}",
        format::count(sample.followed),
        format::count(sample.of)
    )
}

/// Rejected records, and how many of them were delivered.
fn rejected_records(rejected: &str, delivered: Option<(String, String)>) -> String {
    match delivered {
        Some((count, place)) => {
            format!("Rejected but delivered: {count} of {rejected} rejected records{place}.")
        }
        None => {
            format!("Rejected but delivered: none of {rejected} rejected records.")
        }
    }
}

/// The count, and the cells with the highest counts in parentheses; `None` for none.
fn spread_text(model: &Model, account: &Account, spread: &Spread) -> Option<(String, String)> {
    if spread.cells.is_empty() {
        return None;
    }
    let (named, rest) = spread.cells.split_at(spread.cells.len().min(NAMED));
    let mut places: Vec<String> = named
        .iter()
        .map(|(cell, count)| format!("{} at {}", format::count(*count), name_of(model, *cell)))
        .collect();
    match rest.len() {
        0 => {}
        1 => places.push("and one more cell".to_owned()),
        more => places.push(format!("and {more} more cells")),
    }
    let place = match (account.cells, named) {
        (1, _) => String::new(),
        (_, [(cell, _)]) => format!(" (at {})", name_of(model, *cell)),
        _ => format!(" ({})", places.join(", ")),
    };
    Some((format::count(spread.sum), place))
}

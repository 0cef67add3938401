//! What the accounts of records say, a sentence for each thing that may have become of a record: lost, doubled, done although refused,
//! without a clear answer. The numbers are those of the table.

use waggle_analysis::{Account, Model, Spread};

use super::{levels_of, text};

/// Most cells that a sentence names.
const NAMED: usize = 4;

/// `Lost: 51 of 168,590 accepted records (at victim=gateway).`, and the like; none where no account was kept.
#[must_use]
pub fn sentences(model: &Model) -> Vec<String> {
    let Some(account) = &model.account else {
        return Vec::new();
    };
    let told = |spread: &Spread| spread_text(model, account, spread);
    let accepted = text::count(account.accepted);
    let lost = match told(&account.missing) {
        Some((count, place)) => format!("Lost: {count} of {accepted} accepted records{place}."),
        None => format!("Lost: none of {accepted} accepted records."),
    };
    let doubled = match told(&account.duplicates) {
        Some((count, place)) => format!("Doubled: {count} extra copies{place}."),
        None => "Doubled: none.".to_owned(),
    };
    let mut sentences = vec![lost, doubled];
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
            "Without a clear answer: {unknown} records{place}, of which {} are there and {} are not.",
            text::count(account.unknown_delivered),
            text::count(absent)
        ));
    }
    sentences.extend(told(&account.stray).map(|(count, place)| {
        let what = match account.is_told_apart {
            true => "never sent",
            false => "rejected, or never sent",
        };
        format!("There, though {what}: {count}{place}.")
    }));
    sentences
}

/// Records whose client was told no, and those of them that are there.
fn rejected_records(rejected: &str, delivered: Option<(String, String)>) -> String {
    match delivered {
        Some((count, place)) => format!(
            "There, though the client was told no: {count} of {rejected} rejected records{place}."
        ),
        None => {
            format!("There, though the client was told no: none of {rejected} rejected records.")
        }
    }
}

/// How many, and the cells with most of them, in parentheses; `None` for none.
fn spread_text(model: &Model, account: &Account, spread: &Spread) -> Option<(String, String)> {
    if spread.cells.is_empty() {
        return None;
    }
    let (named, rest) = spread.cells.split_at(spread.cells.len().min(NAMED));
    let mut places: Vec<String> = named
        .iter()
        .map(|(cell, count)| format!("{} at {}", text::count(*count), levels_of(model, *cell)))
        .collect();
    match rest.len() {
        0 => {}
        1 => places.push("and one more cell".to_owned()),
        more => places.push(format!("and {more} more cells")),
    }
    let place = match (account.cells, named) {
        (1, _) => String::new(),
        (_, [(cell, _)]) => format!(" (at {})", levels_of(model, *cell)),
        _ => format!(" ({})", places.join(", ")),
    };
    Some((text::count(spread.sum), place))
}

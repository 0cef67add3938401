//! What the accounts of records say, a sentence for each thing that may have become of a record: lost, doubled, done although refused,
//! without a clear answer. The numbers are those of the table.

use std::cmp::Reverse;

use waggle_results::{LedgerInfo, RunInfo};

use crate::CellModel;
use crate::text;

/// Most cells that a sentence names.
const NAMED: usize = 4;

/// From this format on the rejected records that are there are counted by themselves.
pub const TOLD_APART_FROM: u32 = 4;

/// `Lost: 51 of 168,590 accepted records (at victim=gateway).`, and the like; none where no account was kept.
pub(crate) fn sentences(info: &RunInfo, cells: &[CellModel]) -> Vec<String> {
    let all = Accounts::of(cells);
    if all.0.is_empty() {
        return Vec::new();
    }
    let accepted = text::count(all.sum(|ledger| ledger.accepted));
    let lost = match all.told(|ledger| ledger.missing) {
        Some((count, place)) => format!("Lost: {count} of {accepted} accepted records{place}."),
        None => format!("Lost: none of {accepted} accepted records."),
    };
    let doubled = match all.told(|ledger| ledger.duplicates) {
        Some((count, place)) => format!("Doubled: {count} extra copies{place}."),
        None => "Doubled: none.".to_owned(),
    };
    let mut sentences = vec![lost, doubled];
    let is_told_apart = info.format >= TOLD_APART_FROM;
    sentences.extend(rejected(&all).filter(|_| is_told_apart));
    sentences.extend(unknown(&all));
    let stray = all.told(|ledger| ledger.unexpected.saturating_sub(ledger.rejected_delivered));
    sentences.extend(stray.map(|(count, place)| {
        let what = match is_told_apart {
            true => "never sent",
            false => "rejected, or never sent",
        };
        format!("There, though {what}: {count}{place}.")
    }));
    sentences
}

/// Records whose client was told no.
fn rejected(all: &Accounts<'_>) -> Option<String> {
    let (rejected, _) = all.told(|ledger| ledger.rejected)?;
    Some(match all.told(|ledger| ledger.rejected_delivered) {
        Some((count, place)) => {
            format!(
                "There, though the client was told no: {count} of {rejected} rejected records{place}."
            )
        }
        None => {
            format!("There, though the client was told no: none of {rejected} rejected records.")
        }
    })
}

/// Records of which the client does not know.
fn unknown(all: &Accounts<'_>) -> Option<String> {
    let (unknown, place) = all.told(|ledger| ledger.unknown)?;
    let there = all.sum(|ledger| ledger.unknown_delivered);
    let absent = all.sum(|ledger| ledger.unknown).saturating_sub(there);
    Some(format!(
        "Without a clear answer: {unknown} records{place}, of which {} are there and {} are not.",
        text::count(there),
        text::count(absent)
    ))
}

/// The cells that have an account, each with it.
struct Accounts<'a>(Vec<(&'a CellModel, &'a LedgerInfo)>);

impl<'a> Accounts<'a> {
    fn of(cells: &'a [CellModel]) -> Self {
        let kept = cells.iter();
        Self(
            kept.filter_map(|cell| Some((cell, cell.ledger.as_ref()?)))
                .collect(),
        )
    }

    fn sum(&self, pick: impl Fn(&LedgerInfo) -> u64) -> u64 {
        self.0.iter().map(|(_, ledger)| pick(ledger)).sum()
    }

    /// How many, and the cells with most of them, in parentheses; `None` for none.
    fn told(&self, pick: impl Fn(&LedgerInfo) -> u64) -> Option<(String, String)> {
        let counts = self.0.iter().map(|(cell, ledger)| (*cell, pick(ledger)));
        let mut counts: Vec<(&CellModel, u64)> = counts.filter(|(_, count)| *count > 0).collect();
        if counts.is_empty() {
            return None;
        }
        let sum: u64 = counts.iter().map(|(_, count)| count).sum();
        counts.sort_by_key(|(_, count)| Reverse(*count));
        let (named, rest) = counts.split_at(counts.len().min(NAMED));
        let mut places: Vec<String> = named
            .iter()
            .map(|(cell, count)| {
                format!("{} at {}", text::count(*count), text::levels(&cell.levels))
            })
            .collect();
        match rest.len() {
            0 => {}
            1 => places.push("and one more cell".to_owned()),
            more => places.push(format!("and {more} more cells")),
        }
        let place = match (self.0.len(), named) {
            (1, _) => String::new(),
            (_, [(cell, _)]) => format!(" (at {})", text::levels(&cell.levels)),
            _ => format!(" ({})", places.join(", ")),
        };
        Some((text::count(sum), place))
    }
}

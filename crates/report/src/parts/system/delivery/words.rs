//! Delivery accounting in sentences: missing records, duplicates, rejected records that were delivered, records without a clear answer.
//! The numbers are those of the table.

use waggle_analysis::{Account, DelaySource, KnownBy, Model, Spread};
use waggle_results::SampleInfo;

use crate::words::{format, names::name_of};

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
    if let Some((rejected, _)) = told(&account.rejected) {
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
    sentences.extend(
        told(&account.stray)
            .map(|(count, place)| format!("Never sent, but visible: {count} records{place}.")),
    );
    sentences
}

/// The records behind the percentiles of a delay: `12,345 of 1,200,000 in 14 windows`.
#[must_use]
pub fn records_behind(source: DelaySource) -> String {
    let (known, total) = (format::count(source.known), format::count(source.of));
    match source.by {
        KnownBy::Reads | KnownBy::Instants if source.known == source.of => known,
        KnownBy::Reads | KnownBy::Instants => format!("{known} of {total}"),
        KnownBy::Windows(Some(windows)) => {
            format!(
                "{known} of {total} in {}",
                format::plural(windows, "window")
            )
        }
        KnownBy::Windows(None) => format!("{known} of {total} in windows"),
    }
}

/// Whether the delays of all rows of a table end at instants of the store, of some, or of none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByInstants {
    All,
    Some,
    None,
}

impl ByInstants {
    pub(crate) fn of_rows(rows: impl Iterator<Item = DelaySource>) -> Self {
        let all: Vec<bool> = rows.map(|row| row.by == KnownBy::Instants).collect();
        match (all.contains(&true), all.contains(&false)) {
            (true, true) => Self::Some,
            (true, false) => Self::All,
            (false, _) => Self::None,
        }
    }

    /// Where the delays of a table end.
    pub(crate) fn delay_ends(self, has_several_probes: bool) -> &'static str {
        match (self, has_several_probes) {
            (Self::All, _) => {
                "from sent until the store had the record, by the store's own instants"
            }
            (Self::Some, _) => {
                "from sent until visible: by the store's own instants where they cover the records, else when the probe saw them"
            }
            (Self::None, true) => "from sent until visible at each probe",
            (Self::None, false) => "from sent until visible at the probe",
        }
    }
}

/// Where the delays of a row end.
#[must_use]
pub(crate) fn delay_end(source: DelaySource) -> &'static str {
    match source.by {
        KnownBy::Instants => "instant of the store",
        KnownBy::Reads | KnownBy::Windows(_) => "seen by the probe",
    }
}

/// How fine the instants of these probes' stores are; `None`: it is not known, or differs.
pub(crate) fn instants_resolution(model: &Model, probes: &[&str]) -> Option<&'static str> {
    let all = model.trials.iter().flat_map(|trial| {
        let before = trial.intermediate_probes.iter();
        let before = before.map(|probe| &probe.delivery);
        before.chain(&trial.info.delivery)
    });
    let deliveries = all.filter(|delivery| probes.contains(&delivery.probe.as_str()));
    let mut resolutions: Vec<Option<u64>> = deliveries
        .map(|delivery| delivery.instants.map(|instants| instants.resolution_ns))
        .collect();
    resolutions.dedup();
    match resolutions[..] {
        [Some(1_000_000_000)] => Some("in whole seconds"),
        [Some(1_000_000)] => Some("in whole milliseconds"),
        [Some(1_000)] => Some("in whole microseconds"),
        _ => None,
    }
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

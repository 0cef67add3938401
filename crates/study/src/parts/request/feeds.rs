//! Feeds: rows from a file or from the study itself.

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{LoadKind, LoadModel};

use super::made_rows::{Generate, made_rows};
use crate::{
    FeedRows, FeedTable, KeptRows, Level,
    at::{At, Key, Place},
    check::Checker,
    feed_text::is_column,
    mistake::Finding,
    nearest::{list, nearest_word},
    raw::Name,
    tree::quote,
};

/// Rows of values; each session whose flow uses the feed takes one row.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Feed {
    /// Its name in {{feed.column}}.
    #[schemars(required)]
    pub name: Key<Name>,
    /// A CSV file with a header, or an NDJSON file (.csv, .ndjson, .jsonl), relative to the study's folder.
    pub file: Key<String>,
    /// The rows themselves, in place of `file`; every row has the same keys.
    #[schemars(length(min = 1))]
    pub rows: Key<Vec<At<Row>>>,
    /// Rows that are made from their numbers, in place of `file`; they need no memory.
    pub generate: Key<Generate>,
    /// The load of `prepare` whose kept values are the rows, in place of `file`; its `keep` names the columns.
    pub captured_by: Key<String>,
    /// Which row a session takes; cycle by default.
    pub order: Key<FeedOrder>,
    /// With `order: zipf`: how much more often the first rows are taken; row k has a weight of 1 ÷ k^skew. With `order: recent`
    /// rows are counted from the last one. 1 by default.
    #[schemars(range(min = 0.01, max = 10))]
    pub skew: Key<f64>,
}

type Row = IndexMap<String, At<Level>>;

/// Which row a session takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FeedOrder {
    /// The next one, and after the last the first again.
    Cycle,
    /// Any one.
    Random,
    /// The next one, each once in the whole run; without a row left no session starts.
    Once,
    /// User number n has row n in all of its sessions.
    PerUser,
    /// Any one, the first most often (`skew`).
    Zipf,
    /// Any one, the last most often (`skew`).
    Recent,
}

/// Most feeds of a load.
const MAX_FEEDS: usize = 32;
/// First parts of the variables that the load makes itself.
pub(crate) const OWN_FIRST: [&str; 2] = ["random", "record"];

/// A feed, as far as it could be read.
pub(crate) struct NamedFeed<'k> {
    pub(crate) keys: &'k Feed,
    pub(crate) order: Option<waggle_spec::FeedOrder>,
    pub(crate) rows: Option<FeedRows>,
}

impl NamedFeed<'_> {
    /// Empty if it is not known.
    pub(crate) fn name(&self) -> &str {
        self.keys.name.value().map_or("", |Name(name)| name)
    }

    fn into_feed(self) -> Option<crate::Feed> {
        Some(crate::Feed {
            name: self.name().to_owned(),
            order: self.order?,
            from: self.keys.file.value().cloned(),
            rows: self.rows?,
        })
    }
}

/// `None`: one of them has a mistake.
pub(crate) fn into_feeds(feeds: Vec<NamedFeed<'_>>) -> Option<Vec<crate::Feed>> {
    feeds.into_iter().map(NamedFeed::into_feed).collect()
}

pub(crate) fn feeds<'k>(
    checker: &mut Checker<'_>,
    given: &'k Key<Vec<At<Feed>>>,
    model: Option<&LoadModel>,
) -> Vec<NamedFeed<'k>> {
    let Some(At { place, value }) = given.content() else {
        return Vec::new();
    };
    if value.len() > MAX_FEEDS {
        let mistake = place.key_mistake(format!("has {} feeds", value.len()));
        checker.report(mistake.with_expected(format!("at most {MAX_FEEDS}")));
    }
    let mut feeds: Vec<NamedFeed<'k>> = Vec::new();
    for given in value.iter().take(MAX_FEEDS) {
        let feed = feed(checker, given, model);
        let name = feed.name();
        let is_twice = !name.is_empty() && feeds.iter().any(|known| known.name() == name);
        let what = match is_twice {
            true => format!("there are two feeds {name:?}"),
            false => format!("{name:?} is no name for a feed: {{{{{name}.…}}}} is the load's own"),
        };
        let is_wrong = is_twice || OWN_FIRST.contains(&name);
        if let Some(place) = given.value.name.place().filter(|_| is_wrong) {
            let finding = Finding::new(place.value, what);
            checker.report(finding.with_expected("a name of its own"));
        }
        feeds.extend((!is_twice).then_some(feed));
    }
    feeds
}

fn feed<'k>(
    checker: &mut Checker<'_>,
    given: &'k At<Feed>,
    model: Option<&LoadModel>,
) -> NamedFeed<'k> {
    let keys = &given.value;
    let skew = keys.skew.value().copied().unwrap_or(1.0);
    let order = keys.order.or_default(FeedOrder::Cycle);
    let order = order.map(|order| order.to_spec(skew));
    if let (Some(skew), Some(order)) = (keys.skew.content(), order) {
        check_skew(checker, skew, order);
    }
    let rows = rows(checker, given);
    if let (Some(waggle_spec::FeedOrder::PerUser), Some(rows), Some(model)) = (order, &rows, model)
    {
        refuse_too_few_rows(checker, rows.count(), model, &keys.order);
    }
    NamedFeed { keys, order, rows }
}

impl FeedOrder {
    fn to_spec(self, skew: f64) -> waggle_spec::FeedOrder {
        match self {
            Self::Cycle => waggle_spec::FeedOrder::Cycle,
            Self::Random => waggle_spec::FeedOrder::Random,
            Self::Once => waggle_spec::FeedOrder::Once,
            Self::PerUser => waggle_spec::FeedOrder::PerUser,
            Self::Zipf => waggle_spec::FeedOrder::Zipf { skew },
            Self::Recent => waggle_spec::FeedOrder::Recent { skew },
        }
    }
}

fn check_skew(
    checker: &mut Checker<'_>,
    At { place, value: skew }: &At<f64>,
    order: waggle_spec::FeedOrder,
) {
    use waggle_spec::FeedOrder::{Recent, Zipf};
    let (mistake, expected) = match order {
        Zipf { .. } | Recent { .. } if (0.01..=10.0).contains(skew) => return,
        Zipf { .. } | Recent { .. } => (format!("is {skew}"), "a number from 0.01 to 10"),
        _ => (
            "is for order: zipf and order: recent".to_owned(),
            "one of them",
        ),
    };
    checker.report(place.mistake(mistake).with_expected(expected));
}

/// The rows from exactly one of the keys.
fn rows(checker: &mut Checker<'_>, At { place, value: keys }: &At<Feed>) -> Option<FeedRows> {
    let given = [
        ("file", keys.file.place()),
        ("rows", keys.rows.place()),
        ("generate", keys.generate.place()),
        ("captured_by", keys.captured_by.place()),
    ];
    let given = given.into_iter();
    let given: Vec<(&str, &Place)> = given
        .filter_map(|(key, place)| Some((key, place?)))
        .collect();
    if let [_, .., (_, last)] = given[..] {
        let names: Vec<&str> = given.iter().map(|(key, _)| *key).collect();
        let mistake = place.mistake_in(last.key, format!("has both {}", names.join(" and ")));
        checker.report(mistake.with_expected("one of them"));
        return None;
    }
    if let Some(file) = keys.file.content() {
        return from_file(checker, file).map(FeedRows::Table);
    }
    if let Some(rows) = keys.rows.value() {
        return from_rows(checker, rows).map(FeedRows::Table);
    }
    if let Some(generate) = keys.generate.value() {
        return made_rows(checker, generate).map(FeedRows::Made);
    }
    if let Some(load) = keys.captured_by.content() {
        return kept_rows(checker, load).map(FeedRows::Kept);
    }
    let is_invalid = keys.file.is_invalid()
        || keys.rows.is_invalid()
        || keys.generate.is_invalid()
        || keys.captured_by.is_invalid();
    if !is_invalid {
        let mistake = place.mistake("has no rows");
        checker.report(mistake.with_expected("file, rows, generate or captured_by"));
    }
    None
}

/// The rows that an earlier load of the preparation keeps.
fn kept_rows(
    checker: &mut Checker<'_>,
    At { place, value: load }: &At<String>,
) -> Option<KeptRows> {
    // The reason of an invalid part was reported.
    let kept = checker.kept.as_ref()?;
    if let Some(rows) = kept.iter().find(|rows| rows.load == *load).cloned() {
        if rows.count == 0 {
            let mistake = place.mistake(format!("is {load:?}, which has no sessions here"));
            checker.report(mistake.with_expected("a load with at least one"));
            return None;
        }
        return Some(rows);
    }
    let names = || kept.iter().map(|rows| rows.load.as_str());
    let what = format!("is {load:?}, which is no earlier load of prepare with keep");
    let expected = match names().next() {
        Some(_) => list(names()),
        None => "a load of prepare with keep: [VARIABLE, …]".to_owned(),
    };
    let mistake = place.mistake(what).with_expected(expected);
    let mistake = mistake.with_suggestion(nearest_word(load, names()));
    // A mistake in the load is why it keeps nothing.
    if checker.findings.is_empty() {
        checker.report(mistake);
    }
    None
}

/// Reports a feed with fewer rows than users, each of which needs its own row; in closed and open load a connection counts as a
/// user.
fn refuse_too_few_rows(
    checker: &mut Checker<'_>,
    rows: usize,
    model: &LoadModel,
    order: &Key<FeedOrder>,
) {
    // They send no sessions.
    if model.is_clients() {
        return;
    }
    // Over HTTP/2 each stream of a connection has a session.
    let users = u64::from(model.connections()) * u64::from(model.pipelining());
    let word = match (model.kind(), model.pipelining()) {
        (LoadKind::Users, _) => "users",
        (_, 1) => "connections",
        _ => "sessions at once",
    };
    let order = order.place().filter(|_| (rows as u64) < users);
    if let Some(place) = order {
        let what = format!("a feed per user has {rows} rows for {users} {word}");
        let expected = format!("at least as many rows as {word}");
        checker.report(Finding::new(place.value, what).with_expected(expected));
    }
}

fn from_file(
    checker: &mut Checker<'_>,
    At { place, value: file }: &At<String>,
) -> Option<Arc<FeedTable>> {
    match checker.sources?.table(file, place.value) {
        Ok(table) => Some(table),
        Err(findings) => {
            checker.findings.extend(findings);
            None
        }
    }
}

fn from_rows(checker: &mut Checker<'_>, rows: &[At<Row>]) -> Option<Arc<FeedTable>> {
    let first = rows.first()?;
    let mut fine = true;
    let mut report = |finding: Finding| {
        checker.report(finding);
        fine = false;
    };
    if first.value.is_empty() {
        let finding = Finding::new(first.place.value, "this row has no keys");
        report(finding.with_expected("at least one"));
    }
    for (column, level) in &first.value {
        if !is_column(column) {
            let what = format!("{} is no name of a column", quote(column));
            let finding = Finding::new(level.place.key, what);
            report(finding.with_expected("letters, digits, - and _"));
        }
    }
    let mut table = FeedTable {
        columns: first.value.keys().cloned().collect(),
        rows: Vec::new(),
    };
    for At { place, value: row } in rows {
        let columns = table.columns.iter();
        let values: Option<Vec<String>> = columns
            .map(|column| row.get(column).map(|level| level.value.to_string()))
            .collect();
        match values.filter(|_| row.len() == table.columns.len()) {
            Some(values) => table.rows.push(values),
            None => {
                let keys = list(row.keys().map(String::as_str));
                let what = format!("this row has the keys {keys}");
                let first = list(table.columns.iter().map(String::as_str));
                let expected = format!("those of the first row: {first}");
                report(Finding::new(place.value, what).with_expected(expected));
            }
        }
    }
    fine.then(|| Arc::new(table))
}

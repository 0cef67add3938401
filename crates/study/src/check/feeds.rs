//! Feeds: rows from a file or from the study itself.

use std::sync::Arc;

use waggle_spec::{FeedOrder, LoadKind, LoadModel};

use super::{made_rows::made_rows, path::Path};
use crate::{
    Feed, FeedRows, FeedTable, KeptRows,
    check::Checker,
    feed_text::is_column,
    mistake::Finding,
    nearest::{list, nearest_word},
    raw,
    tree::quote,
};

/// Most feeds of a load.
const MAX_FEEDS: usize = 32;
/// First parts of the variables that the load makes itself.
pub(crate) const OWN_FIRST: [&str; 2] = ["random", "record"];

/// A feed, as far as it could be read.
pub(crate) struct NamedFeed {
    /// Empty if it is not known.
    pub(crate) name: String,
    pub(crate) order: Option<FeedOrder>,
    from: Option<String>,
    pub(crate) rows: Option<FeedRows>,
}

impl NamedFeed {
    pub(crate) fn into_feed(self) -> Option<Feed> {
        Some(Feed {
            name: self.name,
            order: self.order?,
            from: self.from,
            rows: self.rows?,
        })
    }
}

pub(crate) fn feeds(
    checker: &mut Checker<'_>,
    raw: Vec<raw::Feed>,
    path: &Path,
    model: Option<&LoadModel>,
) -> Vec<NamedFeed> {
    let path = path.child("feeds");
    if raw.len() > MAX_FEEDS {
        let what = format!("{} has {} feeds", path.to_text(""), raw.len());
        let position = checker.key(&path.steps());
        checker.report(Finding::new(position, what).with_expected(format!("at most {MAX_FEEDS}")));
    }
    let mut feeds: Vec<NamedFeed> = Vec::new();
    for (index, raw) in raw.into_iter().take(MAX_FEEDS).enumerate() {
        let here = path.entry(index);
        let feed = feed(checker, raw, &here, model);
        let twice = feeds.iter().any(|known| known.name == feed.name);
        let name = feed.name.as_str();
        if !name.is_empty() && (twice || OWN_FIRST.contains(&name)) {
            let what = if twice {
                format!("there are two feeds {name:?}")
            } else {
                format!("{name:?} is no name for a feed: {{{{{name}.…}}}} is the load's own")
            };
            let position = checker.position_of(&here.child("name").steps());
            checker.report(Finding::new(position, what).with_expected("a name of its own"));
        }
        feeds.extend((!twice || feed.name.is_empty()).then_some(feed));
    }
    feeds
}

fn feed(
    checker: &mut Checker<'_>,
    raw: raw::Feed,
    path: &Path,
    model: Option<&LoadModel>,
) -> NamedFeed {
    let order = checker.value_or_default(
        raw.order,
        &path.child("order").steps(),
        raw::FeedOrder::Cycle,
    );
    let order = order.map(|order| feed_order(order, raw.skew.unwrap_or(1.0)));
    if let (Some(skew), Some(order)) = (raw.skew, order) {
        check_skew(checker, skew, order, path);
    }
    let from = From {
        file: raw.file.as_deref(),
        rows: raw.rows,
        generate: raw.generate,
        captured_by: raw.captured_by,
    };
    let rows = from.rows(checker, path);
    if let (Some(FeedOrder::PerUser), Some(rows), Some(model)) = (order, &rows, model) {
        refuse_too_few_rows(checker, rows.count(), model, path);
    }
    NamedFeed {
        name: raw.name.map(|raw::Name(name)| name).unwrap_or_default(),
        order,
        from: raw.file,
        rows,
    }
}

fn feed_order(order: raw::FeedOrder, skew: f64) -> FeedOrder {
    match order {
        raw::FeedOrder::Cycle => FeedOrder::Cycle,
        raw::FeedOrder::Random => FeedOrder::Random,
        raw::FeedOrder::Once => FeedOrder::Once,
        raw::FeedOrder::PerUser => FeedOrder::PerUser,
        raw::FeedOrder::Zipf => FeedOrder::Zipf { skew },
        raw::FeedOrder::Recent => FeedOrder::Recent { skew },
    }
}

fn check_skew(checker: &mut Checker<'_>, skew: f64, order: FeedOrder, path: &Path) {
    let here = path.child("skew");
    let (what, expected) = match order {
        FeedOrder::Zipf { .. } | FeedOrder::Recent { .. } if (0.01..=10.0).contains(&skew) => {
            return;
        }
        FeedOrder::Zipf { .. } | FeedOrder::Recent { .. } => (
            format!("{} is {skew}", here.to_text("")),
            "a number from 0.01 to 10",
        ),
        _ => (
            format!("{} is for order: zipf and order: recent", here.to_text("")),
            "one of them",
        ),
    };
    checker.report(Finding::new(checker.position_of(&here.steps()), what).with_expected(expected));
}

/// Where a feed says that its rows come from.
struct From<'a> {
    file: Option<&'a str>,
    rows: Option<raw::FeedRows>,
    generate: Option<raw::Generate>,
    captured_by: Option<String>,
}

impl From<'_> {
    const KEYS: [&'static str; 4] = ["file", "rows", "generate", "captured_by"];

    /// The rows from exactly one of the keys.
    fn rows(self, checker: &mut Checker<'_>, path: &Path) -> Option<FeedRows> {
        let are_given = [
            self.file.is_some(),
            self.rows.is_some(),
            self.generate.is_some(),
            self.captured_by.is_some(),
        ];
        let given = Self::KEYS.into_iter().zip(are_given);
        let given: Vec<&str> = given
            .filter_map(|(key, is_given)| is_given.then_some(key))
            .collect();
        if let [_, .., last] = given[..] {
            let what = format!("{} has both {}", path.to_text(""), given.join(" and "));
            let position = checker.key(&path.child(last).steps());
            checker.report(Finding::new(position, what).with_expected("one of them"));
            return None;
        }
        if let Some(file) = self.file {
            return from_file(checker, file, path).map(FeedRows::Table);
        }
        if let Some(rows) = self.rows {
            return from_rows(checker, &rows, path).map(FeedRows::Table);
        }
        if let Some(generate) = self.generate {
            return made_rows(checker, generate, path).map(FeedRows::Made);
        }
        if let Some(load) = self.captured_by {
            return kept_rows(checker, &load, path).map(FeedRows::Kept);
        }
        let invalid = |key| checker.is_invalid(&path.child(key).steps());
        if !Self::KEYS.into_iter().any(invalid) {
            let what = format!("{} has no rows", path.to_text(""));
            let position = checker.position_of(&path.steps());
            let expected = "file, rows, generate or captured_by";
            checker.report(Finding::new(position, what).with_expected(expected));
        }
        None
    }
}

/// The rows that an earlier load of the preparation keeps.
fn kept_rows(checker: &mut Checker<'_>, load: &str, path: &Path) -> Option<KeptRows> {
    let here = path.child("captured_by");
    let mut kept = checker.kept.iter();
    if let Some(rows) = kept.find(|rows| rows.load == load).cloned() {
        if rows.count == 0 {
            let what = format!(
                "{} is {load:?}, which has no sessions here",
                here.to_text("")
            );
            let position = checker.position_of(&here.steps());
            checker.report(Finding::new(position, what).with_expected("a load with at least one"));
            return None;
        }
        return Some(rows);
    }
    let names = || checker.kept.iter().map(|rows| rows.load.as_str());
    let what = format!(
        "{} is {load:?}, which is no earlier load of prepare with keep",
        here.to_text("")
    );
    let expected = match names().next() {
        Some(_) => list(names()),
        None => "a load of prepare with keep: [VARIABLE, …]".to_owned(),
    };
    let finding = Finding::new(checker.position_of(&here.steps()), what)
        .with_expected(expected)
        .with_suggestion(nearest_word(load, names()));
    // The reason of an invalid part was reported.
    if !checker.is_invalid(&["prepare"]) && checker.findings.is_empty() {
        checker.report(finding);
    }
    None
}

/// Reports a feed with fewer rows than users, each of which needs its own row; in closed and open load a connection counts as a
/// user.
fn refuse_too_few_rows(checker: &mut Checker<'_>, rows: usize, model: &LoadModel, path: &Path) {
    // They send no sessions.
    if model.is_clients() {
        return;
    }
    let users = model.connections();
    let word = match model.kind() {
        LoadKind::Users => "users",
        _ => "connections",
    };
    if rows < users as usize {
        let what = format!("a feed per user has {rows} rows for {users} {word}");
        let position = checker.position_of(&path.child("order").steps());
        let expected = format!("at least as many rows as {word}");
        checker.report(Finding::new(position, what).with_expected(expected));
    }
}

fn from_file(checker: &mut Checker<'_>, file: &str, path: &Path) -> Option<Arc<FeedTable>> {
    let named_at = checker.position_of(&path.child("file").steps());
    match checker.sources?.table(file, named_at) {
        Ok(table) => Some(table),
        Err(findings) => {
            findings
                .into_iter()
                .for_each(|finding| checker.report(finding));
            None
        }
    }
}

fn from_rows(
    checker: &mut Checker<'_>,
    rows: &raw::FeedRows,
    path: &Path,
) -> Option<Arc<FeedTable>> {
    let path = path.child("rows");
    let columns: Vec<String> = rows.first()?.keys().cloned().collect();
    let mut fine = true;
    if columns.is_empty() {
        let what = "this row has no keys";
        let position = checker.position_of(&path.entry(0).steps());
        checker.report(Finding::new(position, what).with_expected("at least one"));
        fine = false;
    }
    for column in columns.iter().filter(|column| !is_column(column)) {
        let what = format!("{} is no name of a column", quote(column));
        let position = checker.key(&path.entry(0).child(column).steps());
        checker.report(Finding::new(position, what).with_expected("letters, digits, - and _"));
        fine = false;
    }
    let mut table = FeedTable {
        columns,
        rows: Vec::new(),
    };
    for (index, row) in rows.iter().enumerate() {
        let columns = table.columns.iter();
        let values: Option<Vec<String>> = columns
            .map(|column| row.get(column).map(ToString::to_string))
            .collect();
        match values.filter(|_| row.len() == table.columns.len()) {
            Some(values) => table.rows.push(values),
            None => {
                fine = false;
                let keys = list(row.keys().map(String::as_str));
                let what = format!("this row has the keys {keys}");
                let first = list(table.columns.iter().map(String::as_str));
                let position = checker.position_of(&path.entry(index).steps());
                let expected = format!("those of the first row: {first}");
                checker.report(Finding::new(position, what).with_expected(expected));
            }
        }
    }
    fine.then(|| Arc::new(table))
}

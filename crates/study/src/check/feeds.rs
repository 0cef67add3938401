//! Feeds: rows from a file or from the study itself.

use std::sync::Arc;

use super::{made_rows::made_rows, path::Path};
use crate::{
    Feed, FeedOrder, FeedRows, FeedTable, LoadModel, check::Checker, feed_text::is_column,
    mistake::Finding, nearest::list, raw, tree::quote,
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
    let order = order.map(|order| match order {
        raw::FeedOrder::Cycle => FeedOrder::Cycle,
        raw::FeedOrder::Random => FeedOrder::Random,
        raw::FeedOrder::Once => FeedOrder::Once,
        raw::FeedOrder::PerUser => FeedOrder::PerUser,
        raw::FeedOrder::Zipf => FeedOrder::Zipf {
            skew: raw.skew.unwrap_or(1.0),
        },
    });
    if let (Some(skew), Some(order)) = (raw.skew, order) {
        check_skew(checker, skew, order, path);
    }
    let rows = feed_rows(checker, (&raw.file, raw.rows, raw.generate), path);
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

fn check_skew(checker: &mut Checker<'_>, skew: f64, order: FeedOrder, path: &Path) {
    let here = path.child("skew");
    let (what, expected) = match order {
        FeedOrder::Zipf { .. } if (0.01..=10.0).contains(&skew) => return,
        FeedOrder::Zipf { .. } => (
            format!("{} is {skew}", here.to_text("")),
            "a number from 0.01 to 10",
        ),
        _ => (
            format!("{} is for order: zipf", here.to_text("")),
            "order: zipf",
        ),
    };
    checker.report(Finding::new(checker.position_of(&here.steps()), what).with_expected(expected));
}

/// The rows from exactly one of file, rows and generate.
fn feed_rows(
    checker: &mut Checker<'_>,
    given: (
        &Option<String>,
        Option<raw::FeedRows>,
        Option<raw::Generate>,
    ),
    path: &Path,
) -> Option<FeedRows> {
    match given {
        (Some(file), None, None) => from_file(checker, file, path).map(FeedRows::Table),
        (None, Some(rows), None) => from_rows(checker, &rows, path).map(FeedRows::Table),
        (None, None, Some(generate)) => made_rows(checker, generate, path).map(FeedRows::Made),
        (None, None, None) => {
            let invalid = |key| checker.is_invalid(&path.child(key).steps());
            if !["file", "rows", "generate"].into_iter().any(invalid) {
                let what = format!("{} has no rows", path.to_text(""));
                let position = checker.position_of(&path.steps());
                checker
                    .report(Finding::new(position, what).with_expected("file, rows or generate"));
            }
            None
        }
        (file, rows, generate) => {
            let given = [
                ("file", file.is_some()),
                ("rows", rows.is_some()),
                ("generate", generate.is_some()),
            ];
            let given: Vec<&str> = given
                .into_iter()
                .filter_map(|(key, is_given)| is_given.then_some(key))
                .collect();
            let what = format!("{} has both {}", path.to_text(""), given.join(" and "));
            let last = given.last().copied().unwrap_or_default();
            let position = checker.key(&path.child(last).steps());
            checker.report(Finding::new(position, what).with_expected("one of them"));
            None
        }
    }
}

/// Reports a feed with fewer rows than users, each of which needs its own row; in closed and open load a connection counts as a
/// user.
fn refuse_too_few_rows(checker: &mut Checker<'_>, rows: usize, model: &LoadModel, path: &Path) {
    let (users, word) = match model {
        LoadModel::Users { users, .. } => (*users, "users"),
        LoadModel::Closed { connections, .. } | LoadModel::Open { connections, .. } => {
            (*connections, "connections")
        }
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
        Err(found) => {
            found
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

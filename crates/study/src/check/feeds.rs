//! Feeds: rows from a file or from the study itself.

use std::sync::Arc;

use super::path::Path;
use crate::{
    Feed, FeedOrder, FeedTable, LoadModel, check::Checker, feed_text::is_column, mistake::Finding,
    nearest::list, raw, tree::quote,
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
    pub(crate) table: Option<Arc<FeedTable>>,
}

impl NamedFeed {
    pub(crate) fn into_feed(self) -> Option<Feed> {
        Some(Feed {
            name: self.name,
            order: self.order?,
            from: self.from,
            table: self.table?,
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
    });
    let table = match (&raw.file, raw.rows) {
        (Some(_), Some(_)) => {
            let what = format!("{} has both file and rows", path.to_text(""));
            let position = checker.key(&path.child("rows").steps());
            checker.report(Finding::new(position, what).with_expected("one of the two"));
            None
        }
        (Some(file), None) => from_file(checker, file, path),
        (None, Some(rows)) => from_rows(checker, &rows, path),
        (None, None) => {
            let invalid = |key| checker.is_invalid(&path.child(key).steps());
            if !invalid("file") && !invalid("rows") {
                let what = format!("{} has no rows", path.to_text(""));
                let position = checker.position_of(&path.steps());
                checker.report(Finding::new(position, what).with_expected("file or rows"));
            }
            None
        }
    };
    if let (Some(FeedOrder::PerUser), Some(table), Some(model)) = (order, &table, model) {
        refuse_too_few_rows(checker, table, model, path);
    }
    NamedFeed {
        name: raw.name.map(|raw::Name(name)| name).unwrap_or_default(),
        order,
        from: raw.file,
        table,
    }
}

/// Reports a feed with fewer rows than users, each of which needs its own row; in closed and open load a connection counts as a
/// user.
fn refuse_too_few_rows(
    checker: &mut Checker<'_>,
    table: &FeedTable,
    model: &LoadModel,
    path: &Path,
) {
    let (users, word) = match model {
        LoadModel::Users { users, .. } => (*users, "users"),
        LoadModel::Closed { connections, .. } | LoadModel::Open { connections, .. } => {
            (*connections, "connections")
        }
    };
    if table.rows.len() < users as usize {
        let what = format!(
            "a feed per user has {} rows for {users} {word}",
            table.rows.len()
        );
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

//! The files that a study or a scenario names: each fetched once, by the caller; their places know which one they are in.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use crate::{
    FeedTable, Source, feed_text,
    mistake::{Finding, Place},
    tree::{Entry, Node, Value, parse},
};

/// Gives the text of a file as it is named in a study, or says why it cannot be had.
pub type Files<'a> = &'a dyn Fn(&str) -> Result<Source, String>;

/// For a text that stands alone.
///
/// # Errors
/// Always: there is no such file.
pub fn no_files(name: &str) -> Result<Source, String> {
    Err(format!("cannot read {name}: no other file is read here"))
}

/// The rows of a feed's file, or what is wrong in it.
type Table = Result<Arc<FeedTable>, Vec<Finding>>;

/// What was fetched so far. Number 0 is the text that names the others.
pub(crate) struct Shelf<'a> {
    files: Files<'a>,
    sources: RefCell<Vec<Source>>,
    tables: RefCell<HashMap<String, Table>>,
}

impl<'a> Shelf<'a> {
    pub(crate) fn new(first: &Source, files: Files<'a>) -> Self {
        Self {
            files,
            sources: RefCell::new(vec![first.clone()]),
            tables: RefCell::default(),
        }
    }

    /// Every text, by the number that its places have.
    pub(crate) fn into_sources(self) -> Vec<Source> {
        self.sources.into_inner()
    }

    /// The text of a file with its number; `named_at` is where its name stands.
    fn fetch(&self, name: &str, named_at: Place) -> Result<(u16, String), Finding> {
        let failed =
            |why: String| Finding::new(named_at, why).with_expected("a file that can be read");
        let source = (self.files)(name).map_err(failed)?;
        let mut sources = self.sources.borrow_mut();
        let number = u16::try_from(sources.len())
            .map_err(|_| failed("too many files are named".to_owned()))?;
        let text = source.text.clone();
        sources.push(source);
        Ok((number, text))
    }

    /// The tree of a YAML file; `None` where what is wrong was put into `found`.
    pub(crate) fn tree(
        &self,
        name: &str,
        named_at: Place,
        found: &mut Vec<Finding>,
    ) -> Option<(Node, Source)> {
        let (number, text) = self
            .fetch(name, named_at)
            .map_err(|finding| found.push(finding))
            .ok()?;
        let mut own = Vec::new();
        let root = parse(&text, &mut own);
        let root = root.map_err(|end| own.push(end)).ok();
        found.extend(own.into_iter().map(|finding| Finding {
            place: Place {
                file: number,
                ..finding.place
            },
            ..finding
        }));
        let mut root = root?;
        put_into(&mut root, number);
        let source = Source {
            name: name.to_owned(),
            text,
        };
        Some((root, source))
    }

    /// The rows of a feed's file.
    pub(crate) fn table(&self, name: &str, named_at: Place) -> Table {
        if let Some(known) = self.tables.borrow().get(name) {
            return known.clone();
        }
        let read = self
            .fetch(name, named_at)
            .map_err(|finding| vec![finding])
            .and_then(|(number, text)| {
                feed_text::read(name, &text).map_err(|found| {
                    let placed = |finding: Finding| Finding {
                        place: Place {
                            file: number,
                            ..finding.place
                        },
                        ..finding
                    };
                    found.into_iter().map(placed).collect()
                })
            })
            .map(Arc::new);
        let mut tables = self.tables.borrow_mut();
        tables.insert(name.to_owned(), read.clone());
        read
    }
}

/// Says of every place below a node that it lies in this file.
fn put_into(node: &mut Node, file: u16) {
    node.place.file = file;
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| put_into(item, file)),
        Value::Map(entries) => {
            for Entry { place, node, .. } in entries {
                place.file = file;
                put_into(node, file);
            }
        }
        Value::Wild | Value::Null | Value::Scalar(_) => {}
    }
}

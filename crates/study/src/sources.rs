//! The files that a study or a scenario names. The caller reads each of them once; a position has the number of its file.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use crate::{
    FeedTable, Problem, Source, feed_text,
    mistake::{Finding, Position},
    tree::{Entry, Node, Value, parse},
};

/// Returns the text of a file by its name in a study, or why it cannot be read.
pub type Files<'a> = &'a dyn Fn(&str) -> Result<Source, Problem>;

/// For a text that may name no other file.
///
/// # Errors
/// Always: there is no such file.
pub fn no_files(name: &str) -> Result<Source, Problem> {
    Err(Problem(format!(
        "cannot read {name}: no other file is read here"
    )))
}

/// The rows of a feed's file, or what is wrong in it.
type Table = Result<Arc<FeedTable>, Vec<Finding>>;

/// The files read so far. Number 0 is the text that names the others.
pub(crate) struct Sources<'a> {
    files: Files<'a>,
    sources: RefCell<Vec<Source>>,
    tables: RefCell<HashMap<String, Table>>,
}

impl<'a> Sources<'a> {
    pub(crate) fn new(first: &Source, files: Files<'a>) -> Self {
        Self {
            files,
            sources: RefCell::new(vec![first.clone()]),
            tables: RefCell::default(),
        }
    }

    /// Every text, by its file number.
    pub(crate) fn into_sources(self) -> Vec<Source> {
        self.sources.into_inner()
    }

    /// The text of a file with its number; `named_at` is the position of its name.
    fn fetch(&self, name: &str, named_at: Position) -> Result<(u16, String), Finding> {
        let source = (self.files)(name).map_err(|Problem(why)| unreadable(why, named_at))?;
        let mut sources = self.sources.borrow_mut();
        let number = u16::try_from(sources.len())
            .map_err(|_| unreadable("too many files are named".to_owned(), named_at))?;
        let text = source.text.clone();
        sources.push(source);
        Ok((number, text))
    }

    /// The tree of a YAML file; `None` if it has a mistake, which is added to `findings`.
    pub(crate) fn tree(
        &self,
        name: &str,
        named_at: Position,
        findings: &mut Vec<Finding>,
    ) -> Option<(Node, Source)> {
        let (number, text) = self
            .fetch(name, named_at)
            .map_err(|finding| findings.push(finding))
            .ok()?;
        let mut file_findings = Vec::new();
        let root = parse(&text, &mut file_findings);
        let root = root.map_err(|end| file_findings.push(end)).ok();
        let file_findings = file_findings.into_iter();
        findings.extend(file_findings.map(|finding| in_file(finding, number)));
        let mut root = root?;
        set_file(&mut root, number);
        let source = Source {
            name: name.to_owned(),
            text,
        };
        Some((root, source))
    }

    /// The rows of a feed's file.
    pub(crate) fn table(&self, name: &str, named_at: Position) -> Table {
        if let Some(known) = self.tables.borrow().get(name) {
            return known.clone();
        }
        let read = self.read_table(name, named_at);
        let mut tables = self.tables.borrow_mut();
        tables.insert(name.to_owned(), read.clone());
        read
    }

    fn read_table(&self, name: &str, named_at: Position) -> Table {
        let fetched = self.fetch(name, named_at);
        let (number, text) = fetched.map_err(|finding| vec![finding])?;
        feed_text::read(name, &text)
            .map(Arc::new)
            .map_err(|findings| {
                let findings = findings.into_iter();
                findings.map(|finding| in_file(finding, number)).collect()
            })
    }
}

fn unreadable(why: String, named_at: Position) -> Finding {
    let names_another = why.ends_with('?');
    let finding = Finding::new(named_at, why);
    match names_another {
        true => finding,
        false => finding.with_expected("a file that can be read"),
    }
}

/// The finding in the file of a number.
fn in_file(finding: Finding, file: u16) -> Finding {
    Finding {
        position: Position {
            file,
            ..finding.position
        },
        ..finding
    }
}

/// Sets the file of every position below a node.
fn set_file(node: &mut Node, file: u16) {
    node.position.file = file;
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| set_file(item, file)),
        Value::Map(entries) => {
            for Entry { position, node, .. } in entries {
                position.file = file;
                set_file(node, file);
            }
        }
        Value::Invalid | Value::Null | Value::Scalar(_) => {}
    }
}

//! What the tests share: the fixtures, changes to them, golden files.

mod accepted;
mod background;
mod best_and_worst;
mod components;
mod crossed;
mod derived;
mod external;
mod faults;
mod limits;
mod manifests;
mod metrics;
mod mistakes;
mod networks;
mod oauth2;
mod operating_points;
mod planned;
mod pods;
mod prepare;
mod probes;
mod questions;
mod records;
mod recovery;
mod reference;
mod requests;
mod scaling;
mod scenarios;
mod schemas;
mod survival;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use waggle_study::{
    EnvironmentError, Feed, FeedRows, FeedTable, Mistakes, Source, System, no_files, read_system,
};

const STUDY: &str = include_str!("../fixtures/study.yaml");
const SYSTEM: &str = include_str!("../fixtures/system.yaml");

fn source(name: &str, text: impl Into<String>) -> Source {
    Source {
        name: name.to_owned(),
        text: text.into(),
    }
}

/// Where the error is, in line and column of a study.
fn place(why: &EnvironmentError) -> Option<(u32, u32)> {
    let place = why.place(&source("study.yaml", ""), &no_files)?;
    assert_eq!(place.file, "study.yaml");
    Some((place.line, place.column))
}

fn system() -> System {
    read_system(&source("system.yaml", SYSTEM)).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// The rows of a feed that are listed.
fn table(feed: &Feed) -> &Arc<FeedTable> {
    match &feed.rows {
        FeedRows::Table(table) => table,
        FeedRows::Made(rows) => panic!("{rows:?}"),
        FeedRows::Kept(rows) => panic!("{rows:?}"),
    }
}

/// The text with every `(old, new)` replaced; each old text must be there exactly once.
fn change_text(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (old, new)| {
        assert_eq!(text.matches(old).count(), 1, "{old:?} is not there once");
        text.replace(old, new)
    })
}

/// Each mistake's first line.
fn headlines(mistakes: &Mistakes) -> Vec<String> {
    mistakes
        .0
        .iter()
        .map(|mistake| {
            mistake
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compares with a golden file; `UPDATE_GOLDEN=1` rewrites it.
fn check_golden(path: &Path, actual: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().expect("a file in a folder"))
            .expect("the folder can be made");
        std::fs::write(path, actual).expect("the file can be written");
    }
    let expected = read(path);
    let differing = expected
        .lines()
        .zip(actual.lines())
        .find(|(expected, actual)| expected != actual);
    assert_eq!(
        differing,
        None,
        "{} (UPDATE_GOLDEN=1 rewrites it)",
        path.display()
    );
    assert_eq!(
        expected.len(),
        actual.len(),
        "{}: one is longer",
        path.display()
    );
}

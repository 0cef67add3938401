//! Links of the documentation: every relative link leads to a file, every anchor to a heading, and every page is in the book. Pure:
//! texts in, breaches out.

use std::collections::{BTreeMap, BTreeSet};

use crate::rules::Breach;

mod markdown;

pub(crate) use self::markdown::prose;

/// The list of the book's pages.
const SUMMARY: &str = "docs/SUMMARY.md";
/// `scripts/docs` adds the records of these folders to the book by itself, behind their indexes.
const RECORDS: [(&str, &str); 2] = [
    ("docs/design/", "docs/design/README.md"),
    ("gateway/docs/design/", "gateway/docs/design/README.md"),
];
/// Every page below them is in the book.
const BOOK_FOLDERS: [&str; 2] = ["docs/", "gateway/docs/"];

/// Pages of the documentation, by path. Files below `crates` belong to tests.
pub(crate) fn is_page(file: &str) -> bool {
    file.ends_with(".md") && !file.starts_with("crates/")
}

/// Links that lead nowhere, pages that are not in the book, and pages of the book that link to a page outside of it. `pages` are
/// texts by path, `files` all files of the project.
pub(crate) fn breaches(pages: &BTreeMap<String, String>, files: &BTreeSet<String>) -> Vec<Breach> {
    let anchors: BTreeMap<&str, BTreeSet<String>> = pages
        .iter()
        .map(|(path, text)| (path.as_str(), markdown::anchors(text)))
        .collect();
    let book = book(pages);
    let mut breaches = missing_pages(pages, &book);
    for (path, text) in pages {
        for (line, target) in markdown::links(text) {
            let is_in_book = book.contains(path);
            let rule = match destination(path, &target) {
                None => continue,
                Some((file, anchor)) => {
                    let places = Places {
                        files,
                        anchors: &anchors,
                        book: is_in_book.then_some(&book),
                    };
                    places.mistake(&file, anchor)
                }
            };
            breaches.extend(rule.map(|rule| Breach {
                file: path.clone(),
                line,
                rule: format!("link to {target:?}: {rule}"),
            }));
        }
    }
    breaches
}

/// Where links may lead.
struct Places<'a> {
    files: &'a BTreeSet<String>,
    anchors: &'a BTreeMap<&'a str, BTreeSet<String>>,
    /// The pages of the book, for a link in one of them.
    book: Option<&'a BTreeSet<String>>,
}

impl Places<'_> {
    fn mistake(&self, file: &str, anchor: Option<&str>) -> Option<String> {
        let folder = format!("{file}/");
        let is_folder = file.is_empty() || self.files.iter().any(|path| path.starts_with(&folder));
        if !is_folder && !self.files.contains(file) {
            return Some(format!("there is no {file}"));
        }
        if let Some(book) = self.book {
            if is_folder {
                return Some(format!(
                    "{folder} is a folder, which the book has no page for"
                ));
            }
            if file.ends_with(".md") && !book.contains(file) {
                return Some(format!("{file} is not in {SUMMARY}, so the book lacks it"));
            }
        }
        let anchor = anchor?;
        let headings = self.anchors.get(file)?;
        (!headings.contains(anchor)).then(|| format!("{file} has no heading for #{anchor}"))
    }
}

/// A page in a list of pages.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) title: String,
    pub(crate) path: String,
    /// What the list says of it.
    pub(crate) about: Option<String>,
}

/// The pages of the book by chapters, in the order of the summary; records of decisions come last.
pub(crate) fn chapters(pages: &BTreeMap<String, String>) -> Vec<(String, Vec<Entry>)> {
    let summary = pages.get(SUMMARY).map_or("", String::as_str);
    let mut chapters = vec![("Overview".to_owned(), Vec::new())];
    for (_, line) in markdown::prose(summary) {
        if let Some(title) = line.strip_prefix("# ").filter(|title| *title != "Summary") {
            chapters.push((title.to_owned(), Vec::new()));
        }
        if let (Some(entry), Some((_, entries))) = (entry(SUMMARY, line), chapters.last_mut()) {
            entries.push(entry);
        }
    }
    let mut records = Vec::new();
    for (folder, index) in RECORDS {
        let text = pages.get(index).map_or("", String::as_str);
        let listed = markdown::prose(text);
        let listed = listed.iter().filter(|(_, line)| line.starts_with("- ["));
        for record in listed.filter_map(|(_, line)| entry(index, line)) {
            // An index may name records of the other one, too.
            let is_known = records
                .iter()
                .any(|known: &Entry| known.path == record.path);
            if record.path.starts_with(folder) && !is_known {
                records.push(record);
            }
        }
    }
    chapters.push(("Optional".to_owned(), records));
    chapters
}

/// The page that a line of a list leads to: `- [TITLE](PATH) ABOUT`.
fn entry(page: &str, line: &str) -> Option<Entry> {
    let (title, rest) = line.trim_start_matches([' ', '-', '[']).split_once("](")?;
    let (target, about) = rest.split_once(')')?;
    let (path, _) = destination(page, target)?;
    let about = about.trim();
    Some(Entry {
        title: title.to_owned(),
        path,
        about: (!about.is_empty()).then(|| about.to_owned()),
    })
}

/// The pages of the book: those of the summary, and the records of decisions that are in their index.
pub(crate) fn book(pages: &BTreeMap<String, String>) -> BTreeSet<String> {
    let records = RECORDS.iter().flat_map(|(folder, index)| {
        destinations(pages, index).filter(move |path| path.starts_with(folder))
    });
    destinations(pages, SUMMARY).chain(records).collect()
}

/// The files that the links of a page lead to.
fn destinations<'a>(
    pages: &BTreeMap<String, String>,
    page: &'a str,
) -> impl Iterator<Item = String> + use<'a> {
    let text = pages.get(page).map(String::as_str).unwrap_or_default();
    markdown::links(text)
        .into_iter()
        .filter_map(move |(_, target)| Some(destination(page, &target)?.0))
}

fn missing_pages(pages: &BTreeMap<String, String>, book: &BTreeSet<String>) -> Vec<Breach> {
    let is_missing = |path: &&String| {
        BOOK_FOLDERS.iter().any(|folder| path.starts_with(folder))
            && *path != SUMMARY
            && !book.contains(*path)
    };
    let missing = pages.keys().filter(is_missing);
    missing
        .map(|path| Breach {
            file: path.clone(),
            line: 0,
            rule: format!("the page is not in {}", list(path)),
        })
        .collect()
}

/// The page that has to list a page.
fn list(path: &str) -> &'static str {
    let mut records = RECORDS.iter();
    let of_records = records.find(|(folder, index)| path.starts_with(folder) && path != *index);
    of_records.map_or(SUMMARY, |(_, index)| index)
}

/// The path from the project's folder, and the anchor; none for links out of the project.
fn destination<'a>(page: &str, target: &'a str) -> Option<(String, Option<&'a str>)> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    if path.is_empty() {
        return Some((page.to_owned(), anchor));
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                // Above the project there is nothing: the link is then reported as one to a missing file.
                match parts.last() {
                    None | Some(&"..") => parts.push(".."),
                    Some(_) => drop(parts.pop()),
                }
            }
            _ => parts.push(part),
        }
    }
    Some((parts.join("/"), anchor))
}

#[cfg(test)]
mod tests;

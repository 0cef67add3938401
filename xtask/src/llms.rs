//! `llms.txt`: the pages of the documentation for programs that read text, each with its one-line summary, by the convention of
//! llmstxt.org. The list is that of the book; a summary is the first sentence of a page, of a record of a decision its line in the index.

use std::{collections::BTreeMap, fmt::Write, fs, path::PathBuf};

use anyhow::{Context, Result, bail};

use crate::{
    links::{self, Entry},
    steps::Root,
    tidy,
};

/// Letters of a summary.
const SUMMARY_MAX: usize = 400;

/// Writes it beside what else is built, and returns its path.
pub(crate) fn write(root: &Root) -> Result<PathBuf> {
    let text = text(&tidy::pages(root)?)?;
    let file = root.target().join("llms.txt");
    fs::create_dir_all(root.target()).context("making the target folder")?;
    fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    Ok(file)
}

/// The text for these pages.
///
/// # Errors
/// A page has no summary.
fn text(pages: &BTreeMap<String, String>) -> Result<String> {
    let readme = pages.get("README.md").context("there is no README.md")?;
    let summary = first_paragraph(readme).context("README.md has no summary")?;
    let mut text = format!("# waggle\n\n> {summary}\n");
    for (title, entries) in links::chapters(pages) {
        let _ = write!(text, "\n## {title}\n\n");
        for entry in entries {
            let _ = writeln!(text, "{}", line(&entry, pages)?);
        }
    }
    Ok(text)
}

fn line(entry: &Entry, pages: &BTreeMap<String, String>) -> Result<String> {
    let Entry { title, path, about } = entry;
    let page = pages.get(path);
    let page = page.with_context(|| format!("the list of pages has {path}, which is not there"))?;
    // An index of records has their numbers alone.
    let heading = page.lines().find_map(|line| line.strip_prefix("# "));
    let title = heading.filter(|_| about.is_some()).unwrap_or(title);
    let summary = match about {
        Some(about) => Some(plain(about)),
        None => first_paragraph(page).map(|paragraph| first_sentence(&paragraph)),
    };
    let summary = summary.filter(|summary| !summary.is_empty());
    let summary =
        summary.with_context(|| format!("{path} has no text from which a summary is made"))?;
    if summary.chars().count() > SUMMARY_MAX {
        bail!("{path}: the first sentence is longer than {SUMMARY_MAX} letters: {summary}");
    }
    Ok(format!("- [{}]({path}): {summary}", plain(title)))
}

/// The first paragraph of prose, in one line and without links.
fn first_paragraph(page: &str) -> Option<String> {
    let mut lines: Vec<&str> = Vec::new();
    for (_, line) in links::prose(page) {
        let line = line.trim();
        let is_prose =
            line.starts_with(|letter: char| letter.is_alphanumeric() || "`*\"[(".contains(letter));
        match (is_prose, lines.is_empty()) {
            (true, _) => lines.push(line),
            (false, true) => {}
            (false, false) => break,
        }
    }
    (!lines.is_empty()).then(|| plain(&lines.join(" ")))
}

/// Up to the first full stop that ends a sentence.
fn first_sentence(paragraph: &str) -> String {
    let mut ends = paragraph.match_indices(". ");
    let is_end = |position: usize| paragraph[position + 2..].starts_with(char::is_uppercase);
    let end = ends.find(|(position, _)| is_end(*position));
    end.map_or(paragraph, |(position, _)| &paragraph[..=position])
        .to_owned()
}

/// Links as their texts.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        match before.rfind('[') {
            Some(start) => {
                plain += &before[..start];
                plain += &before[start + 1..];
            }
            None => plain += before,
        }
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_the_documentation_is_in_it_with_a_summary() {
        let root = Root::find().unwrap();
        let pages = tidy::pages(&root).unwrap();
        let text = text(&pages).unwrap();
        let book = links::book(&pages);
        assert!(book.len() > 150, "{}", book.len());
        for page in &book {
            let count = text.matches(&format!("]({page}): ")).count();
            assert_eq!(count, 1, "{page}");
        }
        assert!(
            text.starts_with("# waggle\n\n> waggle measures REST APIs"),
            "{text}"
        );
    }

    #[test]
    fn summaries_are_first_sentences() {
        let check = |page: &str, expected: Option<&str>| {
            let summary = first_paragraph(page).map(|paragraph| first_sentence(&paragraph));
            assert_eq!(summary.as_deref(), expected, "{page}");
        };
        check(
            "# A\n\nIt [is](b.md) so, e.g. 1.5 s.\nMore. Then.",
            Some("It is so, e.g. 1.5 s."),
        );
        check(
            "# A\n\n```sh\ncode\n```\n\n| a |\n\n`x` is one\nof two\n\nB.",
            Some("`x` is one of two"),
        );
        check("# A\n\n## B\n", None);
    }
}

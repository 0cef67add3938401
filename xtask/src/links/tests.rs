//! Links that are accepted and refused.

use std::collections::{BTreeMap, BTreeSet};

use super::{breaches, markdown};

/// A project with a summary, two pages of the book, one outside of it, and a folder without a page.
fn check(page: &str, expected: &[&str]) {
    let pages: BTreeMap<String, String> = [
        (
            "docs/SUMMARY.md",
            "- [A](a.md)\n- [Design](design/README.md)\n- [Readme](../README.md)",
        ),
        ("docs/a.md", page),
        ("docs/design/README.md", "# Decisions\n- [1](0001-one.md)"),
        ("docs/design/0001-one.md", "# One"),
        ("README.md", "# Read `me` & more\n## Read\n## Read"),
        ("other/notes.md", "[to the book](../docs/a.md)"),
    ]
    .map(|(path, text)| (path.to_owned(), text.to_owned()))
    .into();
    let mut files: BTreeSet<String> = pages.keys().cloned().collect();
    files.insert("studies/one.yaml".to_owned());
    let messages: Vec<String> = breaches(&pages, &files)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(messages, expected, "{page}");
}

#[test]
fn links_lead_to_files_folders_and_headings() {
    check("[a](../README.md#read-me--more) [b](#here)\n# Here", &[]);
    check(
        "[a](../README.md#read-1) [b](design/README.md) [c](design/0001-one.md)",
        &[],
    );
    check("[a](../studies/one.yaml) [b](https://x.test/y.md#z)", &[]);
    check(
        "`x\n[a](gone.md)` b\n\n`[a](gone.md)`\n```\n[a](gone.md)\n```",
        &[],
    );
    check(
        "\n[a](gone.md)",
        &["docs/a.md:2: link to \"gone.md\": there is no docs/gone.md"],
    );
    check(
        "[a](../../above.md)",
        &["docs/a.md:1: link to \"../../above.md\": there is no ../above.md"],
    );
    check(
        "[a](../README.md#read-2)",
        &["docs/a.md:1: link to \"../README.md#read-2\": README.md has no heading for #read-2"],
    );
}

#[test]
fn the_book_is_complete() {
    check(
        "[a](../other/notes.md)",
        &[
            "docs/a.md:1: link to \"../other/notes.md\": other/notes.md is not in docs/SUMMARY.md, so the book lacks it",
        ],
    );
    check(
        "[a](../studies/)",
        &[
            "docs/a.md:1: link to \"../studies/\": studies/ is a folder, which the book has no page for",
        ],
    );
    let pages = ["docs/design/0002-two.md", "docs/lost.md"]
        .map(|path| (path.to_owned(), String::new()))
        .into();
    let messages = breaches(&pages, &BTreeSet::new());
    let messages: Vec<String> = messages.iter().map(ToString::to_string).collect();
    let expected = [
        "docs/design/0002-two.md: the page is not in docs/design/README.md",
        "docs/lost.md: the page is not in docs/SUMMARY.md",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn anchors_are_those_of_the_headings() {
    let anchors =
        markdown::anchors("# `load.request`\n## Questions: `asks`\n## [A b](c.md)\n#no\n");
    let expected = ["loadrequest", "questions-asks", "a-b"].map(str::to_owned);
    assert_eq!(anchors, BTreeSet::from(expected));
}

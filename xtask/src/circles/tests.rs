//! Which files import from which, and which circles are refused.

use std::collections::BTreeMap;

use super::{Circle, Sources, breaches, circles, imports, modules::Tree};

fn sources(files: &[(&str, &str)]) -> Sources {
    let owned = |(file, text): &(&str, &str)| ((*file).to_owned(), (*text).to_owned());
    files.iter().map(owned).collect()
}

/// Imports of a crate as lines `file: files`, of files that have any.
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let tree = Tree::read("lib.rs", &sources(files)).unwrap();
    let lines: Vec<String> = imports::imports(&tree)
        .into_iter()
        .filter(|(_, imported)| !imported.is_empty())
        .map(|(file, imported)| {
            let imported: Vec<String> = imported.into_iter().collect();
            format!("{file}: {}", imported.join(" "))
        })
        .collect();
    assert_eq!(lines, expected, "{files:?}");
}

#[test]
fn a_name_is_imported_from_the_file_that_defines_it() {
    check(
        &[
            ("lib.rs", "mod a; mod b; pub use b::{B, c::C as D};"),
            ("a.rs", "use crate::{B, D}; use std::fmt;"),
            ("b/mod.rs", "pub mod c; pub struct B;"),
            ("b/c.rs", "pub struct C;"),
        ],
        &["a.rs: b/c.rs b/mod.rs"],
    );
    check(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub fn a() {}"),
            ("b/mod.rs", "mod c; use super::a::a; fn b() { c::c(); }"),
            (
                "b/c.rs",
                "pub fn c() { super::super::a::a(); self::d(); } fn d() {}",
            ),
        ],
        &["b/c.rs: a.rs", "b/mod.rs: a.rs b/c.rs"],
    );
}

#[test]
fn a_module_is_imported_where_something_of_it_is_used() {
    let lib = ("lib.rs", "mod a; mod b;");
    check(&[lib, ("a.rs", "use crate::b;"), ("b.rs", "")], &[]);
    for used in [
        "fn a() { b::f(); }",
        "fn a() { vec![b::f()]; }",
        "fn a(x: &[b::T]) {}",
        "#[arg(parser = b::f)] struct A;",
        "impl b::T {}",
        "fn a() { b::made_by_a_macro(); }",
        "mod inner { fn a() { super::b::f(); } }",
    ] {
        let a = format!("use crate::b; {used}");
        let b = "pub struct T; pub fn f() {}";
        check(&[lib, ("a.rs", &a), ("b.rs", b)], &["a.rs: b.rs"]);
    }
}

#[test]
fn names_come_through_globs_and_other_crates_do_not_count() {
    check(
        &[
            ("lib.rs", "mod a; mod b; use b::*; pub use serde;"),
            (
                "a.rs",
                "use super::*; use serde::Serialize; fn a(t: T) { serde::x(); Self::y(); }",
            ),
            ("b.rs", "pub struct T;"),
        ],
        &["a.rs: b.rs"],
    );
}

#[test]
fn globs_that_lead_to_each_other_end() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use a::*; pub use b::*;"),
        ("a.rs", "pub use crate::*; fn f(a: crate::Unknown, b: B) {}"),
        ("b.rs", "pub use crate::a::*; pub struct B;"),
    ];
    // An unresolved name was made by a macro.
    check(&files, &["a.rs: b.rs lib.rs"]);
}

#[test]
fn tests_are_ignored() {
    check(
        &[
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "#[cfg(test)] mod tests; #[cfg(test)] mod inline { use crate::b::B; }",
            ),
            ("a/tests.rs", "use crate::b::B;"),
            (
                "b.rs",
                "pub struct B; #[cfg(all(test, unix))] fn b() { crate::a::x(); }",
            ),
        ],
        &[],
    );
}

/// A crate of this many files, each of which imports from the next, and the last from the first.
fn ring(length: usize) -> Sources {
    let lib: String = (0..length).map(|file| format!("mod m{file};")).collect();
    let mut sources = Sources::from([("lib.rs".to_owned(), lib)]);
    for file in 0..length {
        let next = (file + 1) % length;
        let text = format!("use crate::m{next}::T{next}; pub struct T{file};");
        sources.insert(format!("m{file}.rs"), text);
    }
    sources
}

fn circles_of(sources: &Sources) -> Vec<Circle> {
    let all = imports(&["lib.rs".to_owned()], sources).unwrap();
    all.iter().flat_map(circles).collect()
}

#[test]
fn a_circle_of_more_than_three_files_is_refused() {
    let circles = |length| circles_of(&ring(length));
    for length in 1..=3 {
        assert_eq!(circles(length), [], "{length}");
        assert_eq!(breaches("new", &circles(length)), []);
    }
    let four = circles(4);
    let files: Vec<usize> = four.iter().map(BTreeMap::len).collect();
    assert_eq!(files, [4]);
    let refused = breaches("new", &four);
    assert_eq!(refused.len(), 1);
    let text = refused[0].to_string();
    assert!(
        text.starts_with("new: 4 files import each other in a circle"),
        "{text}"
    );
    assert!(text.contains("\n  m3.rs imports from m0.rs"), "{text}");
}

#[test]
fn two_circles_are_distinguished_and_a_chain_is_none() {
    let mut sources = ring(4);
    let first = "use crate::m1::T1; use crate::n0::N0; pub struct T0;";
    sources.insert("m0.rs".to_owned(), first.to_owned());
    for file in 0..4 {
        let next = (file + 1) % 4;
        let text = format!("use crate::n{next}::N{next}; pub struct N{file};");
        sources.insert(format!("n{file}.rs"), text);
    }
    sources.insert("z.rs".to_owned(), "use crate::m0::T0;".to_owned());
    let lib = sources.get_mut("lib.rs").unwrap();
    lib.push_str("mod n0; mod n1; mod n2; mod n3; mod z;");
    let circles = circles_of(&sources);
    let mut files: Vec<String> = circles
        .iter()
        .map(|circle| {
            circle
                .keys()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    files.sort();
    assert_eq!(
        files,
        ["m0.rs m1.rs m2.rs m3.rs", "n0.rs n1.rs n2.rs n3.rs"]
    );
}

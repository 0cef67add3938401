//! Each rule with accepted and refused texts.

use std::collections::BTreeMap;

use super::{ARROWS, arrows, file};

fn check(name: &str, text: &str, expected: &[&str]) {
    let breaches: Vec<String> = file(name, text).iter().map(ToString::to_string).collect();
    assert_eq!(breaches, expected, "{name}: {text}");
}

/// The text of a source file whose second line this is.
fn check_line(line: &str, expected: &[&str]) {
    let expected: Vec<String> = expected
        .iter()
        .map(|rule| format!("a.rs:2: {rule}"))
        .collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    check("a.rs", &format!("//! A.\n{line}\n"), &expected);
}

#[test]
fn a_source_file_opens_with_its_purpose() {
    check("a.rs", "//! What it is for.\n", &[]);
    let wanted = "a.rs:1: the file does not open with //!, what it is for";
    check("a.rs", "", &[wanted]);
    check("a.rs", "\n//! Late.\n", &[wanted]);
    check("a.rs", "// Not this.\n", &[wanted]);
    check("a.py", "import os\n", &[]);
}

#[test]
fn a_long_file_has_a_reason() {
    let long = |lines: usize, last: &str| format!("//! A.\n{}{last}\n", "\n".repeat(lines - 2));
    check("a.rs", &long(500, ""), &[]);
    let wanted = "a.rs: 501 lines, more than 500 without a line `// long: reason`";
    check("a.rs", &long(501, ""), &[wanted]);
    check("a.rs", &long(501, "// long:  "), &[wanted]);
    check("a.rs", &long(501, "// long: one table"), &[]);
}

#[test]
fn long_closures_are_functions() {
    let of_lines = |lines: &str| format!("//! A.\nfn f() {{\n    g(|x| {{\n{lines}    }});\n}}\n");
    check("a.rs", &of_lines("let y = x;\nlet z = y;\nz\n"), &[]);
    let wanted = "a.rs:3: a closure of 4 lines, more than 3; a function has a name";
    let steps = of_lines("let y = x;\nlet z = y;\nlet a = z;\na\n");
    check("a.rs", &steps, &[wanted]);
    check("a/src/b/tests.rs", &steps, &[]);
    let in_module = steps.replace("fn f()", "mod tests { fn f()") + "}\n";
    check("a.rs", &in_module, &[]);
    check("a.rs", &of_lines("A {\nb,\nc,\nd,\ne,\n}\n"), &[]);
    let wanted = "a.rs:3: a closure of 9 lines, more than 8; a function has a name";
    let long = of_lines("A {\nb,\nc,\nd,\ne,\nf,\ng,\nh,\n}\n");
    check("a.rs", &long, &[wanted]);
}

#[test]
fn locals_are_nouns() {
    check_line(
        "fn f(x: A) { let found = x.find(); }",
        &["a local named \"found\"; a noun says what it is"],
    );
    check_line(
        "fn f(own: A) {}",
        &["a local named \"own\"; a noun says what it is"],
    );
    check_line(
        "fn f(x: A) { x.map(|one| one.total) }",
        &["a local named \"one\"; a noun says what it is"],
    );
    // Fields and methods may: `at` is bound as the field is named.
    check_line("fn f(A { at, .. }: A) { at.of(x.one) }", &[]);
}

#[test]
fn parameters_have_names_and_errors_have_types() {
    let wanted = "takes a tuple; parameters, or fields of a struct, have names";
    check_line("fn f(pair: (&str, u32)) {}", &[wanted]);
    check_line("fn f(pair: &(A, B)) {}", &[wanted]);
    check_line(
        "fn f(range: (f64, f64), bounds: (Duration, Duration)) {}",
        &[],
    );
    check_line("fn f(pairs: &[(A, B)]) {}", &[]);
    let wanted = "f returns a String as error; an error has a type";
    check_line("pub(crate) fn f() -> Result<u32, String> {}", &[wanted]);
    check_line("fn f() -> Result<u32, String> {}", &[]);
    check_line("pub fn f() -> Result<String> {}", &[]);
    check_line("pub fn f() -> Result<String, Problem> {}", &[]);
}

#[test]
fn names_say_something() {
    check_line("fn total() {}", &[]);
    check_line("    pub(crate) async fn target() {}", &[]);
    check_line("let get_it = common(manager);", &[]);
    check_line("fn gets_there() {}", &[]);
    check_line("fn commonly() {}", &[]);
    check_line(
        "pub fn get_total(&self) {}",
        &["function get_total: leave out get_"],
    );
    check_line(
        "    pub(crate) async fn told(&self) {}",
        &["function told: name it by a verb or by what it gives"],
    );
    check_line(
        "const fn parse_helper<T>() {}",
        &["\"helper\" in the name parse_helper says nothing"],
    );
    check_line(
        "pub mod utils;",
        &["\"utils\" in the name utils says nothing"],
    );
    check_line(
        "mod common {",
        &["\"common\" in the name common says nothing"],
    );
    let wanted = "crates/a/src/util/b.rs: \"util\" in a file's name says nothing";
    check("crates/a/src/util/b.rs", "//! B.\n", &[wanted]);
    let wanted = "tests/common.rs: \"common\" in a file's name says nothing";
    check("tests/common.rs", "//! B.\n", &[wanted]);
}

#[test]
fn no_test_is_ignored() {
    check_line("#[test]", &[]);
    check_line("    #[ignore]", &["an ignored test"]);
    check_line("#[ignore = \"slow\"]", &["an ignored test"]);
}

#[test]
fn no_code_in_comments() {
    let refused = "a.rs:3: code in a comment: make it a test, or text (```text)";
    check("a.rs", "//! A.\n\n/// ```\n/// a();\n/// ```\n", &[refused]);
    check("a.rs", "//! A.\n\n//! ```rust\n//! ```\n", &[refused]);
    check("a.rs", "//! A.\n\n/// ```text\n/// a\n/// ```\n", &[]);
}

#[test]
fn no_path_of_one_machine() {
    for folder in ["home", "root", "work", "Users"] {
        let wanted = ["a.md:2: a path of one machine"];
        check("a.md", &format!("see\n/{folder}/me/x"), &wanted);
        check("a.md", &format!("see\ncd \"/{folder}/me\""), &wanted);
        check("a.md", &format!("see\nX=/{folder}/me"), &wanted);
        check("a.md", &format!("see\n../{folder}/x, a/{folder}/x"), &[]);
        check(
            "a.md",
            &format!("see\n$X/{folder}/x ${{X}}/{folder}/x"),
            &[],
        );
        check("a.md", &format!("see\nhttps://example.org/{folder}/x"), &[]);
    }
}

#[test]
fn a_dependency_has_its_why() {
    let good = "[workspace.dependencies]\nours = { path = \"x\" }\n\n# errors\nanyhow = \"1\"\nthiserror = \"2\"\n# JSON\nserde = \"1\"\n\n[profile.dev]\ndebug = 1\n";
    check("Cargo.toml", good, &[]);
    let bad = "# why\n[workspace.dependencies]\nanyhow = \"1\"\n# errors\nthiserror = \"2\"\n\nserde.workspace = true\n";
    check(
        "Cargo.toml",
        bad,
        &[
            "Cargo.toml:3: dependency anyhow has no comment above it that says why",
            "Cargo.toml:7: dependency serde has no comment above it that says why",
        ],
    );
    check("crates/a/Cargo.toml", bad, &[]);
}

/// All listed crates, each with all that it may use.
fn listed_crates() -> BTreeMap<String, Vec<String>> {
    let full = |allowed: &&str| format!("waggle-{allowed}");
    let crates = ARROWS.iter().map(|(name, allowed)| {
        let uses = allowed.iter().map(full).collect();
        ((*name).to_owned(), uses)
    });
    crates.collect()
}

#[test]
fn only_the_allowed_arrows() {
    let check_arrow = |from: &str, to: &str, is_allowed: bool| {
        let mut packages = listed_crates();
        let uses = packages.entry(from.to_owned()).or_default();
        uses.push(to.to_owned());
        assert_eq!(arrows(&packages).is_empty(), is_allowed, "{from} → {to}");
    };
    check_arrow("waggle-cli", "waggle-runner", true);
    check_arrow("waggle-cli", "waggle-gateway", false);
    check_arrow("waggle-runner", "waggle-load", true);
    check_arrow("waggle-runner", "waggle-report", false);
    check_arrow("waggle-report", "waggle-stats", true);
    check_arrow("waggle-report", "waggle-load", false);
    check_arrow("waggle-gateway", "waggle-record", true);
    check_arrow("waggle-gateway", "waggle-load", false);
    check_arrow("waggle-sink", "waggle-influxdb", true);
    check_arrow("waggle-sink", "waggle-gateway", false);
    check_arrow("waggle-influxdb", "waggle-sink", false);
    for pure in ["study", "load", "results", "stats", "record"] {
        check_arrow(&format!("waggle-{pure}"), "waggle-stats", false);
    }
    check_arrow("xtask", "waggle-record", false);
}

#[test]
fn no_arrow_is_allowed_that_no_crate_uses() {
    let mut packages = listed_crates();
    let uses = packages.get_mut("waggle-load").unwrap();
    uses.retain(|used| used != "waggle-template");
    let breaches: Vec<String> = arrows(&packages).iter().map(ToString::to_string).collect();
    assert_eq!(
        breaches,
        ["waggle-load: may use template and does not: xtask/src/rules/mod.rs lists it"]
    );
}

#[test]
fn every_crate_is_listed_and_every_listed_crate_exists() {
    assert_eq!(arrows(&listed_crates()), []);
    let mut packages = listed_crates();
    packages.insert("waggle-new".to_owned(), vec![]);
    packages.remove("waggle-stats");
    let breaches: Vec<String> = arrows(&packages).iter().map(ToString::to_string).collect();
    assert_eq!(
        breaches,
        [
            "waggle-stats: is listed in xtask/src/rules/mod.rs, but there is no such crate",
            "waggle-new: is not listed in xtask/src/rules/mod.rs with the crates that it may use",
        ]
    );
}

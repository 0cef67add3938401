//! Commands that start nothing: plan, schema, mistakes.

use std::{fs, path::Path};

use crate::desk::{Desk, Parts, output_text};

/// The project's own folder, for the studies that ship.
fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

/// Compares with a golden file, or writes it where UPDATE_GOLDEN is set.
fn golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, text).unwrap();
    }
    assert_eq!(
        text,
        fs::read_to_string(&file).unwrap_or_default(),
        "{}",
        file.display()
    );
}

#[test]
fn the_plan_of_the_main_job_is_listed() {
    let desk = Desk::new();
    let mut command = desk.waggle(&["plan", "studies/ingest.yaml"]);
    let output = command.current_dir(project()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    golden(
        "plan-ingest.txt",
        &String::from_utf8(output.stdout).unwrap(),
    );
}

#[test]
fn the_plan_of_a_search_tells_how_far_it_may_go() {
    let desk = Desk::new();
    let check = |flags: &[&str], name: &str| {
        let mut command = desk.waggle(&[&["plan", "studies/ingest-capacity.yaml"], flags].concat());
        let output = command.current_dir(project()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
        golden(name, &String::from_utf8(output.stdout).unwrap());
    };
    check(&[], "plan-search.txt");
    check(
        &["--quick", "--filter", "workers=2"],
        "plan-search-quick.txt",
    );
}

#[test]
fn every_study_that_ships_can_be_planned() {
    let desk = Desk::new();
    let files = fs::read_dir(project().join("studies")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let studies: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    assert!(studies.len() >= 7, "{studies:?}");
    for study in studies {
        let mut command = desk.waggle(&["plan", study.to_str().unwrap()]);
        let output = command.current_dir(project()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    }
}

#[test]
fn mistakes_are_shown_together_and_nothing_starts() {
    let desk = Desk::new();
    desk.study(&Parts {
        fault: "dise",
        load: "model: closed, conections: 3",
        ..Parts::default()
    });
    let output = desk.output(&["run", "study.yaml"]);
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    assert!(!desk.path().join("runs").exists());
    golden("mistakes.txt", &String::from_utf8(output.stderr).unwrap());
}

#[test]
fn the_readme_shows_mistakes_as_they_are_printed() {
    let read = |file: &str| fs::read_to_string(project().join(file)).unwrap();
    let printed = read("crates/cli/tests/it/golden/mistakes.txt");
    let shown = format!("\n```\n{}\n```\n", printed.trim_end());
    assert!(read("README.md").contains(&shown), "README.md lacks{shown}");
}

#[test]
fn filter_and_resume_explain_mistakes() {
    let desk = Desk::new();
    desk.study(&Parts::default());
    let check = |arguments: &[&str], expected: &str| {
        let output = desk.output(arguments);
        assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
        assert!(
            output_text(&output).contains(expected),
            "{}",
            output_text(&output)
        );
    };
    check(&["run", "nowhere.yaml"], "cannot read nowhere.yaml");
    check(
        &["run", "study.yaml", "--filter", "workers=2"],
        "this study has no factor \"workers\"",
    );
    check(
        &["run", "study.yaml", "--resume"],
        "cannot read the runs in runs",
    );
    check(&["report", "nowhere"], "nowhere");
    check(&["rnu"], "unrecognized subcommand");
    check(
        &["run", "study.yaml", "--only", "a=1"],
        "--only is now --filter",
    );
    check(&["schema", "find"], "find is now search");
}

#[test]
fn schemas_are_those_that_are_published() {
    let desk = Desk::new();
    for of in ["study", "system", "load", "search"] {
        let output = desk.output(&["schema", of]);
        let published =
            fs::read_to_string(project().join(format!("docs/schema/{of}.schema.json"))).unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap().trim_end(),
            published.trim_end()
        );
    }
}

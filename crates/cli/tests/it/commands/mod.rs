//! Commands that start nothing: `plan`, `schema`, and invalid arguments; and the tools of `waggle mcp`.

#[cfg(feature = "mcp")]
mod mcp;

use std::{fs, path::Path};

use crate::workspace::{Parts, Workspace, output_text};

/// The folder of the project, which has the shipped studies.
fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

/// Compares with a golden file, or writes it if UPDATE_GOLDEN is set.
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
fn plan_of_a_shipped_study_is_listed() {
    let workspace = Workspace::new();
    let mut command = workspace.waggle(&["plan", "studies/ingest.yaml"]);
    let output = command.current_dir(project()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    golden(
        "plan-ingest.txt",
        &String::from_utf8(output.stdout).unwrap(),
    );
}

#[test]
fn plan_of_a_search_shows_its_limits() {
    let workspace = Workspace::new();
    let check = |flags: &[&str], name: &str| {
        let mut command =
            workspace.waggle(&[&["plan", "studies/ingest-capacity.yaml"], flags].concat());
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
fn every_shipped_study_can_be_planned() {
    let workspace = Workspace::new();
    let studies_in = |folder: &str| -> Vec<_> {
        let files = fs::read_dir(project().join(folder)).unwrap();
        files
            .map(|file| file.unwrap().path())
            .filter(|file| file.extension().is_some_and(|ending| ending == "yaml"))
            .collect()
    };
    let (studies, of_clusters) = (studies_in("studies"), studies_in("studies/cluster"));
    assert!(
        studies.len() >= 7 && of_clusters.len() >= 2,
        "{studies:?}, {of_clusters:?}"
    );
    for study in studies.iter().chain(&of_clusters) {
        let mut command = workspace.waggle(&["plan", study.to_str().unwrap()]);
        let output = command.current_dir(project()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    }
}

#[test]
fn all_mistakes_are_shown_and_nothing_starts() {
    let workspace = Workspace::new();
    workspace.study(&Parts {
        fault: "dise",
        load: "model: closed, conections: 3",
        ..Parts::default()
    });
    let output = workspace.output(&["run", "study.yaml"]);
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    assert!(!workspace.path().join("runs").exists());
    golden("mistakes.txt", &String::from_utf8(output.stderr).unwrap());
}

#[test]
fn pages_show_screens_as_printed() {
    let read = |file: &str| fs::read_to_string(project().join(file)).unwrap();
    let check = |page: &str, screen: &str| {
        let printed = read(&format!("crates/cli/tests/it/golden/{screen}.txt"));
        let shown = format!("\n```\n{}\n```\n", printed.trim_end());
        assert!(read(page).contains(&shown), "{page} lacks{shown}");
    };
    check("docs/reference/studies.md", "mistakes");
    check("docs/reference/load.md", "load-closed");
    check("docs/reference/load.md", "live-overview-80x24");
}

#[test]
fn first_study_of_the_readme_has_ten_lines_and_a_plan() {
    let workspace = Workspace::new();
    let readme = fs::read_to_string(project().join("README.md")).unwrap();
    let (_, study) = readme.split_once("\n```yaml\n").unwrap();
    let (study, _) = study.split_once("```\n").unwrap();
    assert_eq!(study.lines().count(), 10, "{study}");
    fs::write(workspace.path().join("hello.yaml"), study).unwrap();
    let output = workspace.output(&["plan", "hello.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
}

#[test]
fn filter_and_resume_explain_mistakes() {
    let workspace = Workspace::new();
    workspace.study(&Parts::default());
    let check = |arguments: &[&str], expected: &str| {
        let output = workspace.output(arguments);
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
        "this study has no factors",
    );
    check(
        &["run", "study.yaml", "--resume"],
        "nothing to resume: no run of",
    );
    check(&["run", "studi.yaml"], "; did you mean study.yaml?");
    check(&["report", "nowhere"], "there is no such folder");
    check(
        &["run", "study.yaml", "--resume=nowhere"],
        "there is no such folder",
    );
    check(
        &["load", "http://127.0.0.1:1/", "--threshold", "p99 < 5ms"],
        "did you mean \"response_time.p99\"?",
    );
    let run = "runs/x-20260102T030405Z";
    fs::create_dir_all(workspace.path().join(run)).unwrap();
    fs::write(workspace.path().join(run).join("run.json"), "{}").unwrap();
    check(&["report", "runs"], &format!("; it has runs in it: {run}"));
    check(&["rnu"], "a similar subcommand exists: 'run'");
    check(&["frobnicate"], "expected run, plan, load");
    check(&["system", "fetch", "ingets"], "; did you mean ingest?");
}

#[test]
fn records_that_cannot_be_read_have_their_place() {
    let workspace = Workspace::new();
    let study = "study: s\nquestion: Are they there?\nsystem: { url: 'http://127.0.0.1:1' }\n\
                 load:\n  model: closed\n  connections: 1\n  request:\n    name: keep\n    put: /x\n    \
                 records: { file: none.lp }\n\
                 schedule: { warm_up: 1s, measure: 5s, repeat: 1 }\n";
    fs::write(workspace.path().join("study.yaml"), study).unwrap();
    for command in ["plan", "run"] {
        let output = workspace.output(&[command, "study.yaml"]);
        let said = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        let expected = "study.yaml:10:22: cannot read the records in none.lp: ";
        assert!(said.contains(expected), "{said}");
    }
    let check = |old: &str, new: &str, expected: &str| {
        fs::write(workspace.path().join("study.yaml"), study.replace(old, new)).unwrap();
        let said = output_text(&workspace.output(&["plan", "study.yaml"]));
        assert!(said.contains(expected), "{expected}: {said}");
    };
    let records = "records: { file: none.lp }";
    let problem = "study.yaml:10:16: cannot read the body in ";
    check(records, "body_file: ./none.bin", problem);
    let factor = "load:\n  model: closed";
    let with_factor = "factors: { data: [none] }\nload:\n  model: closed";
    let varied = study.replace(records, "records: { file: '${data}.lp' }");
    fs::write(
        workspace.path().join("study.yaml"),
        varied.replace(factor, with_factor),
    )
    .unwrap();
    let said = output_text(&workspace.output(&["plan", "study.yaml"]));
    let problem = "study.yaml:11:22: cannot read the records in none.lp";
    assert!(said.contains(problem), "{said}");
}

#[test]
fn schemas_equal_the_published_ones() {
    let workspace = Workspace::new();
    for name in [
        "study", "system", "load", "search", "compare", "report", "history",
    ] {
        let output = workspace.output(&["schema", name]);
        let published =
            fs::read_to_string(project().join(format!("docs/schema/{name}.schema.json"))).unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap().trim_end(),
            published.trim_end()
        );
    }
}

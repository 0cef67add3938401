//! `waggle compare` and `waggle run --against`: two versions of a system in one run, two runs, and what cannot be compared.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

use crate::workspace::{Parts, Workspace, output_text};

fn short() -> Workspace {
    let workspace = Workspace::new();
    workspace.study(&Parts {
        load: "model: closed, connections: 2",
        measure: "1s",
        repeat: 2,
        ..Parts::default()
    });
    workspace
}

/// The comparison in a file; checks that the exit code matches it.
fn comparison(workspace: &Workspace, output: &Output) -> Value {
    let text = fs::read_to_string(workspace.path().join("compare.json"))
        .unwrap_or_else(|_| panic!("{}", output_text(output)));
    let comparison: Value = serde_json::from_str(&text).unwrap();
    let code = match comparison["outcome"].as_str().unwrap() {
        "same" | "better" => 0,
        "worse" => 3,
        "undecided" => 4,
        other => panic!("{other}"),
    };
    assert_eq!(output.status.code(), Some(code), "{}", output_text(output));
    comparison
}

#[test]
fn two_versions_in_one_run_and_two_runs() {
    let workspace = short();
    let program = Path::new(env!("CARGO_BIN_EXE_waggle"));
    let other = program.parent().unwrap().join("examples/faulty_store");
    fs::copy(other, workspace.path().join("other_store")).unwrap();
    let output = workspace.output(&[
        "run",
        "study.yaml",
        "--against",
        "program.store=other_store",
        "--json",
        "compare.json",
        "--junit",
        "compare.xml",
        "--summary-file",
        "summary.md",
    ]);
    workspace.assert_none_left();
    let model = workspace.model();
    let versions: Vec<&str> = model.factors[0].levels.iter().map(String::as_str).collect();
    assert_eq!(versions, ["baseline", "changed"]);
    // A trial that a busy machine failed is no comparison.
    if model.conclusion(false) != waggle_analysis::Conclusion::Open {
        let result = comparison(&workspace, &output);
        assert_eq!(result["sample"], "paired_trials");
        assert_eq!(result["cells"].as_array().unwrap().len(), 1);
        assert_eq!(result["sides"][1]["name"], "changed");
    }
    for file in ["compare.xml", "summary.md"] {
        let text = fs::read_to_string(workspace.path().join(file)).unwrap();
        assert!(text.contains("Goodput"), "{file}: {text}");
    }

    let run = workspace.run_folder();
    let run = run.to_str().unwrap();
    let flags = ["--junit", "report.xml", "--summary-file", "report.md"];
    let output = workspace.output(&[&["report", run][..], &flags].concat());
    let read = |file: &str| fs::read_to_string(workspace.path().join(file)).unwrap();
    let junit = read("report.xml");
    let is_red = junit.contains("<failure") || junit.contains("<error");
    assert_eq!(is_red, output.status.code() != Some(0), "{junit}");
    let summary = read("report.md");
    workspace.output(&["report", run, "--summary-file", "report.md"]);
    assert_eq!(read("report.md"), summary.repeat(2));

    let same = workspace.output(&["compare", run, "runs"]);
    let text = output_text(&same);
    assert!(text.contains("is on both sides"), "{text}");
    assert_eq!(same.status.code(), Some(2), "{text}");
    let mut copy = Command::new("cp");
    copy.args(["-r", run, "copy"]).current_dir(workspace.path());
    assert!(copy.status().unwrap().success());
    let output = workspace.output(&[
        "compare",
        run,
        "copy",
        "--margin",
        "90%",
        "--json",
        "compare.json",
    ]);
    let result = comparison(&workspace, &output);
    assert_eq!(result["sample"], "trials");
    assert_eq!(result["cells"].as_array().unwrap().len(), 2);
    assert_eq!(result["cells"][0]["metrics"][0]["ratio"]["point"], 1.0);
    let before = fs::read_to_string(workspace.path().join("summary.md")).unwrap();
    workspace.output(&["compare", "copy", "runs", "--summary-file", "summary.md"]);
    let after = fs::read_to_string(workspace.path().join("summary.md")).unwrap();
    assert!(after.starts_with(&before) && after.len() > before.len());
}

#[test]
fn a_run_is_compared_with_an_earlier_one() {
    let workspace = short();
    let missing = workspace.output(&["run", "study.yaml", "--baseline", "nowhere"]);
    assert_eq!(missing.status.code(), Some(2), "{}", output_text(&missing));
    assert!(!workspace.path().join("runs").exists());
    workspace.output(&["run", "study.yaml", "--runs", "first"]);
    let mut arguments = vec![
        "run",
        "study.yaml",
        "--runs",
        "second",
        "--baseline",
        "first",
    ];
    arguments.extend(["--margin", "95%", "--json", "compare.json"]);
    let output = workspace.output(&arguments);
    let text = fs::read_to_string(workspace.path().join("compare.json"));
    let text = text.unwrap_or_else(|_| panic!("{}", output_text(&output)));
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["sample"], "trials");
    assert_eq!(result["sides"][0]["name"], "first");
    assert!(output_text(&output).contains("one after the other"));
}

#[test]
fn mistakes_in_output_files_and_metrics_are_found_first() {
    let workspace = short();
    let check = |arguments: &[&str], expected: &str| {
        let output = workspace.output(arguments);
        let text = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
        assert!(!workspace.path().join("runs").exists());
    };
    check(
        &[
            "run",
            "study.yaml",
            "--against",
            "fault=dies",
            "--json",
            "a/b.json",
        ],
        "there is no folder a",
    );
    check(
        &[
            "run",
            "study.yaml",
            "--against",
            "fault=dies",
            "--metric",
            "response_tme.p99",
        ],
        "did you mean \"response_time.p99\"?",
    );
    check(
        &["history", "empty", "--json", "a/b.json"],
        "there is no folder a",
    );
    check(
        &[
            "compare", "empty", "empty", "--json", "one", "--html", "one",
        ],
        "--html and --json name the same file",
    );
    check(
        &[
            "run",
            "study.yaml",
            "--against",
            "fault=dies",
            "--markdown",
            "-",
        ],
        "--markdown -: the result goes to the standard output; expected a file",
    );
    check(
        &["compare", "empty", "empty", "--json", "-", "--html", "-"],
        "--html and --json name the same file",
    );
    check(
        &["history", "empty", "--html", "."],
        "--html: . is a folder",
    );
}

#[test]
fn what_cannot_be_compared_is_a_mistake() {
    let workspace = short();
    let check = |arguments: &[&str], expected: &str| {
        let output = workspace.output(arguments);
        let text = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    };
    fs::create_dir(workspace.path().join("empty")).unwrap();
    check(&["compare", "nowhere", "empty"], "cannot read nowhere");
    check(
        &["compare", "empty", "empty"],
        "is no run and has no runs in it",
    );
    check(
        &["compare", "empty", "empty", "--margin", "150%"],
        "expected a share below 1",
    );
    let against = |change: &str, expected: &str| {
        check(&["plan", "study.yaml", "--against", change], expected);
    };
    against(
        "store",
        "expected PARAMETER=LEVEL, program.COMPONENT=PATH or system=FOLDER",
    );
    against("colour=red", "has no parameter \"colour\"");
    against("fault=sleeps", "expected none, dies");
    against("fault=die", "did you mean \"dies\"?");
    against("program.shop=/bin/true", "starts no component \"shop\"");
    against("program.store=nowhere", "there is no program nowhere");
    against("system=nowhere", "cannot read nowhere/system.yaml");
    against("program.store=study.yaml", "it is not executable");
    against("fault=none", "both versions would be alike");
    check(
        &["plan", "study.yaml", "--design", "duet"],
        "--against names the second one",
    );
    check(
        &["run", "study.yaml", "--margin", "2%"],
        "--margin belongs to a comparison",
    );
    for folder in ["empty/run", "broken/run"] {
        let folder = workspace.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("run.json"), "{").unwrap();
    }
    check(&["compare", "empty", "broken"], "run.json");
    check(&["compare", "empty", "empty"], "is on both sides");
}

/// Copies the system, with another text in place of one.
fn change_system(workspace: &Workspace, folder: &str, (from, to): (&str, &str)) {
    let text = fs::read_to_string(workspace.path().join("systems/faulty/system.yaml")).unwrap();
    assert!(text.contains(from), "{text}");
    let folder = workspace.path().join(folder);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("system.yaml"), text.replace(from, to)).unwrap();
}

#[test]
fn two_versions_at_the_same_time() {
    let workspace = short();
    change_system(
        &workspace,
        "changed",
        ("A store in memory", "Another store in memory"),
    );
    for design in ["duet", "duet-swapped"] {
        let runs = format!("runs-{design}");
        let arguments = ["run", "study.yaml", "--against", "system=changed"];
        let mut arguments = arguments.to_vec();
        arguments.extend(["--design", design, "--json", "compare.json"]);
        arguments.extend(["--runs", &runs, "--no-live"]);
        let output = workspace.output(&arguments);
        workspace.assert_none_left();
        let text = output_text(&output);
        if design == "duet-swapped" && text.contains("need two CPUs") {
            continue;
        }
        assert!(
            text.contains("version=baseline and version=changed"),
            "{text}"
        );
        assert!(text.contains("Two versions ran at the same time"), "{text}");
        let run = fs::read_dir(workspace.path().join(&runs)).unwrap().next();
        let run = run.unwrap().unwrap().path();
        let info = fs::read_to_string(run.join("run.json")).unwrap();
        let info: Value = serde_json::from_str(&info).unwrap();
        assert_eq!(info["versions"]["design"], design);
        assert_eq!(info["versions"]["changes"][0], "system=changed");
        let changed = info["versions"]["changed_system"].as_str().unwrap();
        assert!(changed.contains("Another store in memory"), "{changed}");
        assert_eq!(info["order"].as_array().unwrap().len(), 4);
        assert_eq!(fs::read_dir(run.join("trials")).unwrap().count(), 4);
    }
}

#[test]
fn a_study_that_does_not_fit_the_other_system_or_a_duet_is_a_mistake() {
    let workspace = short();
    change_system(&workspace, "lacks", ("records: {", "others: {"));
    let check = |arguments: &[&str], expected: &str| {
        let output = workspace.output(arguments);
        let text = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    };
    let plan = ["plan", "study.yaml", "--against"];
    let with = |rest: &[&'static str]| [&plan[..], rest].concat();
    check(&with(&["system=lacks"]), "lacks/system.yaml");
    let study = fs::read_to_string(workspace.path().join("study.yaml")).unwrap();
    let with_schedule = |more: &str| {
        let study = study.replace("schedule:\n", &format!("schedule:\n{more}\n"));
        fs::write(workspace.path().join("study.yaml"), study).unwrap();
    };
    let duet = ["fault=dies", "--design", "duet"];
    with_schedule("  restart: every_cell");
    check(&with(&duet), "schedule.restart: every_cell");
    with_schedule("  sentinel: { every: 5 }");
    check(&with(&duet), "schedule.sentinel");
    with_schedule("  stop_when: [ { error_rate: 50%, for: 1s } ]");
    check(&with(&duet), "schedule.stop_when");
}

//! Cells whose system cannot be had are left out by name and with the reason, and the others go on.

use std::{fs, path::Path, process::Output};

use waggle_results::{LeftOutReason, RunInfo, run_info};

use crate::workspace::{Parts, Workspace, output_text};

const REQUIRES: &str =
    "a fetch of toolless 3.0 requires waggle-no-such-tool, which is not installed";
const UNREACHED: &str =
    "the script fetch/store ended with exit code 1: the registry is not reached";

/// A study of a store of each make.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.system("stores");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/systems/stores");
    let to = workspace.path().join("systems/stores");
    fs::create_dir_all(to.join("fetch")).unwrap();
    for file in ["run-store", "fetch/store"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    write_study(
        &workspace,
        "use: stores",
        "factors:\n  make: [plain, broken, toolless, picky]\n",
    );
    workspace
}

fn write_study(workspace: &Workspace, system: &str, factors: &str) {
    workspace.study(&Parts::default());
    let study = workspace.path().join("study.yaml");
    let text = fs::read_to_string(&study).unwrap();
    let text = text.replace("use: faulty, set: { fault: none }", system);
    fs::write(&study, text + factors).unwrap();
}

fn output(workspace: &Workspace, arguments: &[&str], registry: &str) -> Output {
    let mut command = workspace.waggle(arguments);
    command
        .env("XDG_CACHE_HOME", workspace.path().join("cache"))
        .env("WAGGLE_TEST_REGISTRY", registry);
    command.output().unwrap()
}

/// The output of a command that ends with this code.
#[track_caller]
fn text(workspace: &Workspace, arguments: &[&str], code: i32) -> String {
    let output = output(workspace, arguments, "");
    assert_eq!(output.status.code(), Some(code), "{}", output_text(&output));
    output_text(&output)
}

#[track_caller]
fn check_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

fn fetch(workspace: &Workspace, code: i32) -> String {
    text(workspace, &["system", "fetch", "stores"], code)
}

fn info(workspace: &Workspace) -> RunInfo {
    run_info(&workspace.run_folder()).unwrap()
}

fn failure_file(workspace: &Workspace) -> std::path::PathBuf {
    let servers = workspace.path().join("cache/waggle/servers");
    servers.join("broken-2.0.failed.json")
}

#[test]
fn fetch_goes_on_after_a_failure_and_names_each() {
    let workspace = workspace();
    let said = fetch(&workspace, 2);
    check_contains(
        &said,
        &[
            "plain 1.0: fetched",
            "picky 4.0: fetched",
            "not fetched, 2 of 4:",
            &format!("\n  broken 2.0: {UNREACHED}"),
            "\n  toolless 3.0: cannot be fetched without waggle-no-such-tool",
        ],
    );
    let failure = fs::read_to_string(failure_file(&workspace)).unwrap();
    check_contains(&failure, &["\"why\"", UNREACHED, "\"failed_utc\""]);
    let arguments = ["system", "fetch", "stores", "make=broken"];
    let again = output(&workspace, &arguments, "reached");
    assert_eq!(again.status.code(), Some(0), "{}", output_text(&again));
    assert!(!failure_file(&workspace).exists());
}

#[test]
fn cells_whose_system_cannot_be_had_are_left_out_with_the_reason() {
    let workspace = workspace();
    // What nobody has tried to fetch is not left out.
    let said = text(&workspace, &["run", "study.yaml", "--quick"], 2);
    check_contains(
        &said,
        &["of plain 1.0 is not installed and was not fetched yet"],
    );
    fetch(&workspace, 2);
    let lines = [
        "left out: make=broken: broken 2.0 could not be fetched at ",
        UNREACHED,
        &format!("left out: make=toolless: {REQUIRES}"),
        "`waggle system fetch stores` tries again",
    ];
    let plan = text(&workspace, &["plan", "study.yaml"], 0);
    check_contains(&plan, &lines);
    check_contains(&plan, &["2 cells × 1 repetition = 2 trials"]);

    // A trial fails, because a store does not start.
    let said = text(&workspace, &["run", "study.yaml", "--quick"], 5);
    check_contains(&said, &lines);
    check_contains(&said, &["Cells left out"]);
    let model = workspace.model();
    let numbers = model.cells.iter().map(|cell| cell.cell);
    assert_eq!(numbers.collect::<Vec<_>>(), [1, 4]);
    let info = info(&workspace);
    let reasons = info
        .left_out
        .iter()
        .map(|entry| (entry.cell.cell, &entry.reason));
    let reasons: Vec<_> = reasons.collect();
    assert!(
        matches!(
            reasons[..],
            [
                (2, LeftOutReason::FetchFailed { .. }),
                (3, LeftOutReason::Requires { .. })
            ]
        ),
        "{reasons:?}"
    );
    let artifacts = info.artifacts.iter();
    let artifacts: Vec<_> = artifacts
        .map(|entry| (&*entry.name, &entry.version, &entry.cells[..]))
        .collect();
    let version = |text: &str| Some(text.to_owned());
    assert_eq!(
        artifacts,
        [
            ("plain", &version("1.0"), &[1][..]),
            ("picky", &version("4.0"), &[4])
        ]
    );
    let failure = model.trials.iter().find_map(|trial| trial.failure.as_ref());
    let failure = failure.unwrap();
    for file in ["report.html", "report.md", "report.json"] {
        let page = fs::read_to_string(workspace.run_folder().join(file)).unwrap();
        check_contains(
            &page,
            &["make=broken", UNREACHED, "make=toolless", REQUIRES],
        );
        check_contains(&page, &[&failure.reason, "2 cells were left out of 4"]);
    }
    let page = fs::read_to_string(workspace.run_folder().join("report.md")).unwrap();
    check_contains(&page, &["needs version 9 of the kernel"]);
}

#[test]
fn resumed_run_leaves_out_the_same_cells() {
    let workspace = workspace();
    fetch(&workspace, 2);
    text(&workspace, &["run", "study.yaml", "--quick"], 5);
    let begun = info(&workspace);
    let fetched = output(&workspace, &["system", "fetch", "stores"], "reached");
    assert_eq!(fetched.status.code(), Some(2), "{}", output_text(&fetched));
    let plan = text(&workspace, &["plan", "study.yaml"], 0);
    check_contains(&plan, &["3 cells", "left out: make=toolless"]);
    let said = text(&workspace, &["run", "study.yaml", "--quick", "--resume"], 5);
    check_contains(&said, &["left out: make=broken", "left out: make=toolless"]);
    assert_eq!(info(&workspace).left_out, begun.left_out);
}

#[test]
fn run_without_any_cell_is_an_error() {
    let workspace = workspace();
    let filter = |command| [command, "study.yaml", "--filter", "make=toolless"];
    let plan = text(&workspace, &filter("plan"), 0);
    check_contains(&plan, &[REQUIRES, "no cell can be run here", "1 cell × "]);
    check_contains(
        &text(&workspace, &filter("run"), 2),
        &["no cell can be run", REQUIRES],
    );
    // Nor has a version anything to be compared with if the other one is left out.
    write_study(&workspace, "use: stores, set: { make: plain }", "");
    let against = ["run", "study.yaml", "--against", "make=toolless"];
    check_contains(
        &text(&workspace, &against, 2),
        &[
            "no cell can be run",
            "left out: version=changed: ",
            REQUIRES,
            "left out: version=baseline: the other version, cell 2, is left out",
        ],
    );
    assert!(!workspace.path().join("runs").exists());
}

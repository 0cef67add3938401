//! `waggle history` on run folders that are made by `waggle import`: forty runs with planted changes and a slow host, and what is no
//! history.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::workspace::{Workspace, output_text};

const TRIALS: usize = 3;
const REQUESTS: usize = 150;
/// 2026-01-01, in ms.
const FIRST_RUN_MS: f64 = 1_767_225_600_000.0;
const DAY_MS: f64 = 86_400_000.0;
/// Runs on a host that is half as fast.
const SLOW: [usize; 4] = [6, 11, 22, 35];

/// Numbers between -1 and 1.
struct Noise(u32);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(self.0 >> 8) / f64::from(1_u32 << 23) - 1.0
    }
}

/// A run folder with the requests of a connection; `ms`: the time of one.
fn import_run(workspace: &Workspace, index: usize, ms: f64, noise: &mut Noise) {
    let run = 1.0 + 0.02 * noise.next();
    let day = f64::from(u32::try_from(index).unwrap()) * DAY_MS;
    let mut files = Vec::new();
    for trial in 0..TRIALS {
        let mut text = "begun,took,code\n".to_owned();
        let mut begun = FIRST_RUN_MS + day + f64::from(u32::try_from(trial).unwrap()) * 60_000.0;
        for _ in 0..REQUESTS {
            let took = ms * run * (1.0 + 0.05 * noise.next());
            writeln!(text, "{begun:.3},{took:.3},200").unwrap();
            begun += took;
        }
        let file = format!("run-{index}-{trial}.csv");
        fs::write(workspace.path().join(&file), text).unwrap();
        files.push(file);
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let columns = [
        "--column",
        "start=begun:ms",
        "--column",
        "duration=took:ms",
        "--column",
        "status=code",
        "--name",
        "nightly",
    ];
    let arguments = [&["import", "csv"], files.as_slice(), &columns].concat();
    let output = workspace.output(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
}

/// The run folders, in order of time.
pub(crate) fn run_folders(workspace: &Workspace) -> Vec<PathBuf> {
    let entries = fs::read_dir(workspace.path().join("runs")).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort_by_key(|folder| read_info(folder)["started_utc"].to_string());
    folders
}

fn read_info(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("run.json")).unwrap()).unwrap()
}

pub(crate) fn change_info(folder: &Path, change: impl FnOnce(&mut Value)) {
    let mut info = read_info(folder);
    change(&mut info);
    fs::write(folder.join("run.json"), info.to_string()).unwrap();
}

/// Runs of a study; requests take 10 ms, more from each of some runs on.
pub(crate) fn workspace(runs: usize, changes: &[(usize, f64)]) -> Workspace {
    let workspace = Workspace::new();
    let mut noise = Noise(17);
    for index in 0..runs {
        let past = changes.iter().filter(|(from, _)| *from <= index);
        let ratio: f64 = past.map(|(_, ratio)| ratio).product();
        let host = if SLOW.contains(&index) { 2.0 } else { 1.0 };
        import_run(&workspace, index, 10.0 * ratio * host, &mut noise);
    }
    for (index, folder) in run_folders(&workspace).iter().enumerate() {
        let name = if SLOW.contains(&index) {
            "slow"
        } else {
            "fast"
        };
        change_info(folder, |info| info["host"]["name"] = name.into());
    }
    workspace
}

fn history(workspace: &Workspace, arguments: &[&str], code: i32) -> Value {
    let fixed = ["history", "runs", "--json", "history.json"];
    let output = workspace.output(&[&fixed, arguments].concat());
    assert_eq!(output.status.code(), Some(code), "{}", output_text(&output));
    let text = fs::read_to_string(workspace.path().join("history.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The first runs of new levels, from 0.
fn changes(history: &Value) -> Vec<usize> {
    let runs = history["runs"].as_array().unwrap();
    let place = |name: &Value| runs.iter().position(|run| run["name"] == *name).unwrap();
    let series = history["series"].as_array().unwrap().iter();
    let changes = series.flat_map(|series| series["changes"].as_array().unwrap());
    // Goodput and response time of a closed load change together.
    let places: std::collections::BTreeSet<usize> = changes
        .map(|change| place(&change["first_run_after"]))
        .collect();
    places.into_iter().collect()
}

#[test]
fn forty_runs_with_planted_changes_and_a_slow_host() {
    let workspace = workspace(40, &[(14, 1.10), (28, 1.05)]);
    let before: Vec<String> = run_folders(&workspace)
        .iter()
        .map(|folder| fs::read_to_string(folder.join("run.json")).unwrap())
        .collect();
    let files = [
        "--html",
        "history.html",
        "--markdown",
        "history.md",
        "--junit",
        "history.xml",
    ];
    let report = history(&workspace, &files, 3);
    let places = changes(&report);
    let [first, second] = places[..] else {
        panic!("{places:?}")
    };
    assert!(
        first.abs_diff(14) <= 2 && second.abs_diff(28) <= 2,
        "{places:?}"
    );
    assert_eq!(report["outcome"], "worse");
    assert_eq!(report["series"][0]["metric"], "goodput_per_s");
    for (file, part) in [
        ("history.html", "<svg"),
        ("history.md", "## Changes"),
        ("history.xml", "<failure"),
    ] {
        let text = fs::read_to_string(workspace.path().join(file)).unwrap();
        assert!(text.contains(part), "{file}: {text}");
    }
    // Nothing in any run is changed.
    for (folder, before) in run_folders(&workspace).iter().zip(before) {
        assert_eq!(fs::read_to_string(folder.join("run.json")).unwrap(), before);
    }

    let times = history(&workspace, &["--metric", "response_time.p50"], 3);
    assert_eq!(changes(&times).len(), 2);
    // Of the newest runs all are at the last level.
    let newest = history(&workspace, &["--last", "11"], 0);
    assert_eq!(newest["runs"].as_array().unwrap().len(), 11);
    let since = history(
        &workspace,
        &["--since", "2026-01-31", "--min-change", "20%"],
        0,
    );
    assert_eq!(since["outcome"], "no change");
}

#[test]
fn what_is_no_history_is_a_mistake() {
    let workspace = workspace(5, &[]);
    let check = |arguments: &[&str], expected: &str| {
        let output = workspace.output(&[&["history"], arguments].concat());
        let text = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    };
    fs::create_dir(workspace.path().join("empty")).unwrap();
    check(&["nowhere"], "cannot read nowhere");
    check(&["empty"], "is no run and has no runs in it");
    check(&["runs", "--last", "0"], "--last");
    check(
        &["runs", "--last", "2"],
        "needs 3 runs of a cell, and there are 2",
    );
    check(
        &["runs", "--since", "yesterday"],
        "expected a date or a time",
    );
    check(
        &["runs", "--since", "2027-01-01"],
        "no run of nightly started at or after 2027-01-01",
    );
    check(
        &["runs", "--study", "other"],
        "has no run of other, but of nightly",
    );
    check(&["runs", "--metric", "nonsense.p99"], "nonsense");
    check(&["runs", "--min-change", "2"], "expected a share below 1");

    let folders = run_folders(&workspace);
    change_info(&folders[0], |info| info["study"] = "other".into());
    check(
        &["runs"],
        "of different studies, other, nightly: name one with --study",
    );
    // A damaged run is left out, and so is one whose format is newer.
    let four = history(&workspace, &["--study", "nightly"], 0);
    assert_eq!(four["runs"].as_array().unwrap().len(), 4);
    change_info(&folders[0], |info| info["study"] = "nightly".into());
    fs::write(folders[1].join("run.json"), "{").unwrap();
    let output = workspace.output(&["history", "runs"]);
    let text = output_text(&output);
    assert!(
        text.contains("is left out") && text.contains("run.json"),
        "{text}"
    );
    for folder in &folders {
        fs::write(folder.join("run.json"), "{").unwrap();
    }
    check(&["runs"], "no run can be read");
}

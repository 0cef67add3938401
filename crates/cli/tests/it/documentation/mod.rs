//! The commands of the tutorial, the how-tos and the README: each block of them is run, or the page says why not.
//!
//! All blocks of a page run as one script in a temporary folder, in which `studies` and `systems` are those of the project. Servers
//! are on free ports in place of those that the page names.

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Mutex, PoisonError},
};

use rustix::process::{Pid, Signal, kill_process_group};
use waggle_testkit::free_port;

use crate::workspace::{Workspace, output_text};

mod blocks;
mod script;
mod server;

/// Pages other than those in `docs/how-to`.
const PAGES: [&str; 2] = ["README.md", "docs/tutorial.md"];
/// Why a trial fails on a machine that stands still for seconds, as virtual machines do: no mistake of the page.
const STOOD_STILL: &str = "no request was sent in the measured phase";
/// Timeout of a page that hangs, in seconds.
const PAGE_AT_MOST: u32 = 600;
/// One page at a time: their trials are short, and would take the CPUs from each other.
static PAGES_IN_TURN: Mutex<()> = Mutex::new(());

fn project() -> PathBuf {
    let ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    ancestors.into_iter().nth(2).unwrap().to_owned()
}

/// Runs `waggle` and takes what it measured for a success: on a busy machine a threshold may not hold (3), and a cell may not be
/// reliable (4).
const WAGGLE: &str = "#!/bin/sh\n\"$WAGGLE_UNDER_TEST\" \"$@\"\ncode=$?\ncase $code in 3 | 4) exit 0 ;; esac\nexit $code\n";

#[track_caller]
fn check(page: &str) {
    let _turn = PAGES_IN_TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let text = fs::read_to_string(project().join(page)).unwrap();
    let script = script::script(page, &blocks::blocks(&text))
        .unwrap_or_else(|mistakes| panic!("{}", mistakes.join("\n")));
    let server = server::server();
    let replaced = script.ports().into_iter().map(|(port, is_started)| {
        let other = if is_started {
            free_port()
        } else {
            server.address.port()
        };
        (format!("127.0.0.1:{port}"), format!("127.0.0.1:{other}"))
    });
    let replaced: Vec<(String, String)> = replaced.collect();
    let with_ports = |text: &str| {
        replaced
            .iter()
            .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    let workspace = Workspace::new();
    let folder = workspace.path();
    fs::create_dir(folder.join(script::BLOCKS)).unwrap();
    for (number, content) in &script.files {
        let file = folder.join(script::BLOCKS).join(number.to_string());
        fs::write(file, with_ports(content)).unwrap();
    }
    let file = folder.join(script::BLOCKS).join("script");
    fs::write(&file, with_ports(&script.text)).unwrap();
    prepare(&workspace);
    let output = run(&workspace, &file);
    assert!(
        output.status.success(),
        "{page}: {}\n{}",
        output.status,
        output_text(&output)
    );
    let printed = output_text(&output);
    let has_failed = printed.contains(" 0 succeeded") && !printed.contains(STOOD_STILL);
    assert!(!has_failed, "{page}: no request succeeded\n{printed}");
    check_reports(page, folder, &printed);
    workspace.assert_none_left();
}

/// The folder has what a checkout has, and a `waggle` that is found first.
fn prepare(workspace: &Workspace) {
    let folder = workspace.path();
    // The test's own system is not part of a checkout.
    fs::remove_dir_all(folder.join("systems")).unwrap();
    // Pages add files of their own, which must not come into the project.
    for name in ["studies", "systems"] {
        fs::create_dir(folder.join(name)).unwrap();
        for entry in fs::read_dir(project().join(name)).unwrap() {
            let entry = entry.unwrap();
            symlink(entry.path(), folder.join(name).join(entry.file_name())).unwrap();
        }
    }
    symlink(project().join("studies/data"), folder.join("data")).unwrap();
    let programs = folder.join(script::BLOCKS).join("bin");
    fs::create_dir(&programs).unwrap();
    let program = programs.join("waggle");
    fs::write(&program, WAGGLE).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs the script in a process group of its own, of which nothing is left.
fn run(workspace: &Workspace, script: &Path) -> Output {
    let waggle = workspace.waggle(&[]);
    let program = Path::new(waggle.get_program());
    let folders = [
        workspace.path().join(script::BLOCKS).join("bin"),
        program.parent().unwrap().to_owned(),
    ];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = folders.into_iter().chain(std::env::split_paths(&path));
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", &PAGE_AT_MOST.to_string()])
        .args(["bash", "-eu", "-o", "pipefail"])
        .arg(script)
        .current_dir(workspace.path())
        .envs(
            waggle
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("PATH", std::env::join_paths(path).unwrap())
        .env("WAGGLE_UNDER_TEST", program)
        .env("no_proxy", "127.0.0.1")
        .env("XDG_STATE_HOME", workspace.path().join("state"))
        .env("GITHUB_STEP_SUMMARY", workspace.path().join("summary.md"))
        .process_group(0)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    let group = Pid::from_child(&child);
    let output = child.wait_with_output().unwrap();
    // All of it has ended by itself, unless the page has a mistake.
    let _ = kill_process_group(group, Signal::KILL);
    output
}

/// In the runs of a page no trial failed, and the account of records is in order: its examples show what works.
fn check_reports(page: &str, folder: &Path, printed: &str) {
    for report in reports(folder) {
        let text = fs::read_to_string(&report).unwrap();
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        for trial in report["trials"].as_array().unwrap() {
            let reasons = trial["reasons"].to_string();
            let is_fine = trial["verdict"] != "failed" || reasons.contains(STOOD_STILL);
            assert!(is_fine, "{page}: {trial}\n{printed}");
        }
        for count in ["missing", "unexpected"] {
            let records = report["account"][count].as_u64().unwrap_or(0);
            assert_eq!(records, 0, "{page}: records {count}\n{printed}");
        }
    }
}

/// `report.json` of each run in the folder, or in a folder of it that is not the project's.
fn reports(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        // Links lead into the project.
        if entry.file_type().unwrap().is_dir() {
            paths.extend(reports(&entry.path()));
        } else if entry.file_name() == "report.json" {
            paths.push(entry.path());
        }
    }
    paths
}

/// A test for each page, so that they run in parallel and fail by name.
macro_rules! how_tos {
    ($($name:ident: $file:literal,)*) => {
        const HOW_TOS: &[&str] = &[$($file),*];
        $(#[test]
        fn $name() {
            check(concat!("docs/how-to/", $file));
        })*
    };
}

how_tos! {
    how_to_install: "install.md",
    how_to_test_an_api_in_ci: "ci.md",
    how_to_find_the_capacity: "capacity.md",
    how_to_compare_two_versions: "compare.md",
    how_to_load_a_pipeline: "pipeline.md",
    how_to_write_a_scenario_with_login: "login.md",
    how_to_begin_with_har_or_openapi: "har-openapi.md",
    how_to_study_an_own_system: "own-system.md",
    how_to_measure_on_a_laptop: "laptop.md",
    how_to_plan_repetitions: "repetitions.md",
    how_to_read_the_report: "report.md",
    how_to_load_a_running_server: "running-server.md",
    how_to_follow_a_run: "attach.md",
    how_to_compare_a_pull_request: "pull-requests.md",
    how_to_let_an_assistant_run_studies: "assistants.md",
    how_to_look_at_runs_in_a_browser: "serve.md",
    how_to_run_in_a_cluster: "cluster.md",
    how_to_study_manifests_or_a_chart: "cluster-systems.md",
}

#[test]
fn the_commands_of_the_tutorial_work() {
    check(PAGES[1]);
}

#[test]
fn the_commands_of_the_readme_work() {
    check(PAGES[0]);
}

#[test]
fn every_how_to_is_tested() {
    let files = fs::read_dir(project().join("docs/how-to")).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = files.filter(|file| file != "README.md").collect();
    files.sort();
    let mut listed = HOW_TOS.to_vec();
    listed.sort_unstable();
    assert_eq!(files, listed);
}

//! `waggle system`: fetching artifacts, and running a system without a study.

mod addresses;
#[cfg(feature = "cluster")]
mod agents_in_cluster;
mod cluster_rights;
pub(crate) mod clusters;
mod digests;
mod external_components;
mod external_server;
#[cfg(feature = "cluster")]
mod images;
mod kubernetes;
mod left_out;
mod registry;
mod technologies;
pub(crate) mod webapp;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use waggle_testkit::{Lines, http, wait_until};

use crate::{
    shipped_studies::{assert_none_missing, trials_of},
    workspace::{Parts, Workspace, output_text},
};

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.system("fetched");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/systems/fetched/fetch/tiny");
    let to = workspace.path().join("systems/fetched/fetch");
    fs::create_dir_all(&to).unwrap();
    fs::copy(from, to.join("tiny")).unwrap();
    workspace
}

fn waggle(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = workspace.waggle(arguments);
    command
        .env("XDG_CACHE_HOME", workspace.path().join("cache"))
        .env("XDG_STATE_HOME", workspace.path().join("state"));
    command
}

fn output(workspace: &Workspace, arguments: &[&str]) -> Output {
    waggle(workspace, arguments).output().unwrap()
}

/// All files and folders of fetched artifacts.
fn servers(workspace: &Workspace) -> Vec<String> {
    let folder = workspace.path().join("cache/waggle/servers");
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.ends_with(".lock")).collect();
    names.sort();
    names
}

#[track_caller]
fn fine(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", output_text(output));
    output_text(output)
}

#[track_caller]
fn check_refused(output: &Output, expected: &str) {
    assert_eq!(output.status.code(), Some(2), "{}", output_text(output));
    assert!(
        output_text(output).contains(expected),
        "{}",
        output_text(output)
    );
}

fn interrupt(child: &Child) {
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
}

#[test]
fn missing_artifact_is_named_fetched_once_and_used() {
    let workspace = workspace();
    workspace.study(&Parts::default());
    let study = workspace.path().join("study.yaml");
    let text = fs::read_to_string(&study).unwrap();
    let text = text.replace("use: faulty, set: { fault: none }", "use: fetched");
    fs::write(&study, text).unwrap();
    let run = ["run", "study.yaml", "--quick"];
    check_refused(
        &output(&workspace, &run),
        "the program \"tiny-store\" of tiny 1.0 is not installed and was not fetched yet; `waggle system fetch fetched` does that",
    );
    assert!(!workspace.path().join("runs").exists());
    let text = fine(&output(&workspace, &["system", "fetch", "fetched"]));
    assert!(text.contains("tiny 1.0: fetching (a moment) …"), "{text}");
    assert!(text.contains("servers/tiny-1.0/bin/tiny-store"), "{text}");
    assert_eq!(servers(&workspace), ["tiny-1.0"]);
    let text = fine(&output(
        &workspace,
        &["system", "fetch", "fetched", "replicas=2"],
    ));
    assert!(text.contains("tiny 1.0: fetched before"), "{text}");
    workspace.report_of(&output(&workspace, &run));
    let run = fs::read_to_string(workspace.run_folder().join("run.json")).unwrap();
    assert!(run.contains("\"version\": \"tiny 1.0\""), "{run}");
}

#[test]
fn failed_or_interrupted_fetch_leaves_no_partial_files() {
    let workspace = workspace();
    let fetch = ["system", "fetch", "fetched"];
    let failed = waggle(&workspace, &fetch)
        .env("WAGGLE_TEST_FETCH", "wrong")
        .output();
    let failed = failed.unwrap();
    check_refused(
        &failed,
        "tiny could not be fetched: the script fetch/tiny ended with exit code 3",
    );
    check_refused(&failed, "no such version");
    assert_eq!(
        servers(&workspace),
        ["tiny-1.0.failed.json", "tiny-1.0.log"]
    );
    let mut child = waggle(&workspace, &fetch)
        .env("WAGGLE_TEST_FETCH", "ever")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = workspace
        .path()
        .join("cache/waggle/servers/.tiny-1.0.part/server/bin/begun");
    wait_until("the fetch has begun", || begun.exists());
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(servers(&workspace).is_empty(), "{:?}", servers(&workspace));
    workspace.assert_none_left();
    fine(&output(&workspace, &fetch));
    assert_eq!(servers(&workspace), ["tiny-1.0"]);
    check_refused(
        &output(&workspace, &["system", "fetch", "fetchd"]),
        "there is no system \"fetchd\"; expected",
    );
    check_refused(
        &output(&workspace, &["system", "fetch", "fetched", "replicas=9"]),
        "parameter replicas is \"9\"",
    );
}

/// A running system, with its output.
fn start_system(workspace: &Workspace) -> (Child, Lines) {
    fine(&output(workspace, &["system", "fetch", "fetched"]));
    let mut child = waggle(workspace, &["system", "up", "fetched", "replicas=2"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = Lines::new(child.stdout.take().unwrap());
    lines.wait_for("stops it");
    (child, lines)
}

fn state(workspace: &Workspace) -> std::path::PathBuf {
    workspace.path().join("state/waggle/systems/fetched")
}

#[track_caller]
fn nothing_left(workspace: &Workspace) {
    workspace.assert_none_left();
    assert!(!state(workspace).exists());
    let status = fine(&output(workspace, &["system", "status", "fetched"]));
    assert!(status.contains("fetched is not up"), "{status}");
}

#[test]
fn system_runs_until_it_is_stopped() {
    let workspace = workspace();
    let (mut child, lines) = start_system(&workspace);
    let text = lines.text();
    let endpoint = text
        .lines()
        .find(|line| line.starts_with("  records "))
        .unwrap();
    let addresses: Vec<&str> = endpoint.split_whitespace().skip(1).collect();
    assert_eq!(addresses.len(), 2, "{text}");
    for address in addresses {
        let answer = http::get(address.parse().unwrap(), "/records?offset=0&limit=1").unwrap();
        assert_eq!(answer.status, 200);
    }
    let file = state(&workspace).join("up.json");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let known: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let secret = known["secrets"]["door"].as_str().unwrap();
    assert!(secret.len() == 40 && !text.contains(secret));
    let status = fine(&output(&workspace, &["system", "status", "fetched"]));
    assert!(status.contains(endpoint), "{status}");
    check_refused(
        &output(&workspace, &["system", "up", "fetched"]),
        "fetched is up already",
    );
    let down = fine(&output(&workspace, &["system", "down", "fetched"]));
    assert!(down.contains("fetched is down"), "{down}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    nothing_left(&workspace);
}

#[test]
fn ctrl_c_stops_the_system_and_left_files_of_a_kill_are_removed() {
    let workspace = workspace();
    let (mut child, _lines) = start_system(&workspace);
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    nothing_left(&workspace);
    let (mut child, _lines) = start_system(&workspace);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("what was up is gone", || {
        workspace.processes_left().is_empty()
    });
    let status = fine(&output(&workspace, &["system", "status", "fetched"]));
    assert!(
        status.contains("a process that was killed left files"),
        "{status}"
    );
    fine(&output(&workspace, &["system", "down", "fetched"]));
    nothing_left(&workspace);
}

/// The program of the gateway; tests of the whole workspace build it.
pub(crate) fn gateway() {
    let program = Path::new(env!("CARGO_BIN_EXE_waggle"))
        .parent()
        .unwrap()
        .join("waggle-gateway");
    assert!(
        program.exists(),
        "{} is missing: cargo build -p waggle-gateway",
        program.display()
    );
}

/// The program in the folder of the project, with the artifacts in the user's cache folder.
pub(crate) fn in_project(workspace: &Workspace, arguments: &[&str]) -> Command {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let mut command = waggle(workspace, arguments);
    match std::env::var_os("XDG_CACHE_HOME") {
        Some(folder) => command.env("XDG_CACHE_HOME", folder),
        None => command.env_remove("XDG_CACHE_HOME"),
    };
    command.current_dir(project);
    command
}

/// Starts a shipped system on real servers, checks and stops it; `while_up` gets its output.
pub(crate) fn comes_and_goes(system: &str, levels: &[&str], while_up: impl Fn(&str)) {
    let workspace = Workspace::new();
    let waggle = |arguments: &[&str]| in_project(&workspace, arguments);
    let (text, writer) = std::io::pipe().unwrap();
    let mut up = waggle(&["system", "up", system, "--ready-timeout=600"]);
    // The output is in the message of a failing test.
    up.args(levels)
        .stdout(writer.try_clone().unwrap())
        .stderr(writer);
    let mut child = StopOnDrop(up.spawn().unwrap());
    drop(up);
    let mut lines = Lines::new(text);
    lines.wait_for("stops it");
    let state = workspace.path().join("state/waggle/systems").join(system);
    assert!(state.exists());
    while_up(lines.text());
    let down = waggle(&["system", "down", system]).output().unwrap();
    assert_eq!(down.status.code(), Some(0), "{}", output_text(&down));
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
    workspace.assert_none_left();
    assert!(!state.exists());
}

/// A system that is brought up: a test that fails meanwhile leaves nothing running.
struct StopOnDrop(Child);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            kill_process(Pid::from_child(&self.0), Signal::INT).ok();
            self.0.wait().ok();
        }
    }
}

/// The check of the system includes that a reading is delivered to InfluxDB through Kafka and a writer.
#[test]
fn ingest_with_three_brokers_telegraf_and_influxdb_starts_works_and_stops() {
    gateway();
    let levels = [
        "backend=kafka",
        "brokers=3",
        "replication_factor=3",
        "writer=telegraf",
    ];
    comes_and_goes("ingest", &levels, |text| {
        for part in ["influxdb.http", "records "] {
            assert!(text.contains(part), "{text}");
        }
        let brokers = text.lines().find(|line| line.contains("kafka.broker"));
        let addresses = brokers.unwrap().matches("127.0.0.1:").count();
        assert_eq!(addresses, 3, "{text}");
    });
}

#[test]
fn a_study_on_kafka_finds_every_record_in_influxdb() {
    gateway();
    let levels = ["workers=1", "partitions=4", "flush_interval=50ms"];
    let trials = trials_of("studies/ingest-kafka.yaml", &levels);
    assert_eq!(trials.len(), 2, "{trials:?}");
    trials.iter().for_each(assert_none_missing);
}

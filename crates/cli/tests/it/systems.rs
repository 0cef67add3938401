//! `waggle system`: servers that are fetched, and a system that is up without a study.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use waggle_testkit::{Lines, http, wait_until};

use crate::{
    desk::{Desk, Parts, output_text},
    shipped::{assert_none_missing, trials_of},
};

fn desk() -> Desk {
    let desk = Desk::new();
    desk.system("fetched");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/systems/fetched/fetch/tiny");
    let to = desk.path().join("systems/fetched/fetch");
    fs::create_dir_all(&to).unwrap();
    fs::copy(from, to.join("tiny")).unwrap();
    desk
}

fn waggle(desk: &Desk, arguments: &[&str]) -> Command {
    let mut command = desk.waggle(arguments);
    command
        .env("XDG_CACHE_HOME", desk.path().join("cache"))
        .env("XDG_STATE_HOME", desk.path().join("state"));
    command
}

fn output(desk: &Desk, arguments: &[&str]) -> Output {
    waggle(desk, arguments).output().unwrap()
}

/// What lies in the folder of fetched servers, and in those below it.
fn servers(desk: &Desk) -> Vec<String> {
    let folder = desk.path().join("cache/waggle/servers");
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
fn what_is_missing_is_named_fetched_once_and_then_used() {
    let desk = desk();
    desk.study(&Parts::default());
    let study = desk.path().join("study.yaml");
    let text = fs::read_to_string(&study).unwrap();
    let text = text.replace("use: faulty, set: { fault: none }", "use: fetched");
    fs::write(&study, text).unwrap();
    let run = ["run", "study.yaml", "--quick"];
    check_refused(
        &output(&desk, &run),
        "the program \"tiny-store\" of tiny 1.0 is not installed and was not fetched yet; `waggle system fetch fetched` does that",
    );
    assert!(!desk.path().join("runs").exists());
    let told = fine(&output(&desk, &["system", "fetch", "fetched"]));
    assert!(told.contains("tiny 1.0: fetching (a moment) …"), "{told}");
    assert!(told.contains("servers/tiny-1.0/bin/tiny-store"), "{told}");
    assert_eq!(servers(&desk), ["tiny-1.0"]);
    let told = fine(&output(
        &desk,
        &["system", "fetch", "fetched", "replicas=2"],
    ));
    assert!(told.contains("tiny 1.0: fetched before"), "{told}");
    desk.report_of(&output(&desk, &run));
    let run = fs::read_to_string(desk.run_folder().join("run.json")).unwrap();
    assert!(run.contains("\"version\": \"tiny 1.0\""), "{run}");
}

#[test]
fn a_fetch_that_fails_or_is_interrupted_leaves_nothing_half() {
    let desk = desk();
    let fetch = ["system", "fetch", "fetched"];
    let failed = waggle(&desk, &fetch)
        .env("WAGGLE_TEST_FETCH", "wrong")
        .output();
    let failed = failed.unwrap();
    check_refused(
        &failed,
        "tiny could not be fetched: the script fetch/tiny ended with exit code 3",
    );
    check_refused(&failed, "no such version");
    assert_eq!(servers(&desk), ["tiny-1.0.log"]);
    let mut child = waggle(&desk, &fetch)
        .env("WAGGLE_TEST_FETCH", "ever")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = desk
        .path()
        .join("cache/waggle/servers/.tiny-1.0.part/server/bin/begun");
    wait_until("the fetch has begun", || begun.exists());
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(servers(&desk).is_empty(), "{:?}", servers(&desk));
    desk.assert_none_left();
    fine(&output(&desk, &fetch));
    assert_eq!(servers(&desk), ["tiny-1.0"]);
    check_refused(
        &output(&desk, &["system", "fetch", "fetchd"]),
        "there is no system \"fetchd\"; expected",
    );
    check_refused(
        &output(&desk, &["system", "fetch", "fetched", "replicas=9"]),
        "parameter replicas is \"9\"",
    );
}

/// A system that is up, with what it wrote.
fn start_system(desk: &Desk) -> (Child, Lines) {
    fine(&output(desk, &["system", "fetch", "fetched"]));
    let mut child = waggle(desk, &["system", "up", "fetched", "replicas=2"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = Lines::new(child.stdout.take().unwrap());
    lines.wait_for("stops it");
    (child, lines)
}

fn state(desk: &Desk) -> std::path::PathBuf {
    desk.path().join("state/waggle/systems/fetched")
}

#[track_caller]
fn nothing_left(desk: &Desk) {
    desk.assert_none_left();
    assert!(!state(desk).exists());
    let status = fine(&output(desk, &["system", "status", "fetched"]));
    assert!(status.contains("fetched is not up"), "{status}");
}

#[test]
fn a_system_is_up_until_somebody_brings_it_down() {
    let desk = desk();
    let (mut child, lines) = start_system(&desk);
    let told = lines.text();
    let endpoint = told
        .lines()
        .find(|line| line.starts_with("  records "))
        .unwrap();
    let addresses: Vec<&str> = endpoint.split_whitespace().skip(1).collect();
    assert_eq!(addresses.len(), 2, "{told}");
    for address in addresses {
        let answer = http::get(address.parse().unwrap(), "/records?offset=0&limit=1").unwrap();
        assert_eq!(answer.status, 200);
    }
    let file = state(&desk).join("up.json");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let known: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let secret = known["secrets"]["door"].as_str().unwrap();
    assert!(secret.len() == 40 && !told.contains(secret));
    let status = fine(&output(&desk, &["system", "status", "fetched"]));
    assert!(status.contains(endpoint), "{status}");
    check_refused(
        &output(&desk, &["system", "up", "fetched"]),
        "fetched is up already",
    );
    let down = fine(&output(&desk, &["system", "down", "fetched"]));
    assert!(down.contains("fetched is down"), "{down}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    nothing_left(&desk);
}

#[test]
fn ctrl_c_brings_it_down_and_what_a_kill_leaves_is_cleared_away() {
    let desk = desk();
    let (mut child, _lines) = start_system(&desk);
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    nothing_left(&desk);
    let (mut child, _lines) = start_system(&desk);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("what was up is gone", || desk.processes_left().is_empty());
    let status = fine(&output(&desk, &["system", "status", "fetched"]));
    assert!(
        status.contains("a process that was killed left files"),
        "{status}"
    );
    fine(&output(&desk, &["system", "down", "fetched"]));
    nothing_left(&desk);
}

/// The gateway's program, which the whole workspace's tests build.
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

/// waggle in the project's folder, with the servers that were fetched into the user's own cache folder.
pub(crate) fn in_project(desk: &Desk, arguments: &[&str]) -> Command {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let mut command = waggle(desk, arguments);
    match std::env::var_os("XDG_CACHE_HOME") {
        Some(folder) => command.env("XDG_CACHE_HOME", folder),
        None => command.env_remove("XDG_CACHE_HOME"),
    };
    command.current_dir(project);
    command
}

/// A shipped system on real servers comes up, is checked and goes; what it told stands in `while_up`'s argument.
pub(crate) fn comes_and_goes(system: &str, levels: &[&str], while_up: impl Fn(&str)) {
    let desk = Desk::new();
    let waggle = |arguments: &[&str]| in_project(&desk, arguments);
    let (told, tell) = std::io::pipe().unwrap();
    let mut up = waggle(&["system", "up", system, "--ready-timeout=600"]);
    // What it has to complain of stands in the message of a test that fails.
    up.args(levels)
        .stdout(tell.try_clone().unwrap())
        .stderr(tell);
    let mut child = up.spawn().unwrap();
    drop(up);
    let mut lines = Lines::new(told);
    lines.wait_for("stops it");
    let state = desk.path().join("state/waggle/systems").join(system);
    assert!(state.exists());
    while_up(lines.text());
    let down = waggle(&["system", "down", system]).output().unwrap();
    assert_eq!(down.status.code(), Some(0), "{}", output_text(&down));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    desk.assert_none_left();
    assert!(!state.exists());
}

/// A reading comes through Kafka and a writer to InfluxDB: that is part of the check.
fn ingest_comes_and_goes(writer: &str) {
    gateway();
    comes_and_goes("ingest", &["backend=kafka", writer], |told| {
        for part in ["kafka.broker", "influxdb.http", "records "] {
            assert!(told.contains(part), "{told}");
        }
    });
}

#[test]
fn ingest_with_kafka_telegraf_and_influxdb_comes_up_works_and_leaves_nothing() {
    ingest_comes_and_goes("writer=telegraf");
}

#[test]
fn a_study_on_kafka_finds_every_record_in_influxdb() {
    gateway();
    let levels = ["workers=1", "partitions=4", "flush_interval=50ms"];
    let trials = trials_of("studies/ingest-kafka.yaml", &levels);
    assert_eq!(trials.len(), 2, "{trials:?}");
    trials.iter().for_each(assert_none_missing);
}

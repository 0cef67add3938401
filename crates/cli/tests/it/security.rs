//! What a run trusts, what it gives to the programs that it starts, and what it leaves for others to read.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use waggle_testkit::{Lines, wait_until};

use crate::workspace::{Parts, Workspace, output_text};

/// A key of the caller's shell that no component was given.
const PLANTED: &str = "planted-3f9c2d7e";
/// A variable that the component was given.
const GIVEN: &str = "given-51b0c8aa";

/// Makes the store's program a script, which may have `${…}`.
fn set_script(workspace: &Workspace, script: &str, more: &str) {
    let file = workspace.path().join("systems/faulty/system.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let command =
        "command: [\"${program.faulty_store}\", \"127.0.0.1:${port.http}\", \"${fault}\"]";
    let process = format!(
        "command:\n        - sh\n        - -c\n        - |\n          {}\n          exec ${{program.faulty_store}} 127.0.0.1:${{port.http}} none\n{more}",
        script.replace('\n', "\n          ")
    );
    let with_script = text.replace(command, &process);
    assert_ne!(with_script, text);
    fs::write(file, with_script).unwrap();
}

/// All files and folders below one, itself as well.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_path_buf()];
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => all.extend(walk(&entry.path())),
            false => all.push(entry.path()),
        }
    }
    all
}

fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut files = walk(folder);
    files.retain(|file| {
        let content = fs::read(file).unwrap_or_default();
        String::from_utf8_lossy(&content).contains(text)
    });
    files
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn components_have_a_named_environment_and_runs_are_private() {
    let workspace = Workspace::new();
    // Its own environment, that of its supervisor, and what everybody may see of all processes.
    let script = "env\ntr '\\000' '\\n' < /proc/$$PPID/environ\ncat /proc/[0-9]*/cmdline | tr '\\000' '\\n' | grep -v grep";
    let more = "      environment: { OWN: \"a\" }\n      environment_from: [WAGGLE_TEST_GIVEN, WAGGLE_TEST_UNSET]\n";
    set_script(&workspace, &script.replace("$$", "$"), more);
    workspace.study(&Parts {
        measure: "1s",
        ..Parts::default()
    });
    let output = workspace
        .waggle(&["run", "study.yaml"])
        .env("USER_CLOUD_KEY", PLANTED)
        .env("WAGGLE_TEST_GIVEN", GIVEN)
        .output()
        .unwrap();
    workspace.report_of(&output);
    let said = output_text(&output);
    assert!(!said.contains(PLANTED), "{said}");
    assert!(said.contains("systems/faulty/system.yaml"), "{said}");
    let run = workspace.run_folder();
    assert_eq!(files_with(&run, PLANTED), Vec::<PathBuf>::new());
    let log = run.join("trials/0001-c01-r1/logs/store-0.log");
    let text = fs::read_to_string(&log).unwrap();
    assert!(
        text.contains(&format!("WAGGLE_TEST_GIVEN={GIVEN}")),
        "{text}"
    );
    assert!(text.contains("OWN=a") && text.contains("PATH=") && text.contains("HOME="));
    let names = text.lines().filter_map(|line| line.split_once('='));
    let names: Vec<&str> = names.map(|(name, _)| name).collect();
    assert!(!names.contains(&"XDG_STATE_HOME"), "{names:?}");
    for path in walk(&run) {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}", path.display());
    }
}

/// Numbers of the processes that this one has started.
fn children(process: u32) -> Vec<Pid> {
    let file = format!("/proc/{process}/task");
    let threads = fs::read_dir(file).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers: Vec<i32> = lists
        .flat_map(|list| {
            let numbers = list
                .split_whitespace()
                .map(|number| number.parse().unwrap());
            numbers.collect::<Vec<i32>>()
        })
        .collect();
    numbers.into_iter().filter_map(Pid::from_raw).collect()
}

/// The states of a process's threads.
fn states(process: u32) -> Vec<char> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let state = |thread: std::io::Result<fs::DirEntry>| {
        let stat = fs::read_to_string(thread.ok()?.path().join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    };
    threads.filter_map(state).collect()
}

fn is_supervisor(process: Pid) -> bool {
    let command = fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero()));
    String::from_utf8_lossy(&command.unwrap_or_default()).contains("__supervise")
}

/// Kills waggle together with its supervisors, so that nobody ends the components.
fn kill_with_supervisors(waggle: &mut Child) {
    let pid = Pid::from_child(waggle);
    kill_process(pid, Signal::STOP).unwrap();
    // A thread that still runs would see that a supervisor is gone, and end its component.
    wait_until("waggle is stopped", || {
        states(waggle.id()).iter().all(|state| *state == 'T')
    });
    let mut supervisors = children(waggle.id());
    supervisors.retain(|process| is_supervisor(*process));
    assert!(!supervisors.is_empty());
    for supervisor in supervisors {
        kill_process(supervisor, Signal::KILL).unwrap();
    }
    kill_process(pid, Signal::KILL).unwrap();
    waggle.wait().unwrap();
}

#[test]
fn a_killed_run_leaves_no_secret_and_the_next_one_removes_the_rest() {
    let workspace = Workspace::new();
    let script = "echo key=$TOKEN\n\
        printf 'user:%s' $TOKEN | base64 -w 0; echo\n\
        printf 'half=%.20s' $TOKEN; sleep 0.3; printf '%s' $TOKEN | cut -c 21-\n\
        printf '{\"key\":\"%s\"}\\n' $TOKEN; echo written; (cd /; exec sleep 600) &";
    set_script(
        &workspace,
        script,
        "      environment: { TOKEN: \"${secret.door}\" }\n",
    );
    workspace.study(&Parts {
        measure: "60s",
        ..Parts::default()
    });
    let mut child = workspace
        .waggle(&["run", "study.yaml"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let trial = |name: &str| {
        let mut runs = fs::read_dir(workspace.path().join("runs")).ok()?;
        Some(runs.next()?.ok()?.path().join("trials").join(name))
    };
    let log = || trial(".0001-c01-r1.partial/logs/store-0.log");
    // The last is the address of the store, which would end if it had nobody to say it to.
    let is_whole = |text: String| text.contains("written") && text.contains("127.0.0.1:");
    wait_until("the store has said everything", || {
        log().is_some_and(|log| fs::read_to_string(log).is_ok_and(is_whole))
    });
    let log = log().unwrap();
    assert_eq!(mode(&log), 0o600);
    let text = fs::read_to_string(&log).unwrap();
    let mark = "[secret door]";
    assert_eq!(text.matches(mark).count(), 4, "{text}");
    assert!(text.contains(&format!("half={mark}")), "{text}");
    let run = workspace.run_folder();
    assert!(run.join(".system").exists());
    wait_until("the run can be followed", || {
        run.join("events.sock").exists()
    });
    kill_with_supervisors(&mut child);
    let left = workspace.processes_left();
    assert!(!left.is_empty(), "nobody ends the components");
    workspace.study(&Parts {
        measure: "1s",
        ..Parts::default()
    });
    let output = workspace.output(&["run", "study.yaml"]);
    let said = output_text(&output);
    // A busy machine may make its result doubtful.
    assert!(matches!(output.status.code(), Some(0 | 4)), "{said}");
    // The one that left its folder is known by its environment.
    for what in [
        "a killed run left remains",
        "sleep (pid ",
        "removed .system",
        "removed events.sock",
    ] {
        assert!(said.contains(what), "{what}: {said}");
    }
    workspace.assert_none_left();
    assert!(!run.join(".system").exists() && !run.join("events.sock").exists());
    assert!(!log.exists() && !trial(".0001-c01-r1.partial").unwrap().exists());
}

#[test]
fn what_a_killed_system_left_is_killed_when_it_is_taken_down() {
    let workspace = Workspace::new();
    let mut child = workspace
        .waggle(&["system", "up", "faulty"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Lines::new(child.stdout.take().unwrap()).wait_for("stops it");
    kill_with_supervisors(&mut child);
    assert!(
        !workspace.processes_left().is_empty(),
        "nobody ends the components"
    );
    let said = output_text(&workspace.output(&["system", "down", "faulty"]));
    assert!(
        said.contains("its left files are removed; killed faulty_store (pid "),
        "{said}"
    );
    workspace.assert_none_left();
}

#[test]
fn a_run_is_begun_and_read_in_folders_that_nobody_else_writes() {
    let workspace = Workspace::new();
    workspace.study(&Parts::default());
    let runs = workspace.path().join("runs");
    fs::create_dir(&runs).unwrap();
    fs::set_permissions(&runs, Permissions::from_mode(0o777)).unwrap();
    let output = workspace.output(&["run", "study.yaml"]);
    let said = output_text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("runs is not used: a run starts programs that it has written there"),
        "{said}"
    );
    // Nothing is in it.
    fs::remove_dir(&runs).unwrap();
    // Links, and not only what they lead to, belong to whom the files do.
    let (theirs, link) = (workspace.path().join("theirs"), "theirs/study.yaml");
    fs::create_dir(&theirs).unwrap();
    fs::set_permissions(&theirs, Permissions::from_mode(0o777)).unwrap();
    symlink("../study.yaml", workspace.path().join(link)).unwrap();
    let output = workspace.output(&["run", link]);
    let said = output_text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("theirs/study.yaml is not used") && said.contains("others may write to"),
        "{said}"
    );
}

#[test]
fn what_others_may_write_starts_nothing() {
    let workspace = Workspace::new();
    workspace.system("fetched");
    let fetch = workspace.path().join("systems/fetched/fetch");
    fs::create_dir_all(&fetch).unwrap();
    let started = workspace.path().join("started");
    let script = format!("#!/bin/sh\ntouch {}\nexit 3\n", started.display());
    fs::write(fetch.join("tiny"), script).unwrap();
    for file in ["fetch/tiny", "fetch", "system.yaml"] {
        let path = workspace.path().join("systems/fetched").join(file);
        let before = mode(&path);
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        let output = workspace.output(&["system", "fetch", "fetched"]);
        let said = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("others may write to") && said.contains("--trust"),
            "{said}"
        );
        assert!(!started.exists());
        fs::set_permissions(&path, Permissions::from_mode(before)).unwrap();
    }
    fs::set_permissions(fetch.join("tiny"), Permissions::from_mode(0o777)).unwrap();
    let output = workspace.output(&["system", "fetch", "fetched", "--trust", "systems/fetched"]);
    assert!(started.exists(), "{}", output_text(&output));
}

#[test]
fn a_nearer_system_of_others_is_passed_over() {
    let workspace = Workspace::new();
    workspace.system("fetched");
    let scripts = ["systems/fetched", "inner/systems/fetched"].map(|system| {
        let system = workspace.path().join(system);
        fs::create_dir_all(system.join("fetch")).unwrap();
        let script = system.join("fetch/tiny");
        let started = format!(
            "#!/bin/sh\ntouch {}\nexit 3\n",
            system.join("started").display()
        );
        fs::write(&script, started).unwrap();
        fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
        system
    });
    let [outer, inner] = &scripts;
    fs::copy(outer.join("system.yaml"), inner.join("system.yaml")).unwrap();
    fs::set_permissions(inner, Permissions::from_mode(0o777)).unwrap();
    let fetch = || {
        let mut command = workspace.waggle(&["system", "fetch", "fetched"]);
        command.current_dir(workspace.path().join("inner"));
        command.env("XDG_CACHE_HOME", workspace.path().join("cache"));
        command
    };
    let said = output_text(&fetch().output().unwrap());
    assert!(
        said.contains("passed over") && said.contains("others may write to"),
        "{said}"
    );
    assert!(
        outer.join("started").exists() && !inner.join("started").exists(),
        "{said}"
    );
    // Trusted, the nearest one is used.
    let said = output_text(&fetch().env("WAGGLE_TRUST", "systems").output().unwrap());
    assert!(
        inner.join("started").exists() && !said.contains("passed over"),
        "{said}"
    );
}

#[test]
fn a_study_of_others_is_shown_and_not_run() {
    let workspace = Workspace::new();
    workspace.study(&Parts::default());
    let study = workspace.path().join("study.yaml");
    fs::set_permissions(&study, Permissions::from_mode(0o666)).unwrap();
    let output = workspace.output(&["run", "study.yaml"]);
    let said = output_text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("study.yaml is not used: a study and a system start programs"),
        "{said}"
    );
    assert!(!workspace.path().join("runs").exists());
    let output = workspace.output(&["plan", "study.yaml"]);
    let said = output_text(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let command = "store: '${program.faulty_store}' '127.0.0.1:${port.http}' '${fault}'";
    assert!(
        said.contains("cannot be run here unless --trust names it"),
        "{said}"
    );
    assert!(said.contains(command), "{said}");
    // Of one's own study they are shown on request.
    let trusted = ["plan", "study.yaml", "--trust", "."];
    assert!(!output_text(&workspace.output(&trusted)).contains(command));
    fs::set_permissions(&study, Permissions::from_mode(0o600)).unwrap();
    assert!(
        output_text(&workspace.output(&["plan", "study.yaml", "--commands"])).contains(command)
    );
}

#[test]
fn two_at_a_time_are_noted_in_the_results_of_both() {
    let workspace = Workspace::new();
    workspace.study(&Parts {
        measure: "5s",
        ..Parts::default()
    });
    let mut first = workspace
        .waggle(&["run", "study.yaml", "--runs", "first"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let measuring = workspace.path().join("state/waggle/measuring");
    // Before its trial there may be a calibration, which nobody disturbs.
    let log = "trials/.0001-c01-r1.partial/logs/store-0.log";
    wait_until("the first one is in its trial", || {
        let runs = fs::read_dir(workspace.path().join("first"));
        runs.is_ok_and(|mut runs| runs.any(|run| run.unwrap().path().join(log).exists()))
    });
    let second = workspace.output(&["run", "study.yaml", "--quick", "--runs", "second"]);
    first.wait().unwrap();
    let remarks = |runs: &str| {
        let mut entries = fs::read_dir(workspace.path().join(runs)).unwrap();
        let run = entries.next().unwrap().unwrap().path();
        fs::read_to_string(run.join("trials/0001-c01-r1/trial.json")).unwrap()
    };
    let note = "another waggle measures on this machine: waggle run study.yaml (pid ";
    for runs in ["first", "second"] {
        let remarks = remarks(runs);
        assert!(
            remarks.contains(note),
            "{runs}: {remarks}\n{}",
            output_text(&second)
        );
    }
    assert_eq!(fs::read_dir(&measuring).unwrap().count(), 0);
    workspace.assert_none_left();
}

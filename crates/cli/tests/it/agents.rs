//! Agents that make a study's load: real processes of waggle, which join by the file that the run writes.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
};

use waggle_testkit::{
    http::{Reply, Server, ok},
    wait_for, wait_until,
};

use crate::workspace::{Workspace, output_text};

/// A study of two agents.
fn study(url: &str, more: &str) -> String {
    format!(
        "study: far\nquestion: Do agents make one load?\nsystem:\n  url: {url}\nagents:\n  count: 2\n\
         load:\n  model: open\n  rate: 400/s\n  connections: 8\n  request: {{ name: ask, get: /things }}\n\
         schedule: {{ warm_up: 500ms, measure: 2s, interval: 100ms, repeat: 1 }}\n{more}"
    )
}

/// A process of which the output is kept, and which is killed with the test.
struct Process(Option<Child>);

impl Process {
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(Some(command.spawn().unwrap()))
    }

    fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }

    fn kill(mut self) {
        let mut child = self.0.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// The file by which agents join, once it is there.
fn join_file(workspace: &Workspace) -> PathBuf {
    let runs = workspace.path().join("runs");
    wait_for("the file by which agents join", || {
        let folders = fs::read_dir(&runs).ok()?;
        let files = folders.flatten().map(|run| run.path().join("agents.join"));
        files.into_iter().find(|file| file.exists())
    })
}

fn start_agent(workspace: &Workspace, join: &Path) -> Process {
    let mut command = workspace.waggle(&["agent", "--join"]);
    Process::start(command.arg(join))
}

fn start_run(workspace: &Workspace) -> Process {
    Process::start(&mut workspace.waggle(&["run", "study.yaml"]))
}

#[test]
fn agents_that_are_started_by_hand_make_the_load_and_end_with_the_run() {
    let paths = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&paths);
    let server = Server::start(move |request| {
        theirs.lock().unwrap().push(request.path.clone());
        Reply::Answer(ok("fine"))
    });
    let workspace = Workspace::new();
    let url = format!("http://{}", server.address);
    fs::write(workspace.path().join("study.yaml"), study(&url, "")).unwrap();
    let run = start_run(&workspace);
    let join = join_file(&workspace);
    let agents = [(); 2].map(|()| start_agent(&workspace, &join));
    for agent in agents {
        let ended = agent.output();
        assert_eq!(ended.status.code(), Some(0), "{}", output_text(&ended));
        let said = output_text(&ended);
        assert!(
            said.contains(" of 2 of far, with the runner at 127.0.0.1:"),
            "{said}"
        );
        assert!(said.contains("the run is over"), "{said}");
    }
    let ran = run.output();
    let said = output_text(&ran);
    assert!(
        said.contains("waiting for 2 agents, at most 5m: copy "),
        "{said}"
    );
    assert!(said.contains("agent 2 of 2 joined: "), "{said}");
    assert!(!join.exists(), "{}", join.display());

    let model = workspace.report_of(&ran);
    assert_eq!(model.info.agents.len(), 2);
    // All of it is one machine, and the results say so.
    assert!(model.info.host.shared_with_system);
    let trial = &model.trials[0];
    assert_eq!(trial.failure, None, "{said}");
    let info = &trial.info;
    assert_eq!(info.agents.len(), 2);
    for agent in &info.agents {
        assert!(agent.offset_ms.abs() <= agent.offset_bound_ms, "{agent:?}");
        assert!(agent.clock_error_ms >= agent.offset_bound_ms, "{agent:?}");
        assert!(agent.first_sent_ms.is_some(), "{agent:?}");
    }
    let parts = &info.generator.as_ref().unwrap().generators;
    assert_eq!(parts.len(), 2);
    assert_eq!(
        parts.iter().map(|part| part.sent).sum::<u64>(),
        info.measured.sent
    );
    // The load, and one request of each agent before it.
    assert_eq!(paths.lock().unwrap().len() as u64, info.totals.sent + 2);
    let report = fs::read_to_string(join.with_file_name("report.html")).unwrap();
    assert!(report.contains("Clocks of agents"));
    assert!(report.contains("all on one kernel"));
}

/// Runs a program of binutils on a copy of waggle, and returns the copy.
fn copy_by(tool: &str, arguments: &[&str], copy: PathBuf) -> PathBuf {
    let mut command = Command::new(tool);
    command
        .args(arguments)
        .arg(env!("CARGO_BIN_EXE_waggle"))
        .arg(&copy);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", output_text(&done));
    copy
}

#[test]
fn an_agent_of_the_same_build_may_be_stripped_and_another_build_is_refused_at_both_ends() {
    let server = Server::start(|_| Reply::Answer(ok("fine")));
    let workspace = Workspace::new();
    let folder = workspace.path();
    // As another build has it: the same length, other bytes.
    let note = [
        &[4_u8, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0][..],
        b"GNU\0",
        &[9; 20],
    ]
    .concat();
    fs::write(folder.join("note"), note).unwrap();
    let update = format!(".note.gnu.build-id={}", folder.join("note").display());
    let other = copy_by(
        "objcopy",
        &["--strip-debug", "--update-section", &update],
        folder.join("other"),
    );
    let remove = ["--strip-debug", "--remove-section", ".note.gnu.build-id"];
    let nameless = copy_by("objcopy", &remove, folder.join("nameless"));
    let stripped = copy_by("objcopy", &["--strip-all"], folder.join("stripped"));

    let url = format!("http://{}", server.address);
    fs::write(folder.join("study.yaml"), study(&url, "")).unwrap();
    let run = start_run(&workspace);
    let join = join_file(&workspace);
    let start = |program: &Path| {
        let mut command = Command::new(program);
        Process::start(command.args(["agent", "--join"]).arg(&join))
    };
    let refusal = "its program is another build of waggle ";
    let check = |program: &Path, words: &str| {
        let ended = start(program).output();
        let said = output_text(&ended);
        assert_eq!(ended.status.code(), Some(2), "{said}");
        assert!(said.contains(refusal) && said.contains(words), "{said}");
    };
    let (id, file) = (
        "(build id 0909090909090909; the",
        "(a program without a build id, file ",
    );
    check(&other, id);
    check(&nameless, file);
    let agents = [start(&stripped), start_agent(&workspace, &join)];
    for agent in agents {
        let ended = agent.output();
        assert_eq!(ended.status.code(), Some(0), "{}", output_text(&ended));
    }
    let ran = run.output();
    let said = output_text(&ran);
    for words in [id, file] {
        let is_refusal = |line: &str| line.contains(refusal) && line.contains(words);
        assert!(said.lines().any(is_refusal), "{said}");
    }
    let model = workspace.report_of(&ran);
    assert_eq!(model.trials[0].failure, None, "{said}");
    assert!(model.info.agents.iter().all(|agent| agent.is_same_program));
}

#[test]
fn a_killed_agent_fails_the_trial_by_its_name() {
    let server = Server::start(|_| Reply::Answer(ok("fine")));
    let workspace = Workspace::new();
    let url = format!("http://{}", server.address);
    let text = study(&url, "").replace("measure: 2s", "measure: 5m");
    fs::write(workspace.path().join("study.yaml"), text).unwrap();
    let run = start_run(&workspace);
    let join = join_file(&workspace);
    let first = start_agent(&workspace, &join);
    let second = start_agent(&workspace, &join);
    // One request of each agent is before the load.
    wait_until("the load", || server.received_count() > 10);
    second.kill();
    let ran = run.output();
    let model = workspace.report_of(&ran);
    let reason = &model.trials[0].failure.as_ref().unwrap().reason;
    let words = " ended (its connection was closed) before its results were complete";
    assert!(reason.contains("the load failed: agent "), "{reason}");
    assert!(reason.contains(words), "{reason}");
    assert_eq!(ran.status.code(), Some(5), "{}", output_text(&ran));
    let first = first.output();
    assert_eq!(first.status.code(), Some(0), "{}", output_text(&first));
}

#[test]
fn a_run_that_agents_do_not_join_says_how_many_did() {
    let server = Server::start(|_| Reply::Answer(ok("fine")));
    let workspace = Workspace::new();
    let url = format!("http://{}", server.address);
    let text = study(&url, "").replace("count: 2", "count: 2\n  wait: 2s");
    fs::write(workspace.path().join("study.yaml"), text).unwrap();
    let ran = start_run(&workspace).output();
    let said = output_text(&ran);
    assert!(
        said.contains("0 of 2 agents had joined after 2 s"),
        "{said}"
    );
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert_eq!(server.received_count(), 0);

    // Nobody is there any more, and a wrong file is no file.
    let old = workspace.path().join("agents.join");
    fs::write(&old, "{}").unwrap();
    let refused = start_agent(&workspace, &old).output();
    assert_eq!(refused.status.code(), Some(2));
    let said = output_text(&refused);
    assert!(
        said.contains("is no file by which agents join a run"),
        "{said}"
    );
}

/// A program in place of ssh that runs the command on this machine: what ssh itself does is not tested here.
const SSH: &str = "#!/bin/sh\nfor last do :; done\nprintf '%s\\n' \"$*\" >> \"$(dirname \"$0\")/calls\"\nexec sh -c \"$last\"\n";

#[test]
fn agents_are_started_by_ssh_with_nothing_secret_in_its_arguments() {
    let server = Server::start(|_| Reply::Answer(ok("fine")));
    let workspace = Workspace::new();
    let url = format!("http://{}", server.address);
    let programs = workspace.path().join("programs");
    fs::create_dir(&programs).unwrap();
    let ssh = programs.join("ssh");
    fs::write(&ssh, SSH).unwrap();
    Command::new("chmod").arg("755").arg(&ssh).status().unwrap();
    let waggle = workspace.waggle(&[]).get_program().to_owned();
    let program = format!(
        "ssh: [load-1, bench@load-2]\n  program: {}",
        waggle.display()
    );
    let text = study(&url, "").replace("count: 2", &program);
    fs::write(workspace.path().join("study.yaml"), text).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = workspace.waggle(&["run", "study.yaml"]);
    let ran = Process::start(command.env("PATH", path)).output();
    let model = workspace.report_of(&ran);
    assert_eq!(model.trials[0].failure, None, "{}", output_text(&ran));
    assert_eq!(model.trials[0].info.agents.len(), 2);
    let mut calls = String::new();
    let mut file = fs::File::open(programs.join("calls")).unwrap();
    file.read_to_string(&mut calls).unwrap();
    for words in [
        "BatchMode=yes",
        "-R 127.0.0.1:",
        "-- load-1 ",
        "-- bench@load-2 ",
    ] {
        assert!(calls.contains(words), "{calls}");
    }
    assert!(
        !calls.contains("token") && !calls.contains("BEGIN"),
        "{calls}"
    );

    fs::write(&ssh, "#!/bin/sh\necho no route to host >&2\nexit 255\n").unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = workspace.waggle(&["run", "study.yaml"]);
    let ran = Process::start(command.env("PATH", path)).output();
    let said = output_text(&ran);
    // Both fail; which of the two is the first to be seen is not known.
    let reason = |host| format!("ssh to {host} ended with exit code 255: no route to host");
    assert!(
        said.contains(&reason("load-1")) || said.contains(&reason("bench@load-2")),
        "{said}"
    );
    assert_eq!(ran.status.code(), Some(2), "{said}");
}

//! `waggle run --attach`: other processes follow a run, end as it does, stop it, and do not disturb it.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    process::{Child, Output, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use waggle_load::NullServer;
use waggle_testkit::wait_until;

use crate::workspace::{Workspace, output_text};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A study of a server of this test.
struct Followed {
    workspace: Workspace,
    _server: NullServer,
}

impl Followed {
    fn new(measure: &str, repeat: u32) -> Self {
        let workspace = Workspace::new();
        let server = NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap();
        let url = server.address();
        let study = format!(
            "study: small\nquestion: Is it followed?\nsystem: {{ url: 'http://{url}' }}\n\
             load:\n  model: closed\n  connections: 2\n  request: {{ name: get, get: / }}\n\
             thresholds: ['get.failed > 0']\n\
             schedule:\n  warm_up: 1s\n  measure: {measure}\n  repeat: {repeat}\n"
        );
        fs::write(workspace.path().join("small.yaml"), study).unwrap();
        Self {
            workspace,
            _server: server,
        }
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.workspace.waggle(arguments);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Starts a run, and waits until it can be followed.
    fn start_run(&self) -> Child {
        let run = self.start(&["run", "small.yaml", "--quiet"]);
        wait_until("the run is offered", || {
            self.workspace.stream_socket().is_some()
        });
        run
    }

    fn attach(&self) -> Child {
        self.start(&["run", "--attach"])
    }

    /// Attaches by the name of the folder, when there is no stream any more.
    fn attach_to_folder(&self) -> Output {
        let folder = self.workspace.run_folder();
        self.workspace
            .output(&["run", &format!("--attach={}", folder.display())])
    }
}

/// Reads lines of progress until one has this text; returns the reader, which is to be read to its end.
fn read_until(child: &mut Child, text: &str) -> impl BufRead + use<> {
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut seen = String::new();
    while !seen.lines().any(|line| line.contains(text)) {
        let read = lines.read_line(&mut seen).unwrap();
        assert!(read > 0, "it ended before {text:?}: {seen}");
    }
    lines
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[track_caller]
fn ends_as(run: &Output, follower: &Output) {
    let said = output_text(follower);
    let (ours, theirs) = (&run.stdout, &follower.stdout);
    let text = String::from_utf8_lossy;
    assert_eq!(text(ours), text(theirs), "{said}");
    assert_eq!(run.status.code(), follower.status.code(), "{said}");
}

#[test]
fn followers_end_as_the_run_does() {
    let followed = Followed::new("1s", 2);
    let run = followed.start_run();
    let stuck = UnixStream::connect(followed.workspace.stream_socket().unwrap()).unwrap();
    let mut first = followed.attach();
    let rest = read_until(&mut first, "1/2  cell  1 repetition 1");
    let late = followed.attach();
    let drain = std::thread::spawn(move || rest.lines().map_while(Result::ok).count());
    let run = run.wait_with_output().unwrap();
    assert!(
        !matches!(run.status.code(), Some(0) | None),
        "{}",
        output_text(&run)
    );
    let (first, late) = (
        first.wait_with_output().unwrap(),
        late.wait_with_output().unwrap(),
    );
    drain.join().unwrap();
    drop(stuck);
    ends_as(&run, &first);
    ends_as(&run, &late);
    let said = output_text(&late);
    for line in [
        "   1/2  cell  1 repetition 1",
        "   2/2  cell  1 repetition 2",
    ] {
        assert_eq!(said.matches(line).count(), 1, "{said}");
    }
    assert_eq!(followed.workspace.stream_socket(), None);
    let again = followed.attach_to_folder();
    ends_as(&run, &again);
    let said = output_text(&again);
    assert!(said.contains("the run has ended before"), "{said}");
    let none = followed.attach().wait_with_output().unwrap();
    let said = output_text(&none);
    assert_eq!(none.status.code(), Some(2), "{said}");
    assert!(
        said.contains("no run goes on in runs; it has runs in it: "),
        "{said}"
    );
}

#[test]
fn ctrl_c_stops_the_run_and_sigterm_leaves_it() {
    let followed = Followed::new("10m", 1);
    let run = followed.start_run();
    let mut leaving = followed.attach();
    let rest = read_until(&mut leaving, "measure 10 min");
    send(&leaving, Signal::TERM);
    let said: Vec<String> = rest.lines().map_while(Result::ok).collect();
    assert_eq!(leaving.wait().unwrap().code(), Some(130), "{said:?}");
    let last = said.last().unwrap();
    assert!(
        last.starts_with("the run goes on; it is shown again by: waggle run --attach="),
        "{last}"
    );

    let mut follower = followed.attach();
    drop(read_until(&mut follower, "measure 10 min"));
    send(&follower, Signal::INT);
    let (run, follower) = (
        run.wait_with_output().unwrap(),
        follower.wait_with_output().unwrap(),
    );
    assert_eq!(run.status.code(), Some(130), "{}", output_text(&run));
    ends_as(&run, &follower);
    let said = output_text(&follower);
    assert!(
        said.contains("interrupted before the first trial ended; resume with: "),
        "{said}"
    );
    followed.workspace.assert_none_left();
}

#[test]
fn a_killed_run_is_named_and_can_be_followed_when_it_is_resumed() {
    let followed = Followed::new("10m", 1);
    let mut run = followed.start_run();
    let mut follower = followed.attach();
    drop(read_until(&mut follower, "measure 10 min"));
    send(&run, Signal::KILL);
    run.wait().unwrap();
    let follower = follower.wait_with_output().unwrap();
    for output in [follower, followed.attach_to_folder()] {
        let said = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
    }
    let said = output_text(&followed.attach_to_folder());
    assert!(
        said.contains("nobody runs it, and it has no end: it was killed"),
        "{said}"
    );

    // The socket of the killed run is there; that of the resumed one replaces it.
    let run = followed.start(&["run", "small.yaml", "--quiet", "--resume"]);
    let socket = followed.workspace.stream_socket().unwrap();
    wait_until("the resumed run is offered", || {
        UnixStream::connect(&socket).is_ok()
    });
    let mut follower = followed.attach();
    drop(read_until(&mut follower, "measure 10 min"));
    send(&run, Signal::INT);
    ends_as(
        &run.wait_with_output().unwrap(),
        &follower.wait_with_output().unwrap(),
    );
}

#[test]
fn a_raw_stream_has_the_end_and_takes_orders() {
    let followed = Followed::new("10m", 1);
    let run = followed.start_run();
    let mut raw = followed.start(&["run", "--attach", "--raw"]);
    let mut lines = BufReader::new(raw.stdout.take().unwrap()).lines();
    let mut lines = lines.by_ref().map_while(Result::ok);
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("{\"hello\":{\"format\":1,")
    );
    assert!(lines.any(|line| line.contains("{\"interval\":{\"phase\":\"measure\"")));
    raw.stdin
        .as_mut()
        .unwrap()
        .write_all(b"\"stop\"\n")
        .unwrap();
    let last = lines.last().unwrap();
    assert!(last.starts_with("{\"ended\":{\"exit_code\":130,"), "{last}");
    assert_eq!(raw.wait().unwrap().code(), Some(0));
    let run = run.wait_with_output().unwrap();
    assert_eq!(run.status.code(), Some(130), "{}", output_text(&run));
    let folder = format!("--attach={}", followed.workspace.run_folder().display());
    let again = followed.workspace.output(&["run", &folder, "--raw"]);
    let said = output_text(&again);
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].starts_with("{\"hello\":") && lines[1] == last,
        "{said}"
    );
}

#[test]
fn what_is_no_run_is_refused() {
    let workspace = Workspace::new();
    let check = |given: &str, expected: &str| {
        let output = workspace.output(&["run", given]);
        let said = output_text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    check("--attach", "no run goes on in runs");
    check(
        "--attach=nowhere",
        "cannot attach to nowhere: there is no such folder",
    );
    check(
        "--attach=systems",
        "systems is not a run: it has no run.json",
    );
    let other = workspace.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("run.json"), "{\"format\": 0}").unwrap();
    check("--attach=other", "cannot attach to other: ");
}

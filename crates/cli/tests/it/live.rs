//! The live view in a pseudo-terminal: keys end the load or the run, and the terminal is restored.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};
use waggle_load::NullServer;
use waggle_testkit::{wait_for, wait_until};

use crate::workspace::Workspace;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const INTO_VIEW: &str = "\x1b[?1049h";
const OUT_OF_VIEW: &str = "\x1b[?1049l";
const CURSOR_SHOWN: &str = "\x1b[?25h";

/// Timeout for more output; the view draws its clock ten times a second.
const SILENCE: Timespec = Timespec {
    tv_sec: 60,
    tv_nsec: 0,
};

/// The program in a terminal of 100 × 30.
struct Terminal {
    ours: File,
    theirs: OwnedFd,
    child: Child,
    /// The output so far.
    seen: String,
    _server: Option<NullServer>,
}

impl Terminal {
    /// A load on a server of this test.
    fn new(workspace: &Workspace, flags: &[&str]) -> Self {
        Self::with_server(workspace, |url| {
            let command = ["load", url, "-c", "2"];
            let words = command.iter().chain(flags);
            words.map(|word| (*word).to_owned()).collect()
        })
    }

    /// A study of such a server: two cells with one trial each.
    fn with_study(workspace: &Workspace) -> Self {
        Self::with_server(workspace, |url| {
            write_study(workspace, url);
            ["run", "small.yaml"].map(str::to_owned).to_vec()
        })
    }

    fn with_server(workspace: &Workspace, command: impl FnOnce(&str) -> Vec<String>) -> Self {
        let server = start_server();
        let command = command(&format!("http://{}", server.address()));
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        Self {
            _server: Some(server),
            ..Self::start(workspace, &command)
        }
    }

    fn start(workspace: &Workspace, command: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs = File::options()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap();
        let size = Winsize {
            ws_row: 30,
            ws_col: 100,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&theirs, size).unwrap();
        let terminal = || Stdio::from(theirs.try_clone().unwrap());
        let child = workspace
            .waggle(command)
            .env("TERM", "xterm")
            .stdin(terminal())
            .stdout(terminal())
            .stderr(terminal())
            .spawn()
            .unwrap();
        Self {
            ours: File::from(ours),
            theirs: theirs.into(),
            child,
            seen: String::new(),
            _server: None,
        }
    }

    /// Reads output until it contains this text.
    fn read_until(&mut self, text: &str) {
        let mut part = [0; 4096];
        while !self.seen.contains(text) {
            let mut wait = [PollFd::new(&self.ours, PollFlags::IN)];
            let ready = poll(&mut wait, Some(&SILENCE)).unwrap();
            assert!(ready > 0, "nothing comes before {text:?}: {}", self.seen);
            let read = self.ours.read(&mut part).unwrap();
            self.seen += &String::from_utf8_lossy(&part[..read]);
        }
    }

    fn press(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).unwrap();
    }

    fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.theirs).unwrap().local_modes;
        !modes.contains(LocalModes::ICANON) && !modes.contains(LocalModes::ECHO)
    }

    /// Checks that the load was interrupted and that its result is below the restored terminal content.
    fn ends_well(mut self) {
        self.read_until("interrupted");
        let code = self.child.wait().unwrap().code();
        assert_eq!(code, Some(130), "{}", self.seen);
        assert!(!self.is_raw(), "{}", self.seen);
        let (_, after) = self.seen.split_once(OUT_OF_VIEW).unwrap();
        assert!(after.contains(CURSOR_SHOWN), "{}", self.seen);
        assert!(after.contains("verdict"), "{}", self.seen);
    }
}

fn start_server() -> NullServer {
    NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap()
}

/// Two cells with one long trial each.
fn write_study(workspace: &Workspace, url: &str) {
    let study = format!(
        "study: small\nquestion: Is it shown?\nsystem: {{ url: '{url}' }}\n\
         factors: {{ connections: [1, 2] }}\n\
         load:\n  model: closed\n  connections: ${{connections}}\n  request: {{ name: get, get: / }}\n\
         schedule:\n  warm_up: 1s\n  measure: 10m\n  repeat: 1\n"
    );
    std::fs::write(workspace.path().join("small.yaml"), study).unwrap();
}

#[test]
fn keys_end_the_load_and_the_terminal_is_restored() {
    let check = |keys: &str| {
        let workspace = Workspace::new();
        let mut terminal = Terminal::new(&workspace, &["-d", "10m"]);
        terminal.read_until(INTO_VIEW);
        // When figures are drawn, the terminal is in raw mode.
        terminal.read_until("succeeded");
        assert!(terminal.is_raw());
        terminal.press(keys);
        terminal.ends_well();
    };
    check("q");
    check("\x03");
    // The keys also work on another page, with help, and while paused.
    check("2? q");
}

#[test]
fn a_run_is_shown_and_a_key_ends_it() {
    let workspace = Workspace::new();
    let mut terminal = Terminal::with_study(&workspace);
    terminal.read_until(INTO_VIEW);
    // The grid of cells, and the trial below it.
    terminal.read_until("verdict so far");
    terminal.read_until("connections=");
    terminal.read_until("succeeded");
    assert!(terminal.is_raw());
    terminal.press("4q");
    terminal.read_until(OUT_OF_VIEW);
    terminal.read_until("interrupted before the first trial ended");
    let code = terminal.child.wait().unwrap().code();
    assert_eq!(code, Some(130), "{}", terminal.seen);
    assert!(!terminal.is_raw(), "{}", terminal.seen);
}

#[test]
fn an_attached_view_is_left_by_a_key_and_another_one_stops_the_run() {
    let workspace = Workspace::new();
    let server = start_server();
    write_study(&workspace, &format!("http://{}", server.address()));
    let mut run = workspace
        .waggle(&["run", "small.yaml", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the run is offered", || workspace.stream_socket().is_some());
    let check = |key: &str, last: &str, code: i32| {
        let mut terminal = Terminal::start(&workspace, &["run", "--attach"]);
        terminal.read_until(INTO_VIEW);
        terminal.read_until("verdict so far");
        terminal.read_until("succeeded");
        assert!(terminal.is_raw());
        terminal.press(key);
        terminal.read_until(OUT_OF_VIEW);
        terminal.read_until(last);
        let ended = terminal.child.wait().unwrap().code();
        assert_eq!(ended, Some(code), "{}", terminal.seen);
        assert!(!terminal.is_raw(), "{}", terminal.seen);
    };
    check(
        "q",
        "the run goes on; it is shown again by: waggle run --attach=",
        0,
    );
    check("\x03", "interrupted before the first trial ended", 130);
    assert_eq!(run.wait().unwrap().code(), Some(130));
}

#[test]
fn signal_restores_the_terminal() {
    let workspace = Workspace::new();
    let mut terminal = Terminal::new(&workspace, &["-d", "10m"]);
    terminal.read_until("succeeded");
    let pid = terminal.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    terminal.ends_well();
}

#[test]
fn a_terminal_that_is_closed_ends_the_load() {
    let workspace = Workspace::new();
    let mut terminal = Terminal::new(&workspace, &["-d", "10m"]);
    terminal.read_until("succeeded");
    let Terminal {
        ours, mut child, ..
    } = terminal;
    drop(ours);
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-HUP", &pid])
            .status()
            .unwrap()
            .success()
    );
    let status = wait_for("it ends without a terminal", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(130));
}

#[test]
fn no_live_prints_lines() {
    let workspace = Workspace::new();
    let mut terminal = Terminal::new(&workspace, &["-n", "200", "--no-live"]);
    terminal.read_until("verdict");
    assert!(!terminal.seen.contains(INTO_VIEW), "{}", terminal.seen);
    terminal.child.wait().unwrap();
}

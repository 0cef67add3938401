//! The live view in a terminal of the test's own: keys end the load or the run, and the terminal is as it was before.

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
use waggle_testkit::wait_for;

use crate::desk::Desk;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const INTO_VIEW: &str = "\x1b[?1049h";
const OUT_OF_VIEW: &str = "\x1b[?1049l";
const CURSOR_SHOWN: &str = "\x1b[?25h";

/// After so much silence nothing more is expected: the view draws its clock ten times a second.
const SILENCE: Timespec = Timespec {
    tv_sec: 60,
    tv_nsec: 0,
};

/// A terminal of 100 × 30, and the program in it.
struct Seat {
    ours: File,
    theirs: OwnedFd,
    child: Child,
    /// What was written to the terminal.
    seen: String,
    _server: NullServer,
}

impl Seat {
    /// A load on a server of the test's own.
    fn new(desk: &Desk, flags: &[&str]) -> Self {
        Self::with_server(desk, |url| {
            let command = ["load", url, "-c", "2"];
            let words = command.iter().chain(flags);
            words.map(|word| (*word).to_owned()).collect()
        })
    }

    /// A study of such a server, with two cells of one trial each.
    fn with_study(desk: &Desk) -> Self {
        Self::with_server(desk, |url| {
            let study = format!(
                "study: small\nquestion: Is it shown?\nsystem: {{ url: '{url}' }}\n\
                 factors: {{ connections: [1, 2] }}\n\
                 load:\n  model: closed\n  connections: ${{connections}}\n  request: {{ name: get, get: / }}\n\
                 schedule:\n  warm_up: 1s\n  measure: 10m\n  repeat: 1\n"
            );
            std::fs::write(desk.path().join("small.yaml"), study).unwrap();
            ["run", "small.yaml"].map(str::to_owned).to_vec()
        })
    }

    fn with_server(desk: &Desk, command: impl FnOnce(&str) -> Vec<String>) -> Self {
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
        let server = NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap();
        let command = command(&format!("http://{}", server.address()));
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let seat = || Stdio::from(theirs.try_clone().unwrap());
        let child = desk
            .waggle(&command)
            .env("TERM", "xterm")
            .stdin(seat())
            .stdout(seat())
            .stderr(seat())
            .spawn()
            .unwrap();
        Self {
            ours: File::from(ours),
            theirs: theirs.into(),
            child,
            seen: String::new(),
            _server: server,
        }
    }

    /// Reads what is drawn until this stands in it.
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

    /// The load was interrupted, its result was told in the terminal as it was before the view.
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

#[test]
fn keys_end_the_load_and_the_terminal_is_given_back() {
    let check = |keys: &str| {
        let desk = Desk::new();
        let mut seat = Seat::new(&desk, &["-d", "10m"]);
        seat.read_until(INTO_VIEW);
        // Figures are drawn, and the view is in raw mode by then.
        seat.read_until("succeeded");
        assert!(seat.is_raw());
        seat.press(keys);
        seat.ends_well();
    };
    check("q");
    check("\x03");
    // Another page, help and a paused display are no obstacle.
    check("2? q");
}

#[test]
fn a_run_is_shown_and_a_key_ends_it() {
    let desk = Desk::new();
    let mut seat = Seat::with_study(&desk);
    seat.read_until(INTO_VIEW);
    // The grid of cells, and the trial below it.
    seat.read_until("verdict so far");
    seat.read_until("connections=");
    seat.read_until("succeeded");
    assert!(seat.is_raw());
    seat.press("4q");
    seat.read_until(OUT_OF_VIEW);
    seat.read_until("interrupted before the first trial ended");
    let code = seat.child.wait().unwrap().code();
    assert_eq!(code, Some(130), "{}", seat.seen);
    assert!(!seat.is_raw(), "{}", seat.seen);
}

#[test]
fn a_signal_gives_the_terminal_back_too() {
    let desk = Desk::new();
    let mut seat = Seat::new(&desk, &["-d", "10m"]);
    seat.read_until("succeeded");
    let pid = seat.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    seat.ends_well();
}

#[test]
fn a_terminal_that_is_closed_ends_the_load() {
    let desk = Desk::new();
    let mut seat = Seat::new(&desk, &["-d", "10m"]);
    seat.read_until("succeeded");
    let Seat {
        ours, mut child, ..
    } = seat;
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
fn without_the_view_there_are_lines() {
    let desk = Desk::new();
    let mut seat = Seat::new(&desk, &["-n", "200", "--no-live"]);
    seat.read_until("verdict");
    assert!(!seat.seen.contains(INTO_VIEW), "{}", seat.seen);
    seat.child.wait().unwrap();
}

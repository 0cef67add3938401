//! A test that needs its own process: the test binary, started again for this one test in another role.

use std::{
    collections::HashMap,
    fmt::Display,
    io::Write,
    process::{Child, ChildStdout, Command, Stdio},
};

/// Has the role in which a process was started.
const ROLE: &str = "WAGGLE_TEST_ROLE";
/// Prefix of lines that a role writes; the test runner writes other lines.
const MARK: &str = "report: ";

/// The role of this process; `None`: it is the test itself.
pub(crate) fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Reports a value from a role to the test.
pub(crate) fn report(name: &str, value: impl Display) {
    let mut out = std::io::stdout().lock();
    // On its own line, after anything that the test runner has begun to write.
    write!(out, "\n{MARK}{name}={value}\n").unwrap();
    out.flush().unwrap();
}

/// A command that runs `test` of this binary in `role`, prefixed with the words of `before`.
pub(crate) fn command(test: &str, role: &str, before: &[&str]) -> Command {
    let executable = std::env::current_exe().unwrap();
    let mut words = before
        .iter()
        .map(std::ffi::OsStr::new)
        .chain([executable.as_os_str()]);
    let mut command = Command::new(words.next().unwrap());
    command
        .args(words)
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(ROLE, role)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs it to its end; returns its reports.
pub(crate) fn run_to_end(mut command: Command) -> HashMap<String, String> {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}\n{errors}");
    text.lines().filter_map(fact).collect()
}

fn fact(line: &str) -> Option<(String, String)> {
    let (name, value) = line.strip_prefix(MARK)?.split_once('=')?;
    Some((name.to_owned(), value.to_owned()))
}

/// A role that runs until it is dropped.
pub(crate) struct Server {
    child: Child,
    out: std::io::Lines<std::io::BufReader<ChildStdout>>,
}

impl Server {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::inherit()).spawn().unwrap();
        let out = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
        Self { child, out }
    }

    /// Its next report, which must have this name.
    pub(crate) fn expect_report(&mut self, name: &str) -> String {
        let (report_name, value) = self
            .out
            .by_ref()
            .find_map(|line| fact(&line.unwrap()))
            .unwrap();
        assert_eq!(report_name, name);
        value
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Peak memory of this process, in bytes.
pub(crate) fn memory_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        * 1024
}

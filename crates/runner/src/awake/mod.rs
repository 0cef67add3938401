//! CPUs that are kept awake: loops of the idle scheduling class, one on each CPU, in a process of their own.
//!
//! A CPU of a virtual machine that halts is given back to its host, and waits there for its turn when it is woken. A loop keeps
//! it from halting, and everything else pushes the loop aside at once. Why a process, and what it costs, stands in
//! `docs/design/0028-cpus-kept-awake.md`. The process is the same program as waggle, started with a hidden subcommand; it ends when
//! its standard input does, whose other end only waggle holds.

mod loops;
mod quota;

use std::{
    fs,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

pub use self::loops::keep_awake;
use crate::cpus;

/// The hidden subcommand of the program that has the loops.
const KEEP_AWAKE: &str = "__keep-awake";
/// What it says when every loop runs.
const AWAKE: &str = "awake";
/// First word of the line that tells why they do not.
const NOT_AWAKE: &str = "failed";
/// It must have said so by then: a loop of the idle class gets little of a CPU on which others work.
const START_AT_MOST: Duration = Duration::from_secs(120);
const LINE_MAX_BYTES: u64 = 4096;
/// Where groups of processes and their limits are shown.
const CGROUPS: &str = "/sys/fs/cgroup";

/// Why the CPUs cannot be kept awake.
#[derive(Debug, thiserror::Error)]
pub enum AwakeError {
    #[error(
        "cannot keep the CPUs awake: {} allows {cpus} CPUs of time, which the loops would use up; expected no limit, or one of \
         all {all} CPUs",
        file.display()
    )]
    Limited {
        file: PathBuf,
        cpus: f64,
        all: usize,
    },
    #[error("cannot keep the CPUs awake: {}: {problem}", program.display())]
    NotStarted {
        program: PathBuf,
        problem: io::Error,
    },
    #[error("cannot keep the CPUs awake: {0}")]
    Refused(String),
}

/// The loops, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Awake {
    child: Child,
}

impl Awake {
    /// Starts one loop on each CPU that this process may use, and returns when all of them run.
    ///
    /// `program` calls [`keep_awake`] with what follows `__keep-awake --` among its arguments.
    ///
    /// # Errors
    /// The CPU time of this process is limited, so that the loops would use it up; or the idle class cannot be had.
    pub(crate) fn start(program: &Path) -> Result<Self, AwakeError> {
        let cpus = cpus::allowed_cpus();
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        if let Some(limit) = quota::strictest_limit(&groups, Path::new(CGROUPS))
            && limit.is_below(cpus.len())
        {
            return Err(AwakeError::Limited {
                file: limit.file,
                cpus: limit.cpus,
                all: cpus.len(),
            });
        }
        Self::start_loops(program, &cpus)
    }

    fn start_loops(program: &Path, cpus: &[usize]) -> Result<Self, AwakeError> {
        let not_started = |problem| AwakeError::NotStarted {
            program: program.to_path_buf(),
            problem,
        };
        let mut child = Command::new(program)
            .args([KEEP_AWAKE, "--", &cpus::cpu_list(cpus)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(not_started)?;
        let told = child
            .stdout
            .take()
            .expect("standard output was asked to be a pipe");
        // From here on it is ended however this ends.
        let awake = Self { child };
        let line = first_line(told).map_err(not_started)?;
        parse_report(&line)?;
        Ok(awake)
    }

    /// The loops' process.
    #[must_use]
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The first line, awaited for as long as a start may take.
fn first_line(from: ChildStdout) -> io::Result<String> {
    let (tell, told) = mpsc::sync_channel(1);
    thread::Builder::new()
        .name("awake".to_owned())
        .spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(from.take(LINE_MAX_BYTES)).read_line(&mut line);
            // Nobody listens where it took too long.
            tell.send(read.map(|_| line)).ok();
        })?;
    match told.recv_timeout(START_AT_MOST) {
        Ok(read) => read,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(io::Error::other(
            format!("the loops did not run within {} s", START_AT_MOST.as_secs()),
        )),
    }
}

/// What the loops' process says first.
fn parse_report(line: &str) -> Result<(), AwakeError> {
    match line.trim_end() {
        AWAKE => Ok(()),
        "" => Err(AwakeError::Refused(
            "the process of the loops ended before they ran".to_owned(),
        )),
        line => Err(AwakeError::Refused(match line.split_once(' ') {
            Some((NOT_AWAKE, why)) => why.to_owned(),
            _ => format!("the process of the loops said \"{line}\""),
        })),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Awake, AwakeError, parse_report};

    #[test]
    fn what_the_loops_say_is_understood() {
        let check = |line: &str, expected: Option<&str>| {
            let found = parse_report(line).err().map(|problem| problem.to_string());
            let expected = expected.map(|why| format!("cannot keep the CPUs awake: {why}"));
            assert_eq!(found, expected, "{line:?}");
        };
        check("awake\n", None);
        check(
            "failed CPU 1: no such class\n",
            Some("CPU 1: no such class"),
        );
        check("hello\n", Some("the process of the loops said \"hello\""));
        check("", Some("the process of the loops ended before they ran"));
    }

    #[test]
    fn a_program_without_loops_is_an_error_and_not_a_wait() {
        let refused = Awake::start_loops(Path::new("/bin/false"), &[0]).unwrap_err();
        assert!(matches!(refused, AwakeError::Refused(_)), "{refused}");
        let missing = Awake::start_loops(Path::new("/no/such/program"), &[0]).unwrap_err();
        assert!(
            missing.to_string().contains("/no/such/program"),
            "{missing}"
        );
    }
}

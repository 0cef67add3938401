//! Idle polling: loops of the idle scheduling class keep the CPUs from halting, one on each CPU, in a process of their own.
//!
//! The hypervisor takes a halted CPU away from a virtual machine, and the CPU has to wait for it on wake-up. A loop keeps the CPU
//! from halting, and every other thread preempts the loop at once. For the reasons and the cost see
//! `docs/design/0028-idle-polling.md`. The process runs the same program as waggle, with a hidden subcommand. It ends when its
//! standard input is closed, whose other end only waggle holds.

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

pub use self::loops::idle_poll;
use crate::host::{cpus, environment::limit_environment};

/// The hidden subcommand that runs the loops.
const SUBCOMMAND: &str = "__idle-poll";
/// What the process writes when every loop runs.
const RUNNING: &str = "polling";
/// First word of the line with the reason if they do not run.
const FAILED: &str = "failed";
/// Limit on the start. It is long because a loop of the idle class gets little of a busy CPU.
const START_TIMEOUT: Duration = Duration::from_secs(120);
const LINE_MAX_BYTES: u64 = 4096;
/// The folder of control groups and their limits.
const CGROUPS: &str = "/sys/fs/cgroup";

/// Why idle polling is not possible.
#[derive(Debug, thiserror::Error)]
pub enum IdlePollError {
    #[error(
        "cannot poll idle CPUs: {} allows {cpus} CPUs of time, which the loops would use up; expected no limit, or one of \
         all {all} CPUs",
        file.display()
    )]
    Limited {
        file: PathBuf,
        cpus: f64,
        all: usize,
    },
    #[error("cannot poll idle CPUs: {}: {problem}", program.display())]
    NotStarted {
        program: PathBuf,
        problem: io::Error,
    },
    #[error("cannot poll idle CPUs: {0}")]
    Refused(String),
}

/// The process of the loops; it is killed when this is dropped.
#[derive(Debug)]
pub struct IdlePoll {
    child: Child,
}

impl IdlePoll {
    /// Starts one loop on each CPU that this process may use, and returns when all of them run.
    ///
    /// `program` calls [`idle_poll`] with the arguments after `__idle-poll --`.
    ///
    /// # Errors
    /// The CPU time of this process is limited, so the loops would use it up; or the idle class is refused.
    pub fn start(program: &Path) -> Result<Self, IdlePollError> {
        let cpus = cpus::allowed_cpus();
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        if let Some(limit) = quota::strictest_limit(&groups, Path::new(CGROUPS))
            && limit.is_below(cpus.len())
        {
            return Err(IdlePollError::Limited {
                file: limit.file,
                cpus: limit.cpus,
                all: cpus.len(),
            });
        }
        Self::start_loops(program, &cpus)
    }

    fn start_loops(program: &Path, cpus: &[usize]) -> Result<Self, IdlePollError> {
        let not_started = |problem| IdlePollError::NotStarted {
            program: program.to_path_buf(),
            problem,
        };
        let mut command = Command::new(program);
        limit_environment(&mut command, &[]);
        let mut child = command
            .args([SUBCOMMAND, "--", &cpus::cpu_list(cpus)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(not_started)?;
        let output = child
            .stdout
            .take()
            .expect("standard output was asked to be a pipe");
        // From here on the process is killed if this function fails.
        let process = Self { child };
        let line = first_line(output).map_err(not_started)?;
        parse_report(&line)?;
        Ok(process)
    }

    /// The process of the loops.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for IdlePoll {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The first line; waits up to [`START_TIMEOUT`].
fn first_line(from: ChildStdout) -> io::Result<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::Builder::new()
        .name("idle-poll".to_owned())
        .spawn(move || {
            // The receiver is gone after the timeout.
            sender.send(read_line(from)).ok();
        })?;
    match receiver.recv_timeout(START_TIMEOUT) {
        Ok(read) => read,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(io::Error::other(
            format!("the loops did not run within {} s", START_TIMEOUT.as_secs()),
        )),
    }
}

fn read_line(from: ChildStdout) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(from.take(LINE_MAX_BYTES)).read_line(&mut line)?;
    Ok(line)
}

/// Parses the first line of the process.
fn parse_report(line: &str) -> Result<(), IdlePollError> {
    match line.trim_end() {
        RUNNING => Ok(()),
        "" => Err(IdlePollError::Refused(
            "the process of the loops ended before they ran".to_owned(),
        )),
        line => Err(IdlePollError::Refused(match line.split_once(' ') {
            Some((FAILED, why)) => why.to_owned(),
            _ => format!("the process of the loops said \"{line}\""),
        })),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{IdlePoll, IdlePollError, parse_report};

    #[test]
    fn first_line_of_the_loops_is_parsed() {
        let check = |line: &str, expected: Option<&str>| {
            let message = parse_report(line).err().map(|problem| problem.to_string());
            let expected = expected.map(|why| format!("cannot poll idle CPUs: {why}"));
            assert_eq!(message, expected, "{line:?}");
        };
        check("polling\n", None);
        check(
            "failed CPU 1: no such class\n",
            Some("CPU 1: no such class"),
        );
        check("hello\n", Some("the process of the loops said \"hello\""));
        check("", Some("the process of the loops ended before they ran"));
    }

    #[test]
    fn program_without_loops_is_an_error_without_a_wait() {
        let refused = IdlePoll::start_loops(Path::new("/bin/false"), &[0]).unwrap_err();
        assert!(matches!(refused, IdlePollError::Refused(_)), "{refused}");
        let missing = IdlePoll::start_loops(Path::new("/no/such/program"), &[0]).unwrap_err();
        assert!(
            missing.to_string().contains("/no/such/program"),
            "{missing}"
        );
    }
}

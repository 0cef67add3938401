//! Generators on this machine: processes of the same program as waggle, started with a hidden subcommand.
//!
//! A generator gets its job through its standard input, so that no secret is in its arguments, its environment or a file. It ends
//! when its standard input is closed, whose other end only waggle holds; and it is killed when its link is dropped.

use std::{
    fs::File,
    io,
    os::{fd::AsFd, unix::process::CommandExt},
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use waggle_load::{Job, Link, shares};
use waggle_system::{components::supervise::describe, host::environment::keep_variables};

use crate::load::load_run::LoadError;

/// The hidden subcommand of a generator.
const SUBCOMMAND: &str = "__generator";
/// What a generator has of the environment: where the machine's certificate authorities are, if not in the usual place.
const ENVIRONMENT: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];
/// How long to wait for the exit status of a generator that has closed its output.
const STATUS_TIMEOUT: Duration = Duration::from_secs(1);
const STATUS_INTERVAL: Duration = Duration::from_millis(5);

/// Runs the share of a load that standard input brings, and writes what it measures to standard output.
#[must_use]
pub fn generator() -> ExitCode {
    let output = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    match output.map(|output| waggle_load::serve(io::stdin(), output)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        // Who started it knows why, or is gone.
        Ok(Err(_)) | Err(_) => ExitCode::FAILURE,
    }
}

/// Starts a process for each share of the job.
pub(crate) fn start(program: &Path, job: &Job, generators: u32) -> Result<Vec<Link>, LoadError> {
    let count = shares(job, generators as usize).len();
    let numbers = 1..=count;
    let links = numbers.map(|number| {
        link(program).map_err(|problem| LoadError::Process {
            number,
            of: count,
            program: program.to_path_buf(),
            problem,
        })
    });
    links.collect()
}

fn link(program: &Path) -> io::Result<Link> {
    let mut command = Command::new(program);
    keep_variables(&mut command, ENVIRONMENT.into_iter());
    command
        .arg(SUBCOMMAND)
        // An interrupt from the terminal is waggle's to handle.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut process = Process(command.spawn()?);
    let pipes = process.0.stdin.take().zip(process.0.stdout.take());
    let (orders, reports) = pipes.expect("both were asked to be pipes");
    Ok(Link {
        orders: Box::new(orders),
        reports: Box::new(reports),
        clock_offset_ns: 0,
        agent: None,
        round_trip: Duration::ZERO,
        ending: Box::new(move || process.ending()),
    })
}

/// The process of a generator; it is killed when this is dropped.
struct Process(Child);

impl Process {
    /// How it ended, once it has.
    fn ending(&mut self) -> Option<String> {
        let deadline = Instant::now() + STATUS_TIMEOUT;
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Some(describe(status)),
                Ok(None) if Instant::now() < deadline => thread::sleep(STATUS_INTERVAL),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

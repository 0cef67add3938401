//! The process of the pod: waits for a study, runs it, and waits until its results are fetched.

use std::{
    env,
    io::{self, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use waggle_results::private_file;

use super::{folder::PodFolder, submission::Submission};
use crate::{
    output::print_progress,
    process::{exit::Exit, interrupts::Interrupts},
};

/// How long a study may take to come.
const STUDY_TIMEOUT: Duration = Duration::from_secs(600);
/// How long results wait to be fetched.
const FETCH_TIMEOUT: Duration = Duration::from_secs(4 * 3600);
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// The end of what the run said, which is kept.
const SAID_MAX_BYTES: usize = 16 << 10;
/// Trusts the folder of the pod, to which its group may write.
const TRUST: &str = "WAGGLE_TRUST";

/// How a run ended, as its process says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessEnd {
    pub(super) exit_code: u8,
    /// The end of its standard error.
    pub(super) said: String,
}

pub(super) fn serve(pod: &PodFolder) -> Result<Exit> {
    let interrupts = Interrupts::new(|| {});
    // The first process of a pod ignores signals that it does not handle.
    interrupts.listen()?;
    print_progress("waiting for a study");
    let waited = wait(STUDY_TIMEOUT, &interrupts, || pod.work().is_dir());
    match waited {
        Waited::Done => {}
        Waited::Interrupted => return Ok(Exit::Interrupted),
        Waited::TimedOut => bail!(
            "no study came within {} s: whoever made this pod is gone",
            STUDY_TIMEOUT.as_secs()
        ),
    }
    let submission = pod.submission()?;
    let mut process = start(pod, &submission)?;
    let errors = process.stderr.take().expect("it was asked to be a pipe");
    let said = thread::Builder::new()
        .name("output".to_owned())
        .spawn(move || pass_on(errors))
        .context("cannot start the thread that passes on what the run says")?;
    let code = wait_for(&mut process, &interrupts)?;
    let said = said.join().unwrap_or_default();
    let end = ProcessEnd {
        exit_code: code,
        said: String::from_utf8_lossy(&said).into_owned(),
    };
    let text = serde_json::to_vec(&end).context("cannot note the end of the run")?;
    let partial = pod.end().with_extension("partial");
    private_file::write_file(&partial, text)
        .and_then(|()| std::fs::rename(&partial, pod.end()))
        .context("cannot note the end of the run")?;
    print_progress("the run is over, and waits to be fetched");
    wait(FETCH_TIMEOUT, &interrupts, || pod.is_fetched().exists());
    Exit::from_code(code).with_context(|| format!("the run ended with exit code {code}"))
}

fn start(pod: &PodFolder, submission: &Submission) -> Result<Child> {
    let program = env::current_exe().context("cannot determine the path of this program")?;
    let (name, here) = submission.variable();
    let mut command = Command::new(program);
    command
        .args(&submission.arguments)
        .current_dir(pod.work())
        .envs(&submission.variables)
        .env(name, here)
        .env(TRUST, pod.path())
        // Where it may keep files.
        .env("HOME", pod.path())
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().context("cannot start the run")
}

/// Passes signals on until the process has ended; returns its exit code, or that of a shell for one that was killed.
fn wait_for(process: &mut Child, interrupts: &Interrupts) -> Result<u8> {
    let mut passed = 0;
    loop {
        if let Some(status) = process.try_wait().context("cannot wait for the run")? {
            use std::os::unix::process::ExitStatusExt;
            let killed = || Some(128 + status.signal()?);
            let code = status.code().or_else(killed).unwrap_or(i32::from(u8::MAX));
            return Ok(u8::try_from(code).unwrap_or(u8::MAX));
        }
        while passed < interrupts.count() {
            passed += 1;
            if let Some(id) = i32::try_from(process.id()).ok().and_then(Pid::from_raw) {
                kill_process(id, Signal::TERM).ok();
            }
        }
        thread::sleep(LOOK_INTERVAL);
    }
}

/// Writes what is read to the standard error, and returns the end of it.
fn pass_on(from: impl Read) -> Vec<u8> {
    let mut from = BufReader::new(from);
    let (mut kept, mut bytes) = (Vec::new(), vec![0; 4 << 10]);
    loop {
        match from.read(&mut bytes) {
            Ok(read @ 1..) => {
                io::stderr().write_all(&bytes[..read]).ok();
                kept.extend_from_slice(&bytes[..read]);
                let surplus = kept.len().saturating_sub(SAID_MAX_BYTES);
                kept.drain(..surplus);
            }
            Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return kept,
        }
    }
}

enum Waited {
    Done,
    Interrupted,
    TimedOut,
}

fn wait(limit: Duration, interrupts: &Interrupts, is_done: impl Fn() -> bool) -> Waited {
    let deadline = Instant::now() + limit;
    let before = interrupts.count();
    while !is_done() {
        if interrupts.count() > before {
            return Waited::Interrupted;
        }
        if Instant::now() >= deadline {
            return Waited::TimedOut;
        }
        thread::sleep(LOOK_INTERVAL);
    }
    Waited::Done
}

//! The stream of the run in the pod, from before it has begun until after its end.

use std::{
    fs,
    io::{self, Write},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{folder::PodFolder, serve::ProcessEnd};
use crate::{
    commands::run::{
        attach,
        stream::message::{Ended, Hello, Message, line},
    },
    process::exit::Exit,
};

const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Lines of a run's last words.
const LINES_MAX: usize = 10;
/// Exit codes of killed processes, less their signals.
const KILLED: u8 = 128;
/// A follower that hears nothing for several times as long takes its stream for lost.
const ALIVE_INTERVAL: Duration = Duration::from_secs(5);

pub(super) fn copy(pod: &PodFolder) -> Result<Exit> {
    let mut said = Instant::now();
    loop {
        if let Ok(submission) = pod.submission() {
            let folder = pod.run(&submission);
            if waggle_results::is_run(&folder) && attach::has_stream(&folder) {
                return attach::copy(&folder);
            }
            if let Some(end) = end(pod)? {
                return match attach::has_end(&folder) {
                    true => attach::copy(&folder),
                    false => say_end(&submission.run, &end),
                };
            }
        }
        if said.elapsed() >= ALIVE_INTERVAL {
            said = Instant::now();
            write(&line(&Message::Alive))?;
        }
        thread::sleep(LOOK_INTERVAL);
    }
}

fn end(pod: &PodFolder) -> Result<Option<ProcessEnd>> {
    let problem = "cannot read how the run ended";
    match fs::read(pod.end()) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text).context(problem)?)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why).context(problem),
    }
}

/// The end of a run that has no end in its folder: it did not begin, or was killed.
fn say_end(run: &str, end: &ProcessEnd) -> Result<Exit> {
    let lines: Vec<&str> = end.said.trim_end().lines().collect();
    let last = lines[lines.len().saturating_sub(LINES_MAX)..].join("\n");
    let (code, mistake) = match (
        Exit::from_code(end.exit_code),
        end.exit_code.checked_sub(KILLED),
    ) {
        (Some(code), _) => (code, last),
        (None, Some(signal @ 1..)) => (
            Exit::Mistake,
            format!(
                "the process of the run was killed by signal {signal}; what had ended is in its folder"
            ),
        ),
        (None, _) => (
            Exit::Mistake,
            format!("the run ended with exit code {}: {last}", end.exit_code),
        ),
    };
    let ended = Ended {
        exit_code: code.code(),
        text: String::new(),
        mistake: Some(mistake),
    };
    write(&line(&Message::Hello(Hello::new(run, ""))))?;
    write(&line(&Message::Ended(ended)))?;
    Ok(Exit::Fine)
}

fn write(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.context("nobody reads the stream")
}

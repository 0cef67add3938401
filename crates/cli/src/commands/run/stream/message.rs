//! The lines of a stream: JSON objects, each with one key that says what it is.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    commands::run::progress::{Progress, StudyFacts},
    process::exit::Exit,
};

/// Of the lines; another one is refused.
pub(in crate::commands::run) const FORMAT: u32 = 1;
/// Longest line that is read: an interval of a scenario with hundreds of steps has about a megabyte.
pub(in crate::commands::run) const LINE_MAX_BYTES: u64 = 16 << 20;

/// From the run to its followers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::commands::run) enum Message {
    /// The first line.
    Hello(Hello),
    /// The state begins here; what came before it in this stream does not count any more.
    State {
        study: StudyFacts,
        /// Since the start of the run.
        elapsed_us: u64,
    },
    Step {
        elapsed_us: u64,
        step: Progress,
    },
    /// The steps before this line are the state so far, those behind it come as they happen.
    UpToDate,
    /// Nothing has happened for a while, and the run goes on.
    Alive,
    /// The last line.
    Ended(Ended),
    /// The last line of a stream that shows nothing.
    Refused(String),
}

/// Who is at the other end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::commands::run) struct Hello {
    pub(in crate::commands::run) format: u32,
    /// Version of waggle.
    pub(in crate::commands::run) waggle: String,
    /// Name of the run's folder.
    pub(in crate::commands::run) run: String,
    pub(in crate::commands::run) study: String,
}

impl Hello {
    pub(in crate::commands::run) fn new(run: &str, study: &str) -> Self {
        Self {
            format: FORMAT,
            waggle: env!("CARGO_PKG_VERSION").to_owned(),
            run: run.to_owned(),
            study: study.to_owned(),
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::commands::run) struct Ended {
    /// Its exit code.
    pub(in crate::commands::run) exit_code: u8,
    /// What it printed as its result.
    pub(in crate::commands::run) text: String,
    /// The mistake that ended it.
    pub(in crate::commands::run) mistake: Option<String>,
}

impl Ended {
    /// As the command ends: with an exit code, or with a mistake.
    pub(in crate::commands::run) fn new(exit: Result<&Exit, &anyhow::Error>, text: String) -> Self {
        let (exit, mistake) = match exit {
            Ok(exit) => (*exit, None),
            Err(mistake) => (Exit::Mistake, Some(format!("{mistake:#}"))),
        };
        Self {
            exit_code: exit.code(),
            text,
            mistake,
        }
    }
}

/// From a follower to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::commands::run) enum Order {
    /// As Ctrl-C in the run's own terminal.
    Stop,
}

/// A line with its end.
pub(in crate::commands::run) type Line = Arc<str>;

pub(in crate::commands::run) fn line(message: &impl Serialize) -> Line {
    let mut text = serde_json::to_string(message).expect("plain values have a form in JSON");
    text.push('\n');
    text.into()
}

pub(in crate::commands::run) fn microseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}

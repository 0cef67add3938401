//! What a driver and the process beside a replica say to each other.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::components::{limits::Throttled, supervise::redaction::HiddenText};

/// Longest line that is read: texts of files, and the secrets of a log.
pub(super) const LINE_MAX_BYTES: usize = 32 * 1024 * 1024;

/// The first line of the driver over a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Greeting {
    /// The process that it has spoken to before; `None`: none yet.
    pub(super) process: Option<String>,
    /// Messages that have come from it.
    pub(super) received: u64,
}

/// The answer to that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Welcome {
    /// Differs after each start of the process.
    pub(super) process: String,
    pub(super) received: u64,
    pub(super) facts: Facts,
}

/// What the driver needs to know of the place of a replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The version of waggle there.
    pub version: String,
    /// Path of each program of the system.
    pub programs: BTreeMap<String, PathBuf>,
    /// The folder of the system's file.
    pub system_folder: PathBuf,
    /// Below it the replica may write.
    pub folder: PathBuf,
}

/// From the driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Start(Box<StartOrder>),
    /// SIGTERM.
    Stop,
    /// SIGKILL to all of it; its end is a death that was asked for.
    Kill,
    /// Texts that may not be in its log from now on.
    Hide(Vec<HiddenText>),
    /// A line of waggle's own in its log.
    Remark(String),
    /// Asks for the text of a file that it has written.
    Read(PathBuf),
}

/// A process to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartOrder {
    pub(super) replica: String,
    /// Its own folder, which is made.
    pub(super) folder: PathBuf,
    /// Path and text of each file that it is to have; written at its first start alone.
    pub(super) files: Vec<(PathBuf, String)>,
    pub(super) command: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) environment_from: Vec<String>,
    pub(super) hidden: Vec<HiddenText>,
    /// Names of hosts that must be known before.
    pub(super) hosts: Vec<String>,
}

/// To the driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// Whether the process was started.
    Started(Result<(), String>),
    /// It has ended, and all of its log was sent.
    Ended(End),
    /// The text of the file that was asked for.
    Read(Result<String, String>),
    /// A part of its log, in Base64; what the log had from there on is replaced.
    Log {
        from: u64,
        bytes: String,
    },
    Sample(Sample),
}

/// How a replica ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    /// `with exit code 1`; `None`: it was killed as the driver asked.
    pub(super) how: Option<String>,
    pub(super) oom_kills: u64,
}

/// What a replica has used since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    pub cpu: Duration,
    pub rss_bytes: u64,
    pub threads: u32,
    /// Of its container; `None`: its CPU time is not limited.
    pub throttled: Option<Throttled>,
    /// Processes of the container that the kernel killed for memory.
    pub oom_kills: u64,
}

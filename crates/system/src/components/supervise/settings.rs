//! How a command is supervised, as arguments of the supervisor.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::Path,
    time::Duration,
};

use crate::components::limits::Group;

/// The hidden subcommand of waggle that supervises.
const SUBCOMMAND: &str = "__supervise";

/// How a command is supervised.
#[derive(Debug, Clone, Copy)]
pub struct Supervision<'a> {
    /// Appended to if it exists.
    pub log: &'a Path,
    /// The CPUs that it may use, such as `1,3`; empty: all.
    pub cpus: &'a str,
    /// Its cgroup.
    pub group: Option<&'a Group>,
    /// How long it may take to end when it was interrupted, as it is when waggle has ended; `None`: it is killed then.
    pub interrupt_timeout: Option<Duration>,
}

impl Supervision<'_> {
    /// The arguments of the program that supervises; the command follows them.
    #[must_use]
    pub fn to_arguments(self) -> Vec<OsString> {
        let group = self.group.map(Group::to_argument).unwrap_or_default();
        let timeout = self.interrupt_timeout.map(|timeout| timeout.as_millis());
        let timeout = timeout.map_or_else(String::new, |ms| ms.to_string());
        vec![
            SUBCOMMAND.into(),
            "--".into(),
            self.log.into(),
            self.cpus.into(),
            group.into(),
            timeout.into(),
        ]
    }
}

/// The texts of the group and of the timeout.
pub(super) fn parse(
    group: &OsStr,
    timeout: &OsStr,
) -> io::Result<(Option<Group>, Option<Duration>)> {
    let text = |word: &OsStr| word.to_string_lossy().into_owned();
    let group = Group::from_argument(&text(group))?;
    let timeout = match &*text(timeout) {
        "" => None,
        ms => Some(Duration::from_millis(ms.parse().map_err(io::Error::other)?)),
    };
    Ok((group, timeout))
}

//! Who starts a replica: a supervisor of this machine, or the process beside it in its pod.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::watch;

use crate::{
    components::{
        driver::{
            Death,
            child::{Child, Launch},
            log::remark,
        },
        replica::{RemoteReplica, remote::RemoteLaunch},
        supervise::redaction::HiddenText,
    },
    problem::Problem,
};

/// A replica that can be started, and started again.
#[derive(Debug)]
pub(super) enum StartedBy {
    Supervisor(Launch),
    Pod(Arc<RemoteReplica>, RemoteLaunch),
}

impl StartedBy {
    /// Its log, here.
    pub(super) fn log(&self) -> &Path {
        match self {
            Self::Supervisor(launch) => &launch.log,
            Self::Pod(_, launch) => &launch.log,
        }
    }

    /// A file of its folder, if that is elsewhere.
    pub(super) fn remote_file(&self, name: &str) -> Option<(Arc<RemoteReplica>, PathBuf)> {
        match self {
            Self::Supervisor(_) => None,
            Self::Pod(remote, launch) => Some((Arc::clone(remote), launch.folder.join(name))),
        }
    }

    /// Writes a line of waggle's own into its log.
    pub(super) fn remark(&self, text: &str) {
        match self {
            Self::Supervisor(launch) => remark(&launch.log, text),
            // The log here is a copy.
            Self::Pod(remote, _) => remote.remark(text),
        }
    }

    /// Starts it for the first time.
    pub(super) fn begin(
        &self,
        hidden: &[HiddenText],
        deaths: watch::Sender<Vec<Death>>,
    ) -> Result<Child, Problem> {
        match self {
            Self::Supervisor(launch) => Child::begin(launch.clone(), hidden, deaths),
            Self::Pod(remote, launch) => Child::begin_remote(remote, launch, hidden, deaths),
        }
    }

    /// Starts it after its end, with the files that it left.
    pub(super) fn begin_again(
        &self,
        hidden: &[HiddenText],
        deaths: watch::Sender<Vec<Death>>,
    ) -> Result<Child, Problem> {
        match self {
            Self::Supervisor(_) => self.begin(hidden, deaths),
            Self::Pod(remote, launch) => {
                let launch = RemoteLaunch {
                    files: Vec::new(),
                    ..launch.clone()
                };
                Child::begin_remote(remote, &launch, hidden, deaths)
            }
        }
    }
}

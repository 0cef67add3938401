//! What is where in the folder of a runner's pod.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::submission::{RUNS, Submission};

/// The folder of the pod.
pub(super) struct PodFolder(PathBuf);

impl PodFolder {
    pub(super) fn new(folder: &Path) -> Self {
        Self(folder.to_path_buf())
    }

    /// The study with what it names; it is there when all of it is.
    pub(super) fn work(&self) -> PathBuf {
        self.0.join("work")
    }

    pub(super) fn submission(&self) -> Result<Submission> {
        Submission::read(&self.work())
    }

    /// Where the run writes its results.
    pub(super) fn run(&self, submission: &Submission) -> PathBuf {
        self.work().join(RUNS).join(&submission.run)
    }

    /// How the process of the run ended, for a run that has no folder.
    pub(super) fn end(&self) -> PathBuf {
        self.0.join("end.json")
    }

    /// Is there when nobody needs the results any more.
    pub(super) fn is_fetched(&self) -> PathBuf {
        self.0.join("fetched")
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

//! What is sent to the pod of a runner, besides the study.

use std::{collections::BTreeMap, env, fs, path::Path};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use waggle_runner::InPod;

/// The folder of run folders, as `waggle run` has it by default.
pub(in crate::commands::run) const RUNS: &str = "runs";
/// In the folder of the study.
pub(in crate::commands::run) const FILE: &str = "submission.json";
/// The variable in which the run finds its place.
const VARIABLE: &str = "WAGGLE_RUNNER_POD";

/// A run that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::commands::run) struct Submission {
    /// Name of its folder.
    pub(in crate::commands::run) run: String,
    /// Of `waggle`.
    pub(in crate::commands::run) arguments: Vec<String>,
    /// The variables that the study names, which may be secrets.
    pub(in crate::commands::run) variables: BTreeMap<String, String>,
    pub(in crate::commands::run) place: PodPlace,
}

/// What a run needs to know of its pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::commands::run) struct PodPlace {
    pub(in crate::commands::run) namespace: String,
    /// The config map to which all objects of the run belong.
    pub(in crate::commands::run) anchor_name: String,
    pub(in crate::commands::run) anchor_uid: String,
}

/// A run in a pod: its name, and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::commands::run) struct RunHere {
    pub(in crate::commands::run) run: String,
    place: PodPlace,
}

impl Submission {
    pub(super) fn read(work: &Path) -> Result<Self> {
        let file = work.join(FILE);
        let problem = || format!("cannot read {}", file.display());
        let text = fs::read(&file).with_context(problem)?;
        serde_json::from_slice(&text).with_context(problem)
    }

    /// Name and value of the variable that tells the run where it is.
    pub(super) fn variable(&self) -> (&'static str, String) {
        let here = RunHere {
            run: self.run.clone(),
            place: self.place.clone(),
        };
        let text = serde_json::to_string(&here).expect("plain values have a form in JSON");
        (VARIABLE, text)
    }
}

impl RunHere {
    /// `None`: this process was not started by the runner of a pod.
    pub(in crate::commands::run) fn find() -> Result<Option<Self>> {
        let Some(text) = env::var_os(VARIABLE) else {
            return Ok(None);
        };
        let here = serde_json::from_slice(text.as_encoded_bytes());
        Ok(Some(here.with_context(|| {
            format!("{VARIABLE} is set, and not by waggle")
        })?))
    }

    pub(in crate::commands::run) fn pod(&self) -> InPod {
        let PodPlace {
            namespace,
            anchor_name,
            anchor_uid,
        } = self.place.clone();
        InPod {
            namespace,
            anchor_name,
            anchor_uid,
        }
    }
}

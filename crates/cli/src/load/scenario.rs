//! A file with a scenario, in place of one request.

use std::path::Path;

use anyhow::{Context, Result, bail};
use waggle_study::{Scenario, Source, Values};

use super::{arguments::Load, target::Target};

/// Reads and checks the scenario that `--scenario` names, with the feeds beside it.
///
/// # Errors
/// Every mistake in it, and what makes no sense beside it.
pub(crate) fn scenario(flags: &Load, target: &Target, file: &Path) -> Result<Scenario> {
    if target.path != "/" {
        bail!(
            "--scenario: each step names its own path, so the URL ends with the host and not with {:?}",
            target.path
        );
    }
    if target.user.is_some() {
        bail!(
            "--scenario: name and password in the URL reach no step; write the step's Authorization header"
        );
    }
    if flags.model.pipelining.is_some_and(|requests| requests > 1) {
        bail!("--scenario: a session sends one request at a time, so --pipelining is 1");
    }
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let source = Source {
        name: file.display().to_string(),
        text,
    };
    let files = waggle_runner::files_beside(file);
    let mut scenario = waggle_study::read_scenario(&source, &files)?;
    scenario.take_from_environment(Values {
        variable: &|name| std::env::var(name).ok(),
        file: &files,
    })?;
    Ok(scenario)
}

/// What conditions can name beside the whole load; empty without a scenario.
///
/// # Errors
/// As [`scenario`].
pub(crate) fn step_names(flags: &Load, target: &Target) -> Result<Vec<String>> {
    match &flags.request.scenario {
        Some(file) => Ok(scenario(flags, target, file)?.steps),
        None => Ok(Vec::new()),
    }
}

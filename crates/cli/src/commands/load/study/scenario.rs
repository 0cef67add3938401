//! `--scenario`: a scenario file instead of one request.

use std::path::Path;

use anyhow::{Result, bail};
use waggle_convert::Target;
use waggle_spec::Protocol;
use waggle_study::{Scenario, TakenValue, Values};

use crate::{arguments::load::Load, inputs::study};

/// Reads and checks the scenario of `--scenario`, with its feeds, and takes values of its headers from the environment.
///
/// # Errors
/// Mistakes in the scenario, and flags that cannot be used with it.
pub(crate) fn scenario(
    flags: &Load,
    target: &Target,
    file: &Path,
) -> Result<(Scenario, Vec<TakenValue>)> {
    if target.path != "/" {
        bail!(
            "--scenario: each step has its own path; remove {:?} from the URL",
            target.path
        );
    }
    if target.user.is_some() {
        bail!(
            "--scenario: name and password in the URL are not supported; write an Authorization header in the steps"
        );
    }
    let may_have_streams = match flags.secure.protocol() {
        Protocol::Http1 => false,
        Protocol::Http2 => true,
        Protocol::Auto => target.is_secure,
    };
    if !may_have_streams && flags.model.pipelining.is_some_and(|requests| requests > 1) {
        bail!(
            "--scenario: --pipelining must be 1, because over HTTP/1.1 a session sends one request at a time; with --http2 it is the \
             number of sessions at once on each connection"
        );
    }
    let source = study::read(file)?;
    let files = waggle_runner::files_beside(file);
    let mut scenario = waggle_study::read_scenario(&source, &files)?;
    let taken = scenario.take_from_environment(Values {
        variable: &|name| std::env::var(name).ok(),
        file: &files,
    });
    let taken = taken.map_err(|why| study::error_with_position(&why, &source, &files))?;
    Ok((scenario, taken))
}

/// The steps that conditions can name; empty without a scenario.
///
/// # Errors
/// As [`scenario`].
pub(crate) fn step_names(flags: &Load, target: &Target) -> Result<Vec<String>> {
    match &flags.request.scenario {
        Some(file) => Ok(scenario(flags, target, file)?.0.steps),
        None => Ok(Vec::new()),
    }
}

//! `waggle agent`: makes a share of a run's load on another host.

use std::env;

use anyhow::{Context, Result};
use waggle_agents::{AgentError, AgentOptions, JoinFile, run_agent};

use crate::{arguments::Agent, output::print_progress, process::exit::Exit};

/// Set by Kubernetes in the pods of an Indexed Job; counted from 0.
const INDEX: &str = "JOB_COMPLETION_INDEX";

pub(crate) fn run(arguments: &Agent) -> Result<Exit> {
    let number = match arguments.number {
        Some(number) => Some(number.get()),
        None => number_of_pod()?,
    };
    let options = AgentOptions {
        join: JoinFile::read(&arguments.join)?,
        number,
        wait: arguments.wait,
    };
    match run_agent(&options, |line| print_progress(&line.to_string())) {
        Ok(()) => Ok(Exit::Fine),
        Err(lost @ AgentError::Lost { .. }) => {
            print_progress(&lost.to_string());
            Ok(Exit::TrialFailed)
        }
        Err(why) => Err(why.into()),
    }
}

/// The number of a pod of an Indexed Job.
fn number_of_pod() -> Result<Option<usize>> {
    let Ok(index) = env::var(INDEX) else {
        return Ok(None);
    };
    let number: usize = index
        .parse()
        .with_context(|| format!("{INDEX} is no index"))?;
    Ok(Some(number + 1))
}

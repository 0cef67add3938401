//! `waggle __runner`: the runner of a run in the pod that was made for it. `serve` is the process of the pod; the other actions are
//! started beside it, by connections from outside, for the study (`files`), the stream of the run (`stream`) and its folder.

pub(super) mod files;
mod folder;
mod serve;
mod stream;
pub(super) mod submission;

use std::io;

use anyhow::Result;

use self::folder::PodFolder;
use crate::{
    arguments::{Runner, RunnerAction},
    process::exit::Exit,
};

pub(crate) fn run(arguments: &Runner) -> Result<Exit> {
    let pod = PodFolder::new(&arguments.folder);
    match arguments.action {
        RunnerAction::Serve => return serve::serve(&pod),
        RunnerAction::Receive => files::receive(&pod, io::stdin())?,
        RunnerAction::Attach => return stream::copy(&pod),
        RunnerAction::Send => files::send(&pod, io::stdout().lock())?,
        RunnerAction::Finish => files::finish(&pod)?,
    }
    Ok(Exit::Fine)
}

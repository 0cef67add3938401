//! `waggle system image`: an image of what a system has fetched, with what that needs of this machine.

#[cfg(feature = "cluster")]
mod layers;
#[cfg(feature = "cluster")]
mod levels;

use anyhow::Result;

use crate::{arguments::SystemImage, process::exit::Exit};

#[cfg(feature = "cluster")]
pub(super) fn run(arguments: &SystemImage) -> Result<Exit> {
    layers::run(arguments)
}

#[cfg(not(feature = "cluster"))]
pub(super) fn run(_: &SystemImage) -> Result<Exit> {
    anyhow::bail!(crate::commands::cluster::NO_SUPPORT)
}

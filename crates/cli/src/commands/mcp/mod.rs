//! `waggle mcp`: tools for assistants, by the Model Context Protocol over the standard input and output.
//!
//! `tools` says which there are and what they take (`fields`), `answers` what they return, `limits` what they may touch. A run is a
//! child process (`child`), of which there is one at a time. `server` speaks the protocol.

#[cfg(feature = "mcp")]
mod answers;
#[cfg(feature = "mcp")]
mod child;
#[cfg(feature = "mcp")]
mod fields;
#[cfg(feature = "mcp")]
mod limits;
#[cfg(feature = "mcp")]
mod server;
#[cfg(feature = "mcp")]
mod tools;

use anyhow::Result;

use crate::{arguments::Mcp, process::exit::Exit};

#[cfg(feature = "mcp")]
pub(crate) fn run(arguments: &Mcp) -> Result<Exit> {
    server::run(limits::Limits::new(arguments)?)
}

#[cfg(not(feature = "mcp"))]
pub(crate) fn run(_: &Mcp) -> Result<Exit> {
    anyhow::bail!(
        "this build of waggle has no tools for assistants; build it with `--features mcp`, or take a package"
    )
}

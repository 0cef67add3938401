//! Programs of Debian that are asked, each with a limit of time.

use std::{ffi::OsStr, path::Path, process::Stdio, time::Duration};

use tokio::{process::Command, time::timeout};

use crate::error::ImageError;

/// Letters of what a program says that are shown.
const SAID_MAX: usize = 600;

/// A program with its arguments.
pub(super) struct Call<'a> {
    pub(super) program: &'static str,
    pub(super) arguments: &'a [&'a OsStr],
    pub(super) folder: &'a Path,
    pub(super) limit: Duration,
}

/// What it wrote.
///
/// # Errors
/// It cannot be run, takes too long, or fails.
pub(super) async fn output(call: Call<'_>) -> Result<Vec<u8>, ImageError> {
    let Call {
        program,
        arguments,
        folder,
        limit,
    } = call;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = timeout(limit, command.output()).await;
    let output = output.map_err(|_| ImageError::Slow { program, limit })?;
    let output = output.map_err(|problem| ImageError::Program { program, problem })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: String = said.trim().chars().take(SAID_MAX).collect();
    Err(ImageError::Failed { program, said })
}

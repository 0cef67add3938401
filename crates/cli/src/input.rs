//! Reads input of the user from a file or the standard input. `what` names it in error messages.

use std::{fs::File, io::Read, path::Path};

use anyhow::{Context, Result, anyhow, bail};

use crate::files::question;

/// Limit on the input.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

pub(crate) fn file(path: &Path, what: &str) -> Result<Vec<u8>> {
    file_within(path, what, MAX_BYTES)
}

/// A file of limited size.
pub(crate) fn file_within(path: &Path, what: &str, max_bytes: u64) -> Result<Vec<u8>> {
    let opened = File::open(path).map_err(|problem| {
        let near = waggle_runner::nearest_file(path);
        anyhow!("cannot read {what}: {problem}{}", question(near.as_deref()))
    })?;
    read_bounded(opened, what, max_bytes)
}

pub(crate) fn standard_input(what: &str) -> Result<Vec<u8>> {
    read_bounded(std::io::stdin().lock(), what, MAX_BYTES)
}

fn read_bounded(from: impl Read, what: &str, max_bytes: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {what}"))?;
    if bytes.len() as u64 > max_bytes {
        bail!("{what} is longer than {max_bytes} bytes");
    }
    Ok(bytes)
}

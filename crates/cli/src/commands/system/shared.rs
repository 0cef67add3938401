//! Shared by the commands: output, levels, folders of artifacts, the runtime, and requests to end.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, bail};
use tokio::{runtime::Runtime, sync::watch};
use waggle_study::Level;

use crate::process::interrupts::Interrupts;

#[expect(
    clippy::print_stdout,
    reason = "the text is the output of these commands"
)]
pub(super) fn print_line(text: &str) {
    println!("{text}");
}

/// A level for each parameter of a system, from `PARAMETER=LEVEL`.
pub(super) fn levels(
    system: &waggle_study::System,
    given: &[String],
) -> Result<BTreeMap<String, Level>> {
    let mut pairs = Vec::new();
    for text in given {
        let Some((name, level)) = text.split_once('=') else {
            bail!("{text}: expected PARAMETER=LEVEL");
        };
        pairs.push((name.to_owned(), level.to_owned()));
    }
    waggle_study::parameter_levels(system, &pairs).map_err(|why| anyhow!(why))
}

pub(crate) fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")
}

/// Becomes true on a request to end the program.
pub(super) fn asked_to_end() -> Result<watch::Receiver<bool>> {
    let (stop, shutdown) = watch::channel(false);
    let interrupts = Interrupts::new(|| {});
    interrupts.follow(move || {
        stop.send_replace(true);
    });
    interrupts.listen()?;
    Ok(shutdown)
}

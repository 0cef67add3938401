//! `waggle run --attach`: shows a run that another process drives (`screen`), by the stream at its socket (`follow`), or hands the
//! stream on (`raw`).

pub(super) mod follow;
mod raw;
pub(super) mod screen;
pub(crate) mod watch;

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Result, anyhow, bail};
use waggle_results::RunLock;

use self::{
    follow::{Link, OPEN_TIMEOUT, Open, Opened, Unreachable, follow},
    screen::Presentation,
};
use super::stream::{ended, socket};
use crate::{arguments::Run, inputs::runs, process::exit::Exit};

/// Follows the given run, or the newest one that goes on in the folder of runs.
pub(super) fn run(arguments: &Run, given: Option<&Path>) -> Result<Exit> {
    let folder = match given {
        Some(folder) => folder.to_path_buf(),
        None => newest(&arguments.runs)?,
    };
    check(&folder)?;
    let mut open = || open_run(&folder);
    let open: Open<'_> = &mut open;
    match arguments.attached.raw {
        true => raw::copy(&folder, open),
        false => {
            let presentation = Presentation {
                is_quiet: arguments.quiet,
                may_be_live: !arguments.no_live,
                again: attach_command(&folder),
                is_own: false,
                pause: Duration::ZERO,
                runs: None,
                open_timeout: OPEN_TIMEOUT,
            };
            follow(open, &presentation).map(|shown| shown.exit)
        }
    }
}

/// Copies the stream of a run in a folder to the standard output, and orders to it.
pub(super) fn copy(folder: &Path) -> Result<Exit> {
    raw::copy(folder, &mut || open_run(folder))
}

pub(super) fn has_stream(folder: &Path) -> bool {
    socket::connect(folder).is_ok()
}

/// How the run ended is in its folder.
pub(super) fn has_end(folder: &Path) -> bool {
    matches!(ended::read(folder), Ok(Some(_)))
}

fn attach_command(folder: &Path) -> String {
    let folder = folder.display().to_string();
    format!("waggle run --attach={}", runs::shell_word(&folder))
}

/// The newest run in a folder of runs that offers its stream.
fn newest(runs: &Path) -> Result<PathBuf> {
    let mut folders = match runs.exists() {
        true => runs::runs_in(runs)?,
        false => Vec::new(),
    };
    runs::sort_by_time(&mut folders);
    let mut newest_first = folders.into_iter().rev();
    if let Some(folder) = newest_first.find(|folder| socket::connect(folder).is_ok()) {
        return Ok(folder);
    }
    let (hint, runs) = (runs::newest_hint(runs), runs.display());
    bail!(
        "no run goes on in {runs}{hint}; --attach=RUN names one, and --runs another folder of runs"
    )
}

fn check(folder: &Path) -> Result<()> {
    let shown = folder.display();
    if !folder.exists() {
        bail!("cannot attach to {shown}: there is no such folder");
    }
    if !waggle_results::is_run(folder) {
        let hint = runs::newest_hint(folder);
        bail!("{shown} is not a run: it has no run.json{hint}");
    }
    match waggle_results::run_info(folder) {
        Ok(_) => Ok(()),
        Err(why) => bail!("cannot attach to {shown}: {why}"),
    }
}

/// Opens the stream of a run in a folder of this machine.
fn open_run(folder: &Path) -> Result<Opened, Unreachable> {
    let fail = |why: String| Unreachable::Never(anyhow!("{}: {why}", folder.display()));
    let problem = match socket::connect(folder) {
        Ok(to_run) => {
            let from_run = to_run.try_clone().map_err(|why| fail(why.to_string()))?;
            return Ok(Opened::Stream(Link {
                from_run: Box::new(from_run),
                to_run: Box::new(to_run),
            }));
        }
        Err(problem) => problem,
    };
    if !matches!(
        problem.kind(),
        ErrorKind::NotFound | ErrorKind::ConnectionRefused
    ) {
        return Err(fail(format!("cannot connect to the run: {problem}")));
    }
    match ended::read(folder) {
        Ok(Some(ended)) => return Ok(Opened::Ended(ended)),
        Ok(None) => {}
        Err(why) => return Err(fail(format!("cannot read how the run ended: {why}"))),
    }
    if RunLock::take(folder).is_err() {
        return Err(Unreachable::Now(format!(
            "the run in {} offers no stream",
            folder.display()
        )));
    }
    let shown = folder.display();
    Err(fail(format!(
        "nobody runs it, and it has no end: it was killed, or another version of waggle ran it. `waggle report {shown}` reports on what is \
         there, and `waggle run STUDY.yaml --resume={shown}` runs the rest"
    )))
}

//! The stream of a run on the standard output, and orders to it from the standard input: for a process at the other end of a pipe or
//! of a connection into a container, which shows the run.

use std::{
    io::{self, ErrorKind, Read, Write},
    path::Path,
};

use anyhow::{Context, Result};

use super::follow::{Link, OPEN_TIMEOUT, Open, Opened, Tries};
use crate::{
    commands::run::stream::message::{Hello, Message, line},
    process::exit::Exit,
};

/// Copies until the stream ends. How the run ended is in its last line.
pub(super) fn copy(folder: &Path, open: Open<'_>) -> Result<Exit> {
    let out = io::stdout().lock();
    let copied = match Tries::new(OPEN_TIMEOUT).open(open, &|| false)? {
        None => Ok(()),
        Some(Opened::Ended(ended)) => {
            let name = folder.file_name().map(|name| name.to_string_lossy());
            let study = waggle_results::run_info(folder).map(|info| info.study);
            let hello = Hello::new(&name.unwrap_or_default(), &study.unwrap_or_default());
            let lines = [line(&Message::Hello(hello)), line(&Message::Ended(ended))];
            pass(&mut lines.concat().as_bytes(), out)
        }
        Some(Opened::Stream(Link {
            mut from_run,
            to_run,
        })) => {
            std::thread::Builder::new()
                .name("orders".to_owned())
                .spawn(move || pass(&mut io::stdin(), to_run))
                .context("cannot start the thread that passes orders on")?;
            pass(&mut from_run, out)
        }
    };
    match copied {
        Err(problem) if problem.kind() != ErrorKind::BrokenPipe => {
            Err(problem).context("cannot copy the stream")
        }
        // Who read it has gone away, and the run goes on.
        Ok(()) | Err(_) => Ok(Exit::Fine),
    }
}

/// Writes what is read as it comes, to the end.
fn pass(from: &mut impl Read, mut to: impl Write) -> io::Result<()> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        match from.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(read) => to.write_all(&bytes[..read]).and_then(|()| to.flush())?,
            Err(problem) if problem.kind() == ErrorKind::Interrupted => {}
            Err(problem) => return Err(problem),
        }
    }
}

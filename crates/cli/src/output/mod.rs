//! What people read: writes to the standard output and the error stream, wraps lines (`wrap`), formats values (`values`), and writes
//! the files that a comparison or a history is asked for (`result_files`).
//!
//! It is no error if the reader goes away (`| head`, a closed terminal).

#[cfg(test)]
pub(crate) mod golden;
pub(crate) mod result_files;
pub(crate) mod transcript;
pub(crate) mod values;
mod wrap;

use std::{
    io::{ErrorKind, Write},
    os::fd::AsFd,
};

use anyhow::{Context, Result};

use self::wrap::wrap;

/// Writes a result for people to the standard output; at a terminal its lines break between words.
///
/// # Errors
/// As [`print_result`].
pub(crate) fn print_text(text: &str) -> Result<()> {
    transcript::note(text);
    match width() {
        Some(width) => write(&wrap(text, width)),
        None => write(text),
    }
}

/// Writes the result of a command to the standard output, byte by byte.
///
/// # Errors
/// The result cannot be written, for another reason than a missing reader.
pub(crate) fn print_result(text: &str) -> Result<()> {
    transcript::note(text);
    write(text)
}

fn write(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(problem) if !is_nobody_there(&problem) => {
            Err(problem).context("cannot write the result")
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Characters in a line of the terminal; `None` if the standard output is none.
pub(crate) fn width() -> Option<usize> {
    width_of(std::io::stdout())
}

fn width_of(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Writes a line of progress to the error stream, where it breaks as in [`print_text`]; errors are ignored.
pub(crate) fn print_progress(line: &str) {
    let mut err = std::io::stderr().lock();
    let line = match width_of(&err) {
        Some(width) => wrap(line, width),
        None => line.to_owned(),
    };
    let _ = err.write_all(format!("{line}\n").as_bytes());
}

/// Whether the reader has closed its end, or the terminal was hung up.
fn is_nobody_there(problem: &std::io::Error) -> bool {
    let is_hung_up = || {
        problem.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
            && rustix::fs::fstat(std::io::stdout()).is_ok_and(|status| {
                rustix::fs::FileType::from_raw_mode(status.st_mode)
                    == rustix::fs::FileType::CharacterDevice
            })
    };
    problem.kind() == ErrorKind::BrokenPipe || is_hung_up()
}

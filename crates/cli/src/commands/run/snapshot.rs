//! The state of a run that goes on, read once from its stream: for who asks now and then, and shows no view.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read},
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use super::{
    attach::follow::check_version,
    state::State,
    stream::{
        ended,
        message::{Ended, LINE_MAX_BYTES, Message},
        socket,
    },
};

/// Lines come at once, or something is wrong.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// How far a run is.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) study: String,
    pub(crate) question: String,
    /// As far as they are planned.
    pub(crate) trials: u32,
    pub(crate) trials_done: u32,
    /// An estimate.
    pub(crate) left: Duration,
    /// What goes on now, as the terminal shows it; empty between two trials.
    pub(crate) line: String,
}

/// The state of a run; `None`: it shows nothing now.
///
/// # Errors
/// The stream is of another version, or cannot be read.
pub(crate) fn snapshot(run: &Path) -> Result<Option<Snapshot>> {
    let stream = match socket::connect(run) {
        Ok(stream) => stream,
        Err(why)
            if matches!(
                why.kind(),
                ErrorKind::NotFound | ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(None);
        }
        Err(why) => return Err(why).context("cannot follow the run"),
    };
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    let mut from = BufReader::new(stream);
    let mut shown = None;
    loop {
        let mut bytes = Vec::new();
        (&mut from)
            .take(LINE_MAX_BYTES)
            .read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        match serde_json::from_slice(&bytes) {
            Ok(Message::Hello(hello)) => check_version(&hello)?,
            Ok(Message::State { study, elapsed_us }) => {
                let state = State::new(study.outline.clone());
                shown = Some((study, state, Duration::from_micros(elapsed_us)));
            }
            Ok(Message::Step { elapsed_us, step }) => {
                if let Some((_, state, elapsed)) = &mut shown {
                    *elapsed = Duration::from_micros(elapsed_us);
                    state.apply(&step, *elapsed);
                }
            }
            Ok(Message::UpToDate) => break,
            Ok(Message::Ended(_)) => return Ok(None),
            Ok(Message::Refused(why)) => bail!("the run shows nothing: {why}"),
            // A figure that has no form in JSON: the next line has another one.
            Ok(Message::Alive) | Err(_) => {}
        }
    }
    // Before the run has begun it has no trials.
    let shown = shown.filter(|(_, state, _)| state.trials > 0);
    Ok(shown.map(|(study, state, elapsed)| Snapshot {
        study: study.name,
        question: study.question,
        trials: state.trials,
        trials_done: state.done,
        left: state.time_left(elapsed),
        line: state.line(),
    }))
}

/// How a run ended: its exit code, what it printed, the mistake that ended it; `None`: it has not ended, or was killed.
///
/// # Errors
/// The file cannot be read, or is of another version.
pub(crate) fn run_end(run: &Path) -> Result<Option<(u8, String, Option<String>)>> {
    let kept =
        ended::read(run).with_context(|| format!("cannot read how {} ended", run.display()))?;
    Ok(kept.map(
        |Ended {
             exit_code,
             text,
             mistake,
         }| (exit_code, text, mistake),
    ))
}

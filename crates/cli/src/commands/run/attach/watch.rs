//! Follows a run for others than the terminal: the state of the live view, once a second.

use std::{
    io::Write,
    os::unix::net::UnixStream,
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use waggle_serve::{LiveEnd, LiveState, Reason};

use super::follow::{Input, LINES_MAX, SILENCE_TIMEOUT, check_version, read_lines};
use crate::commands::run::{
    board_updater::BoardUpdater,
    stream::{
        ended,
        message::{Ended, Message},
        socket,
    },
};

/// Between two states.
const SHOW_INTERVAL: Duration = Duration::from_secs(1);

/// Calls with the state of a run, once a second, until it ends or the call returns false.
///
/// # Errors
/// The run cannot be followed, in words.
pub(crate) fn follow(run: &Path, show: &mut dyn FnMut(LiveState) -> bool) -> Result<(), Reason> {
    let followed = match socket::connect(run) {
        Ok(stream) => Following::new(stream).and_then(|following| following.follow(show)),
        Err(_) => show_end(run, show),
    };
    followed.map_err(|why| Reason(format!("{why:#}")))
}

/// A run that offers nothing has ended, or has no socket yet.
fn show_end(run: &Path, show: &mut dyn FnMut(LiveState) -> bool) -> Result<()> {
    let study = waggle_results::run_info(run)?;
    match ended::read(run)? {
        Some(ended) => {
            show(LiveState {
                study: study.study,
                question: study.question,
                end: Some(live_end(ended)),
                ..LiveState::default()
            });
            Ok(())
        }
        None => bail!("the run offers nothing to follow: it has not begun yet, or was killed"),
    }
}

fn live_end(ended: Ended) -> LiveEnd {
    LiveEnd {
        exit_code: ended.exit_code,
        text: ended.mistake.unwrap_or(ended.text),
    }
}

struct Following {
    lines: Receiver<Input>,
    /// Closed at the end, which ends the thread that reads.
    stream: UnixStream,
    updater: Option<BoardUpdater>,
    /// When the run began.
    began: Instant,
}

impl Following {
    fn new(stream: UnixStream) -> Result<Self> {
        let (sender, lines) = sync_channel(LINES_MAX);
        let from_run = stream.try_clone()?;
        // Threads inherit the low priority of this one.
        std::thread::Builder::new()
            .name("stream".to_owned())
            .spawn(move || read_lines(from_run, &sender))?;
        Ok(Self {
            lines,
            stream,
            updater: None,
            began: Instant::now(),
        })
    }

    fn follow(mut self, show: &mut dyn FnMut(LiveState) -> bool) -> Result<()> {
        let mut heard = Instant::now();
        let mut due = Instant::now();
        loop {
            let left = due.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(Input::Line(bytes)) => {
                    heard = Instant::now();
                    if let Some(end) = self.read(&bytes)? {
                        show(LiveState {
                            end: Some(live_end(end)),
                            ..self.state()
                        });
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout) if heard.elapsed() < SILENCE_TIMEOUT => {}
                Ok(Input::Lost) | Err(_) => bail!("the stream of the run was lost"),
            }
            if Instant::now() >= due && self.updater.is_some() {
                if !show(self.state()) {
                    return Ok(());
                }
                due = Instant::now() + SHOW_INTERVAL;
            } else if Instant::now() >= due {
                due = Instant::now() + SHOW_INTERVAL / 10;
            }
        }
    }

    /// Applies a line; returns the end of the run.
    fn read(&mut self, bytes: &[u8]) -> Result<Option<Ended>> {
        match serde_json::from_slice(bytes) {
            Ok(Message::Hello(hello)) => check_version(&hello)?,
            Ok(Message::State { study, elapsed_us }) => {
                let elapsed = Duration::from_micros(elapsed_us);
                let now = Instant::now();
                self.began = now.checked_sub(elapsed).unwrap_or(now);
                match &mut self.updater {
                    Some(updater) => updater.begin_again(study),
                    None => self.updater = Some(BoardUpdater::new(study)),
                }
            }
            Ok(Message::Step { elapsed_us, step }) => {
                if let Some(updater) = &mut self.updater {
                    updater.apply(&step, Duration::from_micros(elapsed_us));
                }
            }
            Ok(Message::Ended(ended)) => return Ok(Some(ended)),
            Ok(Message::Refused(why)) => bail!("the run shows nothing: {why}"),
            Ok(Message::UpToDate | Message::Alive) => {}
            Err(_) if self.updater.is_none() => bail!("the run is of another version of waggle"),
            // A figure that has no form in JSON: the next line has another one.
            Err(_) => {}
        }
        Ok(None)
    }

    fn state(&self) -> LiveState {
        let updater = self.updater.as_ref();
        updater.map_or_else(LiveState::default, |updater| {
            updater.board.state(self.began.elapsed())
        })
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.stream.flush().ok();
        self.stream.shutdown(std::net::Shutdown::Both).ok();
    }
}

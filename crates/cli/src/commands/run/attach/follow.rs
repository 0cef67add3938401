//! Shows a run by its stream, whatever carries it: a socket, or pipes of a process in a container. A lost stream is opened again.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};

use super::screen::{Presentation, Requests, Screen};
use crate::{
    commands::run::stream::message::{Ended, FORMAT, Hello, LINE_MAX_BYTES, Message, Order, line},
    output,
    process::exit::Exit,
};

/// A stream that can be read, and takes orders.
pub(in crate::commands::run) struct Link {
    pub(in crate::commands::run) from_run: Box<dyn Read + Send>,
    pub(in crate::commands::run) to_run: Box<dyn Write + Send>,
}

/// What is found where the stream of a run is looked for.
pub(in crate::commands::run) enum Opened {
    Stream(Link),
    /// The run has ended before.
    Ended(Ended),
}

/// Why there is no stream.
pub(in crate::commands::run) enum Unreachable {
    /// There may be one later.
    Now(String),
    Never(anyhow::Error),
}

/// Opens the stream, at first and when it was lost.
pub(in crate::commands::run) type Open<'a> = &'a mut dyn FnMut() -> Result<Opened, Unreachable>;

/// A stream that cannot be opened is tried again for so long.
pub(super) const OPEN_TIMEOUT: Duration = Duration::from_secs(15);
const OPEN_INTERVAL: Duration = Duration::from_millis(200);
/// Streams that are lost before they say anything new; more of them in a row are given up.
const LOST_MAX: u32 = 10;
/// The pause between two tries is doubled so often.
const PAUSE_DOUBLINGS_MAX: u32 = 5;
/// A stream that says nothing for so long is lost; a run that goes on says so every five seconds.
pub(super) const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);
/// How often requests of the user are looked at.
const REQUEST_INTERVAL: Duration = Duration::from_millis(50);
/// Lines that may wait to be shown.
pub(super) const LINES_MAX: usize = 64;
/// At so many requests to stop the view ends, whatever the run does.
const STOPS_MAX: u32 = 3;

/// How the view of a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands::run) struct Shown {
    pub(in crate::commands::run) exit: Exit,
    /// The run has ended, and not the view alone.
    pub(in crate::commands::run) is_over: bool,
}

/// Shows a run until it ends, and returns with its exit code; or until the user leaves it.
///
/// # Errors
/// There is no stream, it is of another version, or it was lost for good.
pub(in crate::commands::run) fn follow(
    open: Open<'_>,
    presentation: &Presentation,
) -> Result<Shown> {
    let requests = Requests::listen()?;
    let mut screen = Screen::new(presentation, &requests);
    let end = until_end(open, &mut screen, &requests);
    screen.end();
    let (exit, is_over) = match end? {
        End::Ended(ended) => (close(&ended, presentation)?, true),
        End::EndedBefore(ended) => {
            if !presentation.is_own {
                output::print_progress("the run has ended before:");
            }
            (close(&ended, presentation)?, true)
        }
        End::Left => {
            output::print_progress(&format!(
                "the run goes on; it is shown again by: {}",
                presentation.again
            ));
            let exit = match requests.leave_signals.count() {
                0 => Exit::Fine,
                _ => Exit::Interrupted,
            };
            (exit, false)
        }
        End::LeftStopping => {
            output::print_progress(&format!(
                "the run was asked to stop, and may still be doing so: {}",
                presentation.again
            ));
            (Exit::Interrupted, false)
        }
    };
    Ok(Shown { exit, is_over })
}

/// How the view ends.
enum End {
    Ended(Ended),
    EndedBefore(Ended),
    Left,
    LeftStopping,
}

/// The user ends the view now.
fn asked_end(requests: &Requests) -> Option<End> {
    if requests.leave.count() > 0 || requests.leave_signals.count() > 0 {
        return Some(End::Left);
    }
    (requests.stop.count() >= STOPS_MAX).then_some(End::LeftStopping)
}

fn until_end(open: Open<'_>, screen: &mut Screen<'_>, requests: &Requests) -> Result<End> {
    let mut tries = Tries::new(screen.open_timeout());
    loop {
        let opened = tries.open(open, &|| asked_end(requests).is_some())?;
        let link = match (opened, asked_end(requests)) {
            (_, Some(end)) => return Ok(end),
            (Some(Opened::Ended(ended)), None) => {
                return Ok(match screen.has_begun() {
                    true => End::Ended(ended),
                    false => End::EndedBefore(ended),
                });
            }
            (Some(Opened::Stream(link)), None) => link,
            (None, None) => continue,
        };
        match Followed::new(link)?.follow(screen, requests, &mut tries)? {
            Some(end) => return Ok(end),
            None => screen.note("the stream of the run was lost; it is opened again"),
        }
        let pause = screen.pause() * 2_u32.pow(tries.lost.min(PAUSE_DOUBLINGS_MAX));
        let until = Instant::now() + pause;
        while Instant::now() < until && asked_end(requests).is_none() {
            std::thread::sleep(REQUEST_INTERVAL);
        }
    }
}

/// Prints what the run printed.
fn close(ended: &Ended, presentation: &Presentation) -> Result<Exit> {
    match &presentation.runs {
        None => output::print_text(&ended.text)?,
        Some(runs) => output::print_text(&with_runs(&ended.text, runs))?,
    }
    if let Some(mistake) = &ended.mistake {
        output::print_progress(mistake);
    }
    let code = ended.exit_code;
    Exit::from_code(code).ok_or_else(|| {
        anyhow!("the run ended with exit code {code}, which this waggle does not know")
    })
}

/// The text with the paths of run folders as they are here: the run had its folder in `runs`.
fn with_runs(text: &str, runs: &Path) -> String {
    let here = format!("{}/", runs.display());
    let parts =
        text.split_inclusive(|letter: char| letter.is_whitespace() || "=('\"".contains(letter));
    parts
        .map(|part| {
            let rest = part.strip_prefix("runs/");
            rest.map_or_else(|| part.to_owned(), |rest| format!("{here}{rest}"))
        })
        .collect()
}

/// Counts how often the stream was lost.
pub(super) struct Tries {
    lost: u32,
    open_timeout: Duration,
}

impl Tries {
    pub(super) fn new(open_timeout: Duration) -> Self {
        Self {
            lost: 0,
            open_timeout,
        }
    }

    /// Opens the stream; `None`: it is not wanted any more.
    pub(super) fn open(
        &mut self,
        open: Open<'_>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Opened>> {
        if self.lost > LOST_MAX {
            bail!("the stream of the run was lost {LOST_MAX} times in a row");
        }
        self.lost += 1;
        let begun = Instant::now();
        loop {
            if is_over() {
                return Ok(None);
            }
            match open() {
                Ok(opened) => return Ok(Some(opened)),
                Err(Unreachable::Never(why)) => return Err(why),
                Err(Unreachable::Now(why)) if begun.elapsed() >= self.open_timeout => {
                    bail!("{why} (tried for {} s)", self.open_timeout.as_secs())
                }
                Err(Unreachable::Now(_)) => std::thread::sleep(OPEN_INTERVAL),
            }
        }
    }

    fn has_worked(&mut self) {
        self.lost = 0;
    }
}

/// A stream that is followed.
struct Followed {
    lines: Receiver<Input>,
    to_run: Box<dyn Write + Send>,
    /// Requests to stop that this stream was sent.
    stops: u32,
    heard: Instant,
}

pub(super) enum Input {
    Line(Vec<u8>),
    Lost,
}

impl Followed {
    fn new(link: Link) -> Result<Self> {
        let (sender, lines) = sync_channel(LINES_MAX);
        let from_run = link.from_run;
        // It ends with the stream, or with this process.
        std::thread::Builder::new()
            .name("stream".to_owned())
            .spawn(move || read_lines(from_run, &sender))
            .context("cannot start the thread that reads the stream")?;
        Ok(Self {
            lines,
            to_run: link.to_run,
            stops: 0,
            heard: Instant::now(),
        })
    }

    /// Shows what comes; `None`: the stream was lost.
    fn follow(
        mut self,
        screen: &mut Screen<'_>,
        requests: &Requests,
        tries: &mut Tries,
    ) -> Result<Option<End>> {
        loop {
            if let Some(end) = asked_end(requests) {
                return Ok(Some(end));
            }
            while self.stops < requests.stop.count() {
                self.stops += 1;
                if self.send(Order::Stop).is_err() {
                    return Ok(None);
                }
            }
            let bytes = match self.lines.recv_timeout(REQUEST_INTERVAL) {
                Ok(Input::Line(bytes)) => bytes,
                Err(RecvTimeoutError::Timeout) if self.heard.elapsed() < SILENCE_TIMEOUT => {
                    continue;
                }
                Ok(Input::Lost) | Err(_) => return Ok(None),
            };
            self.heard = Instant::now();
            match serde_json::from_slice(&bytes) {
                Ok(Message::Hello(hello)) => check_version(&hello)?,
                Ok(Message::Ended(ended)) => {
                    return Ok(Some(match screen.has_begun() {
                        true => End::Ended(ended),
                        false => End::EndedBefore(ended),
                    }));
                }
                Ok(Message::Refused(why)) => bail!("the run shows nothing: {why}"),
                Ok(Message::State { study, elapsed_us }) => {
                    screen.begin(study, Duration::from_micros(elapsed_us))?;
                }
                Ok(Message::Step { elapsed_us, step }) => {
                    screen.show(&step, Duration::from_micros(elapsed_us));
                }
                Ok(Message::UpToDate) => {
                    tries.has_worked();
                    screen.is_up_to_date = true;
                }
                Ok(Message::Alive) => {}
                Err(_) if !screen.has_begun() => check_format(&bytes)?,
                // A figure that has no form in JSON: the next line has another one.
                Err(_) => {}
            }
        }
    }

    fn send(&mut self, order: Order) -> std::io::Result<()> {
        self.to_run.write_all(line(&order).as_bytes())?;
        self.to_run.flush()
    }
}

pub(super) fn read_lines(from: impl Read, lines: &SyncSender<Input>) {
    let mut from = BufReader::new(from);
    loop {
        let mut bytes = Vec::new();
        let read = (&mut from)
            .take(LINE_MAX_BYTES)
            .read_until(b'\n', &mut bytes);
        let input = match read {
            Ok(_) if bytes.ends_with(b"\n") => Input::Line(bytes),
            // Cut, or too long.
            Ok(_) | Err(_) => Input::Lost,
        };
        let is_lost = matches!(input, Input::Lost);
        if lines.send(input).is_err() || is_lost {
            return;
        }
    }
}

pub(in crate::commands::run) fn check_version(hello: &Hello) -> Result<()> {
    let ours = Hello::new("", "");
    if (hello.format, &hello.waggle) == (FORMAT, &ours.waggle) {
        return Ok(());
    }
    bail!(
        "{} is run by waggle {} (stream format {}), and this is waggle {} (format {FORMAT}): attach with the same version",
        hello.run,
        hello.waggle,
        hello.format,
        ours.waggle
    )
}

/// The first lines cannot be read: those of another format, or of another program.
fn check_format(bytes: &[u8]) -> Result<()> {
    let text = String::from_utf8_lossy(bytes);
    let start: String = text.trim_end().chars().take(80).collect();
    bail!("expected the stream of a run in format {FORMAT}, and not {start:?}")
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::process::interrupts::Interrupts;

    /// Follows a stream of these bytes, and then another one of them, and so on; returns how it ends.
    fn check(bytes: &str) -> Result<End> {
        let presentation = Presentation {
            is_quiet: true,
            may_be_live: false,
            again: String::new(),
            is_own: false,
            pause: Duration::ZERO,
            runs: None,
            open_timeout: OPEN_TIMEOUT,
        };
        let requests = Requests {
            stop: Interrupts::new(|| {}),
            leave: Interrupts::new(|| {}),
            leave_signals: Interrupts::new(|| {}),
        };
        let mut open = || {
            Ok(Opened::Stream(Link {
                from_run: Box::new(io::Cursor::new(bytes.to_owned())),
                to_run: Box::new(io::sink()),
            }))
        };
        let mut screen = Screen::new(&presentation, &requests);
        until_end(&mut open, &mut screen, &requests)
    }

    #[track_caller]
    fn fails(bytes: &str, expected: &str) {
        let error = check(bytes).err().map(|why| why.to_string());
        let error = error.unwrap_or_default();
        assert!(error.contains(expected), "{error}");
    }

    fn hello(format: u32, version: &str) -> String {
        let hello = Hello {
            format,
            waggle: version.to_owned(),
            ..Hello::new("runs/x", "x")
        };
        line(&Message::Hello(hello)).to_string()
    }

    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[test]
    fn a_stream_of_another_version_or_kind_is_refused() {
        fails(
            &hello(FORMAT, "9.9"),
            "runs/x is run by waggle 9.9 (stream format 1), and this is waggle",
        );
        fails(&hello(7, VERSION), "(stream format 7), and this is waggle");
        fails(
            "{\"greeting\":{}}\n",
            "expected the stream of a run in format 1, and not \"{\\\"greeting\\\":{}}\"",
        );
        fails("Permission denied\n", "and not \"Permission denied\"");
        let full = hello(FORMAT, VERSION) + "{\"refused\":\"too many\"}\n";
        fails(&full, "the run shows nothing: too many");
    }

    #[test]
    fn a_stream_that_is_lost_again_and_again_is_given_up() {
        fails("", "was lost 10 times in a row");
        fails(&hello(FORMAT, VERSION), "was lost 10 times in a row");
        fails(
            &hello(FORMAT, VERSION).repeat(2)[..90],
            "was lost 10 times in a row",
        );
    }

    #[test]
    fn paths_of_a_run_elsewhere_are_those_of_here() {
        let text = "report: runs/a-1/report.html\n(runs/a-1) reruns/x --run=runs/a-1\n";
        let expected = "report: /r/a-1/report.html\n(/r/a-1) reruns/x --run=/r/a-1\n";
        assert_eq!(with_runs(text, Path::new("/r")), expected);
    }

    #[test]
    fn an_end_is_an_end() {
        let end = hello(FORMAT, VERSION)
            + "{\"ended\":{\"exit_code\":4,\"text\":\"open\",\"mistake\":null}}\n";
        let ended = check(&end).unwrap();
        assert!(matches!(ended, End::EndedBefore(ended) if ended.exit_code == 4));
    }
}

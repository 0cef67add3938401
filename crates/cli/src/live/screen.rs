//! The terminal: taken for the live view, and restored however the program ends, if it can react.

use std::{
    fs::File,
    io::{self, IsTerminal, Stderr, Write, stderr, stdin},
    os::fd::AsFd,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ratatui::{
    Terminal,
    backend::CrosstermBackend,
    buffer::Buffer,
    crossterm::{cursor, execute, terminal},
    layout::Rect,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

/// Whether the view owns the terminal.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static PANIC_HOOK: Once = Once::new();

/// Whether the error stream is a terminal that can show the view: not a dumb one, and not that of a background job, which the
/// system would stop for writing.
pub(crate) fn fits() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let in_background = rustix::termios::tcgetpgrp(stderr())
        .is_ok_and(|foreground| foreground != rustix::process::getpgrp());
    stderr().is_terminal() && !is_dumb && !in_background
}

/// The terminal while the view owns it.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<io::BufWriter<Stderr>>>,
    /// The source of keys, which crossterm reads.
    keys: File,
}

impl Screen {
    /// Takes the terminal.
    pub(super) fn take() -> io::Result<Self> {
        PANIC_HOOK.call_once(give_back_on_panic);
        IS_TAKEN.store(true, Ordering::SeqCst);
        let taken = terminal::enable_raw_mode()
            .and_then(|()| execute!(stderr(), terminal::EnterAlternateScreen, cursor::Hide))
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::BufWriter::new(stderr()))))
            .and_then(|terminal| {
                let keys = keys()?;
                Ok(Self { terminal, keys })
            });
        match taken {
            Ok(screen) => Ok(screen),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Draws the view; only changes are written.
    pub(super) fn draw(&mut self, draw: impl FnOnce(Rect, &mut Buffer)) -> io::Result<()> {
        if !IS_TAKEN.load(Ordering::SeqCst) {
            // Restored by a panic or by the end of the program: a frame would mix with the last messages.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.terminal
            .draw(|frame| draw(frame.area(), frame.buffer_mut()))?;
        Ok(())
    }
}

impl Screen {
    /// Waits for a key up to `at_most`. Needed before crossterm reads, which would never return on a closed terminal.
    ///
    /// # Errors
    /// The terminal has gone away.
    pub(super) fn waits_for_key(&self, at_most: Duration) -> io::Result<bool> {
        let mut wait = [PollFd::new(&self.keys, PollFlags::IN)];
        let at_most = Timespec::try_from(at_most).map_err(io::Error::other)?;
        match poll(&mut wait, Some(&at_most)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(false),
            Err(problem) => return Err(problem.into()),
        }
        let came = wait[0].revents();
        if came.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(came.contains(PollFlags::IN))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        before(panic);
    }));
}

/// The same choice as in crossterm.
fn keys() -> io::Result<File> {
    if stdin().is_terminal() {
        Ok(stdin().as_fd().try_clone_to_owned()?.into())
    } else {
        File::open("/dev/tty")
    }
}

/// Restores the terminal if the view owns it. Errors are ignored.
pub(crate) fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(stderr(), terminal::LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
        let _ = stderr().flush();
    }
}

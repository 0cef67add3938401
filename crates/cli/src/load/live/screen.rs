//! The terminal: taken for the live view, and given back however the program ends that can be told.

use std::{
    io::{self, IsTerminal, Stderr, Write, stderr},
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

use ratatui::{
    Terminal,
    backend::CrosstermBackend,
    buffer::Buffer,
    crossterm::{cursor, execute, terminal},
    layout::Rect,
};

/// Whether the terminal is ours now.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static PANIC_HOOK: Once = Once::new();

/// Whether there is a terminal that can show a view: on the error stream, as all progress, with a cursor to move, and ours
/// to draw on (a job in the background would be stopped by the system for trying).
pub(crate) fn fits() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let in_background = rustix::termios::tcgetpgrp(stderr())
        .is_ok_and(|foreground| foreground != rustix::process::getpgrp());
    stderr().is_terminal() && !is_dumb && !in_background
}

/// The terminal while it is ours.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<io::BufWriter<Stderr>>>,
}

impl Screen {
    /// Takes the terminal.
    pub(super) fn take() -> io::Result<Self> {
        PANIC_HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                before(panic);
            }));
        });
        IS_TAKEN.store(true, Ordering::SeqCst);
        let taken = terminal::enable_raw_mode()
            .and_then(|()| execute!(stderr(), terminal::EnterAlternateScreen, cursor::Hide))
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::BufWriter::new(stderr()))));
        match taken {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Draws the whole view; only what has changed is written.
    pub(super) fn draw(&mut self, draw: impl FnOnce(Rect, &mut Buffer)) -> io::Result<()> {
        if !IS_TAKEN.load(Ordering::SeqCst) {
            // Given back by a panic elsewhere, or by the end of the program: what is drawn now would stand among its last words.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.terminal
            .draw(|frame| draw(frame.area(), frame.buffer_mut()))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back, where it was taken; else does nothing. Errors have nobody to be told to.
pub(crate) fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(stderr(), terminal::LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
        let _ = stderr().flush();
    }
}

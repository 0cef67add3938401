//! The live view: a separate thread draws the state of a load or a run several times per second, and reads keys.
//!
//! The follower of a load or a run updates the `board`: intervals go to the `view_model` (with `history` and `spectrum`), and
//! `judge_pace` limits how often they are checked. `draw` renders the board to a buffer. `screen` owns the terminal, and always
//! restores it.

mod board;
mod draw;
mod history;
mod judge_pace;
mod screen;
mod spectrum;
mod state;
#[cfg(test)]
mod tests;
mod view_model;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
pub(crate) use board::{Board, CellBoard, Mark, PhaseNow, Shared, StudyBoard, TrialNow};
pub(crate) use judge_pace::JudgePace;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
pub(crate) use screen::{fits, give_back};
pub(crate) use view_model::{Title, ViewModel};

use self::{
    draw::{Frame, Page, Palette},
    history::TimeRange,
    screen::Screen,
};
use crate::{
    process::{interrupts::Interrupts, priority::out_of_the_way},
    trial::sides::Side,
};

/// Minimum time between two frames.
const DRAW_INTERVAL: Duration = Duration::from_millis(100);
/// Limit on the wait for the drawing thread, which may hang on a terminal that accepts no output.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// What keys do beside changing the view.
#[derive(Debug, Clone)]
pub(crate) struct KeyActions {
    /// Ends what is shown.
    pub(crate) end: Interrupts,
    /// Ends the view alone, if what is shown goes on without it.
    pub(crate) leave: Option<Interrupts>,
}

/// The view while it owns the terminal.
#[derive(Debug)]
pub(crate) struct Live {
    is_over: Arc<AtomicBool>,
    /// Nothing is sent; the other end is dropped when the drawing thread ends.
    ended: mpsc::Receiver<()>,
}

impl Live {
    /// Takes the terminal and starts to draw what began at this instant. The view does not run on `engine_cpus` if there are other
    /// CPUs.
    ///
    /// # Errors
    /// The terminal lacks a capability.
    pub(crate) fn start(
        board: &Shared,
        keys: KeyActions,
        engine_cpus: Vec<usize>,
        began: Instant,
    ) -> Result<Self> {
        let has_study = board.lock().study.is_some();
        let is_over = Arc::new(AtomicBool::new(false));
        let screen = Screen::take().context("cannot show the live view; --no-live disables it")?;
        let mut drawing = Drawing {
            board: board.clone(),
            is_over: Arc::clone(&is_over),
            keys,
            began,
            paused: None,
            page: Page::default(),
            range: TimeRange::default(),
            palette: if std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()) {
                Palette::Coloured
            } else {
                Palette::Plain
            },
            with_help: false,
            side: Side::First,
            has_study,
        };
        let (until_end, ended) = mpsc::channel();
        std::thread::Builder::new()
            .name("view".to_owned())
            .spawn(move || {
                let _until_end = until_end;
                out_of_the_way(&engine_cpus);
                drawing.run(screen);
            })
            .context("cannot start the thread of the live view")?;
        Ok(Self { is_over, ended })
    }

    /// Ends the view and restores the terminal.
    pub(crate) fn end(&mut self) {
        if !self.is_over.swap(true, Ordering::Relaxed) {
            // The result does not matter; a panic was shown already.
            let _ = self.ended.recv_timeout(END_TIMEOUT);
            give_back();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end();
    }
}

/// State of the drawing thread.
struct Drawing {
    board: Shared,
    is_over: Arc<AtomicBool>,
    keys: KeyActions,
    began: Instant,
    /// The frozen board and its time while the display is paused.
    paused: Option<(Board, Duration)>,
    page: Page,
    range: TimeRange,
    palette: Palette,
    with_help: bool,
    /// The trial of a duet that is shown.
    side: Side,
    has_study: bool,
}

impl Drawing {
    fn next_page(&self) -> Page {
        match self.page {
            Page::Overview => Page::Times,
            Page::Times => Page::Details,
            Page::Details if self.has_study => Page::Cells,
            Page::Details | Page::Cells => Page::Overview,
        }
    }

    /// Draws until the load is over. If the terminal goes away, only the view ends; the load continues.
    fn run(&mut self, mut screen: Screen) {
        while !self.is_over.load(Ordering::Relaxed) {
            let drawn_at = Instant::now();
            if self.draw(&mut screen).is_err()
                || self.keys(&screen, drawn_at + DRAW_INTERVAL).is_err()
            {
                return;
            }
        }
    }

    fn draw(&self, screen: &mut Screen) -> std::io::Result<()> {
        let guard;
        let (board, elapsed) = match &self.paused {
            Some((board, since)) => (board, *since),
            None => {
                guard = self.board.lock();
                (&*guard, self.began.elapsed())
            }
        };
        let frame = Frame {
            study: board.study.as_ref(),
            model: board.side(self.side),
            duet: board
                .partner
                .as_ref()
                .map(|partner| [&board.trial, partner]),
            side: match board.partner {
                Some(_) => self.side,
                None => Side::First,
            },
            elapsed,
            page: self.page,
            range: self.range,
            palette: self.palette,
            is_paused: self.paused.is_some(),
            asked_to_end: self.keys.end.count(),
            may_leave: self.keys.leave.is_some(),
            with_help: self.with_help,
        };
        screen.draw(|area, buffer| draw::draw(&frame, area, buffer))
    }

    fn leave_or_end(&self) {
        let leave = self.keys.leave.as_ref();
        leave.unwrap_or(&self.keys.end).wait_for_interrupt();
    }

    /// Handles keys until the next frame is due.
    fn keys(&mut self, screen: &Screen, until: Instant) -> std::io::Result<()> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.is_over.load(Ordering::Relaxed) || !screen.waits_for_key(left)? {
                return Ok(());
            }
            while event::poll(Duration::ZERO)? {
                if let Event::Key(key) = event::read()?
                    && key.kind != KeyEventKind::Release
                {
                    self.key(key);
                }
            }
        }
    }

    fn key(&mut self, key: KeyEvent) {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => self.keys.end.wait_for_interrupt(),
            KeyCode::Char('d') if is_control => self.leave_or_end(),
            KeyCode::Char('q' | 'Q') => self.leave_or_end(),
            KeyCode::Char(' ') => {
                self.paused = match self.paused.take() {
                    Some(_) => None,
                    None => Some((self.board.lock().clone(), self.began.elapsed())),
                };
            }
            KeyCode::Char('1') => self.page = Page::Overview,
            KeyCode::Char('2') => self.page = Page::Times,
            KeyCode::Char('3') => self.page = Page::Details,
            KeyCode::Char('4') if self.has_study => self.page = Page::Cells,
            KeyCode::Tab => self.page = self.next_page(),
            KeyCode::Char('w' | 'W') => {
                self.range = match self.range {
                    TimeRange::Whole => TimeRange::Latest,
                    TimeRange::Latest => TimeRange::Whole,
                };
            }
            KeyCode::Char('v' | 'V') => {
                self.side = match self.side {
                    Side::First => Side::Partner,
                    Side::Partner => Side::First,
                };
            }
            KeyCode::Char('?' | 'h') => self.with_help = !self.with_help,
            KeyCode::Esc => self.with_help = false,
            _ => {}
        }
    }
}

//! The live view: a thread of its own draws what the engine's intervals say, some times a second, and listens to keys.
//!
//! Who follows a load or a run folds what happens into the `board`: intervals into `shown` (with `history` and `spectrum`), and has it judged as often as
//! `judging` allows; `draw` makes a buffer of it; `screen` has the terminal, which it gives back whatever happens.

mod board;
mod draw;
mod history;
mod judging;
mod screen;
mod shown;
mod spectrum;
#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use waggle_runner::cpus;

use self::{
    draw::{Ink, Look, Page},
    history::Span,
    screen::Screen,
};
use crate::interrupts::Interrupts;

pub(crate) use board::{Board, CellBoard, Mark, PhaseNow, Shared, StudyBoard, TrialNow};
pub(crate) use judging::JudgePace;
pub(crate) use screen::{fits, give_back};
pub(crate) use shown::{Shown, Title};

/// Time from one drawing to the next, at least.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// How long the end of the drawing thread is awaited: it may hang on a terminal that takes nothing more.
const END_AT_MOST: Duration = Duration::from_secs(1);
/// How nice the drawing thread is to the threads of the engine.
const NICE: i32 = 15;

/// The view while it has the terminal.
#[derive(Debug)]
pub(crate) struct Live {
    is_over: Arc<AtomicBool>,
    /// Nothing is ever sent; the other end is dropped when the drawing thread ends.
    ended: mpsc::Receiver<()>,
}

impl Live {
    /// Takes the terminal and draws from now on; a wish to end goes to `interrupts`. Nothing is drawn on `engine_cpus`, where
    /// there are others.
    ///
    /// # Errors
    /// The terminal does not do what is needed.
    pub(crate) fn start(
        board: &Shared,
        interrupts: Interrupts,
        engine_cpus: Vec<usize>,
    ) -> Result<Self> {
        let has_study = board.lock().study.is_some();
        let is_over = Arc::new(AtomicBool::new(false));
        let screen = Screen::take().context("cannot show the live view; --no-live does without")?;
        let mut drawing = Drawing {
            board: board.clone(),
            is_over: Arc::clone(&is_over),
            interrupts,
            began: Instant::now(),
            paused: None,
            page: Page::default(),
            span: Span::default(),
            ink: if std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()) {
                Ink::Coloured
            } else {
                Ink::Plain
            },
            with_help: false,
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

    /// Nothing more comes: the terminal is given back.
    pub(crate) fn end(&mut self) {
        if !self.is_over.swap(true, Ordering::Relaxed) {
            // It has nothing to say at its end; where it panicked, that was shown.
            let _ = self.ended.recv_timeout(END_AT_MOST);
            give_back();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end();
    }
}

/// The engine goes first: nowhere on its CPUs where there are others, and elsewhere only when nobody else wants to run.
/// Neither is worth a word where the system refuses.
pub(crate) fn out_of_the_way(engine_cpus: &[usize]) {
    let _ = rustix::process::setpriority_process(None, NICE);
    let mut others = rustix::thread::CpuSet::new();
    let free: Vec<usize> = cpus::allowed_cpus()
        .into_iter()
        .filter(|cpu| !engine_cpus.contains(cpu))
        .collect();
    for cpu in &free {
        others.set(*cpu);
    }
    if !free.is_empty() && !engine_cpus.is_empty() {
        let _ = rustix::thread::sched_setaffinity(None, &others);
    }
}

/// What the drawing thread has.
struct Drawing {
    board: Shared,
    is_over: Arc<AtomicBool>,
    interrupts: Interrupts,
    began: Instant,
    /// What is looked at while the display is paused, and since when.
    paused: Option<(Board, Duration)>,
    page: Page,
    span: Span,
    ink: Ink,
    with_help: bool,
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

    /// Draws until the load is over. A terminal that has gone away ends the view alone: the load goes on.
    fn run(&mut self, mut screen: Screen) {
        while !self.is_over.load(Ordering::Relaxed) {
            let drawn_at = Instant::now();
            if self.draw(&mut screen).is_err() || self.keys(&screen, drawn_at + DRAW_EVERY).is_err()
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
        let look = Look {
            study: board.study.as_ref(),
            shown: &board.trial,
            elapsed,
            page: self.page,
            span: self.span,
            ink: self.ink,
            is_paused: self.paused.is_some(),
            asked_to_end: self.interrupts.count(),
            with_help: self.with_help,
        };
        screen.draw(|area, buffer| draw::draw(&look, area, buffer))
    }

    /// Takes keys until it is time to draw again.
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
            KeyCode::Char('c' | 'd') if is_control => self.interrupts.wait_for_interrupt(),
            KeyCode::Char('q' | 'Q') => self.interrupts.wait_for_interrupt(),
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
                self.span = match self.span {
                    Span::Whole => Span::Latest,
                    Span::Latest => Span::Whole,
                };
            }
            KeyCode::Char('?' | 'h') => self.with_help = !self.with_help,
            KeyCode::Esc => self.with_help = false,
            _ => {}
        }
    }
}

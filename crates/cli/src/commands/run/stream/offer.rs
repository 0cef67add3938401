//! What a run offers to followers: its steps and its end, at a socket in its folder.

use std::{
    collections::VecDeque,
    io::{self, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use waggle_load::Interval;
use waggle_results::PhaseName;
use waggle_system::host::measuring::Measuring;

use super::{
    ended,
    followers::{WAITING_MAX, serve},
    message::{Ended, Hello, Line, Message, line, microseconds},
    replay::Replay,
    socket::Socket,
};
use crate::{
    commands::run::progress::{Progress, StudyFacts},
    process::{interrupts::Interrupts, priority::out_of_the_way},
};

/// Shorter intervals are merged to this length.
const INTERVAL_MIN: Duration = Duration::from_millis(250);

/// A run that others may follow.
pub(in crate::commands::run) struct Watched<'a> {
    pub(in crate::commands::run) run_folder: &'a Path,
    /// Is told how many do.
    pub(in crate::commands::run) measuring: Arc<Measuring>,
}

/// What the run and the thread of its followers share.
pub(super) struct Hub {
    pub(super) hello: Line,
    study: StudyFacts,
    began: Instant,
    /// Is told how many follow.
    pub(super) measuring: Arc<Measuring>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    replay: Replay,
    /// Lines that the thread has not taken yet.
    news: VecDeque<Line>,
    is_overrun: bool,
    /// Lines so far, those that wait included.
    count: u64,
    end: Option<Line>,
    is_over: bool,
}

/// What happened since it was asked last.
pub(super) struct News {
    /// Lines before these.
    pub(super) before: u64,
    pub(super) lines: VecDeque<Line>,
    /// Some of it is missing.
    pub(super) is_overrun: bool,
    pub(super) is_over: bool,
}

impl Hub {
    pub(super) fn take_news(&self) -> News {
        let mut state = self.lock();
        let lines = std::mem::take(&mut state.news);
        News {
            before: state.count - lines.len() as u64,
            lines,
            is_overrun: std::mem::take(&mut state.is_overrun),
            is_over: state.is_over,
        }
    }

    /// The lines that make the state so far, and how many lines of the run it has in it.
    pub(super) fn state_so_far(&self) -> (u64, Vec<Line>) {
        let begin = line(&Message::State {
            study: self.study.clone(),
            elapsed_us: microseconds(self.began.elapsed()),
        });
        let up_to_date = line(&Message::UpToDate);
        let state = self.lock();
        let mut lines = vec![begin];
        lines.extend(state.replay.lines().cloned());
        lines.push(up_to_date);
        lines.extend(state.end.clone());
        (state.count, lines)
    }

    fn add(&self, step: &Progress, line: &Line) {
        let mut state = self.lock();
        state.replay.add(step, line);
        state.add_news(line.clone());
    }

    /// Without a line the stream is cut.
    fn end(&self, end: Option<Line>) {
        let mut state = self.lock();
        if let Some(end) = &end {
            state.add_news(end.clone());
        }
        (state.end, state.is_over) = (end, true);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A half-changed state is better than none.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add_news(&mut self, line: Line) {
        if self.news.len() >= WAITING_MAX {
            self.news.clear();
            self.is_overrun = true;
        }
        self.news.push_back(line);
        self.count += 1;
    }
}

/// The offer of a run. Without [`Offer::end`] its followers find the stream cut.
pub(in crate::commands::run) struct Offer {
    run: PathBuf,
    hub: Arc<Hub>,
    interrupts: Interrupts,
    /// Short intervals of the two sides that are merged.
    gathered: [Option<(PhaseName, Arc<Interval>)>; 2],
    serving: Option<Serving>,
    /// It was tried already.
    is_tried: bool,
}

struct Serving {
    thread: JoinHandle<()>,
    wake: UnixStream,
}

impl Offer {
    /// Nothing is written before the first step: the folder is made with the run.
    pub(in crate::commands::run) fn new(
        watched: &Watched<'_>,
        study: StudyFacts,
        interrupts: Interrupts,
        began: Instant,
    ) -> Self {
        let run = watched.run_folder;
        let name = run.file_name().map(|name| name.to_string_lossy());
        let hello = Hello::new(&name.unwrap_or_default(), &study.name);
        Self {
            run: run.to_path_buf(),
            hub: Arc::new(Hub {
                hello: line(&Message::Hello(hello)),
                study,
                began,
                measuring: Arc::clone(&watched.measuring),
                state: Mutex::default(),
            }),
            interrupts,
            gathered: [None, None],
            serving: None,
            is_tried: false,
        }
    }

    /// Tells followers of a step. Returns why there can be none, once.
    pub(in crate::commands::run) fn add(&mut self, step: &Progress) -> Option<io::Error> {
        let failed = self.open().err();
        let (side, inner) = step.split();
        match inner {
            Progress::Interval { phase, interval } => {
                let slot = side as usize;
                self.gather(slot, *phase, interval);
            }
            _ => {
                self.pass_gathered();
                self.pass(step);
            }
        }
        failed
    }

    /// The run is over: tells followers, keeps it for those that come later, and removes the socket.
    pub(in crate::commands::run) fn end(mut self, ended: &Ended) {
        self.pass_gathered();
        if waggle_results::is_run(&self.run) {
            // Who follows has it from the stream; a later one is told that the end is not known.
            ended::write(&self.run, ended).ok();
        }
        self.close(Some(line(&Message::Ended(ended.clone()))));
    }

    fn close(&mut self, end: Option<Line>) {
        self.hub.end(end);
        if let Some(serving) = self.serving.take() {
            wake(&serving.wake);
            serving.thread.join().ok();
        }
    }

    fn open(&mut self) -> io::Result<()> {
        // The folder of a run must be empty before.
        if self.is_tried || !waggle_results::is_run(&self.run) {
            return Ok(());
        }
        self.is_tried = true;
        ended::remove(&self.run);
        let socket = Socket::bind(&self.run)?;
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        let (hub, interrupts) = (Arc::clone(&self.hub), self.interrupts.clone());
        let thread = std::thread::Builder::new()
            .name("followers".to_owned())
            .spawn(move || {
                out_of_the_way(&[]);
                serve(&hub, &socket.listener, &theirs, &interrupts);
            })?;
        self.serving = Some(Serving { thread, wake: ours });
        Ok(())
    }

    fn gather(&mut self, slot: usize, phase: PhaseName, interval: &Arc<Interval>) {
        match &mut self.gathered[slot] {
            Some((same, gathered)) if *same == phase => {
                Arc::make_mut(gathered).follow(interval);
            }
            _ => {
                self.pass_side(slot);
                self.gathered[slot] = Some((phase, Arc::clone(interval)));
            }
        }
        let gathered = &self.gathered[slot];
        let length = gathered.as_ref().map(|(_, gathered)| gathered.length);
        if length >= Some(INTERVAL_MIN) {
            self.pass_side(slot);
        }
    }

    fn pass_gathered(&mut self) {
        for slot in 0..self.gathered.len() {
            self.pass_side(slot);
        }
    }

    fn pass_side(&mut self, slot: usize) {
        let Some((phase, interval)) = self.gathered[slot].take() else {
            return;
        };
        let step = Progress::Interval { phase, interval };
        self.pass(&match slot {
            0 => step,
            _ => Progress::Partner(Box::new(step)),
        });
    }

    fn pass(&self, step: &Progress) {
        let line = line(&Message::Step {
            elapsed_us: microseconds(self.hub.began.elapsed()),
            step: step.clone(),
        });
        self.hub.add(step, &line);
        if let Some(serving) = &self.serving {
            wake(&serving.wake);
        }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        if self.serving.is_some() {
            self.close(None);
        }
    }
}

/// A full pipe wakes as well.
fn wake(mut stream: &UnixStream) {
    let _ = stream.write(&[0]);
}

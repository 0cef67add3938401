//! Serves the followers of a run, all of them on one thread that waits for none of them.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    os::{
        fd::AsFd,
        unix::net::{UnixListener, UnixStream},
    },
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{
    message::{Line, Message, Order, line},
    offer::{Hub, News},
};
use crate::process::interrupts::Interrupts;

/// Processes that may follow a run at the same time.
pub(super) const FOLLOWERS_MAX: usize = 8;
/// Lines that may wait for a follower; one that is slower gets the state so far instead.
pub(super) const WAITING_MAX: usize = 512;
/// Longest line of a follower.
const ORDER_MAX_BYTES: usize = 4 << 10;
/// A follower that hears nothing for several times as long takes its stream for lost.
pub(super) const ALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// After an error of a follower that connects.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long the end of the run waits for followers that still read.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves until the run is over.
pub(super) fn serve(
    hub: &Hub,
    listener: &UnixListener,
    wake: &UnixStream,
    interrupts: &Interrupts,
) {
    let mut followers: Vec<Follower> = Vec::new();
    let mut said = Instant::now();
    let mut deadline: Option<Instant> = None;
    loop {
        let until = deadline.unwrap_or(said + ALIVE_INTERVAL);
        if wait(listener, wake, &followers, until).is_err() {
            return;
        }
        empty(wake);
        let news = hub.take_news();
        if !news.lines.is_empty() {
            said = Instant::now();
        } else if said.elapsed() >= ALIVE_INTERVAL {
            said = Instant::now();
            let alive = line(&Message::Alive);
            for follower in &mut followers {
                follower.add(&alive);
            }
        }
        pass(&news, &mut followers);
        accept(hub, listener, &mut followers);
        for follower in &mut followers {
            follower.take_orders(interrupts);
            follower.write(hub);
        }
        followers.retain(|follower| !follower.is_gone);
        hub.measuring.set_followers(followers.len());
        if news.is_over {
            let end = *deadline.get_or_insert_with(|| Instant::now() + END_TIMEOUT);
            let mut followers = followers.iter();
            if followers.all(|follower| follower.has_all()) || Instant::now() >= end {
                return;
            }
        }
    }
}

/// Waits until there is something to do, or until this instant.
fn wait(
    listener: &UnixListener,
    wake: &UnixStream,
    followers: &[Follower],
    until: Instant,
) -> io::Result<()> {
    let mut all = vec![
        PollFd::new(listener, PollFlags::IN),
        PollFd::new(wake, PollFlags::IN),
    ];
    for follower in followers {
        let write = match follower.has_all() {
            true => PollFlags::empty(),
            false => PollFlags::OUT,
        };
        all.push(PollFd::from_borrowed_fd(
            follower.stream.as_fd(),
            PollFlags::IN | write,
        ));
    }
    let left = until.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut all, Some(&left)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(problem) => Err(problem.into()),
    }
}

/// Takes what woke this thread.
fn empty(mut wake: &UnixStream) {
    let mut bytes = [0; 64];
    while wake.read(&mut bytes).is_ok_and(|read| read > 0) {}
}

fn pass(news: &News, followers: &mut [Follower]) {
    for follower in followers {
        follower.is_stale |= news.is_overrun;
        for (line, number) in news.lines.iter().zip(news.before..) {
            // The state that it was sent may have been newer.
            if number >= follower.knows {
                follower.add(line);
            }
        }
    }
}

fn accept(hub: &Hub, listener: &UnixListener, followers: &mut Vec<Follower>) {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(problem) if problem.kind() == ErrorKind::WouldBlock => return,
            Err(_) => {
                // It still waits, and this process may have no descriptor left.
                std::thread::sleep(ACCEPT_PAUSE);
                return;
            }
        };
        if stream.set_nonblocking(true).is_err() {
            continue;
        }
        let mut follower = Follower::new(stream);
        follower.queue.push_back(hub.hello.clone());
        if followers.len() < FOLLOWERS_MAX {
            follower.is_stale = true;
            followers.push(follower);
        } else {
            let text = format!("{FOLLOWERS_MAX} others follow this run, which is the most");
            follower.queue.push_back(line(&Message::Refused(text)));
            // The buffer of a new socket has room for it.
            follower.write(hub);
        }
    }
}

/// A process that follows the run.
struct Follower {
    stream: UnixStream,
    queue: VecDeque<Line>,
    /// Bytes of the first line that are written.
    written: usize,
    /// Lines that came after the state that it was sent last.
    waiting: usize,
    /// So many lines of the run were in that state.
    knows: u64,
    /// It has missed something, and gets the state so far when its queue is empty.
    is_stale: bool,
    orders: Vec<u8>,
    is_gone: bool,
}

impl Follower {
    fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            queue: VecDeque::new(),
            written: 0,
            waiting: 0,
            knows: 0,
            is_stale: false,
            orders: Vec::new(),
            is_gone: false,
        }
    }

    fn has_all(&self) -> bool {
        self.queue.is_empty() && !self.is_stale
    }

    fn add(&mut self, line: &Line) {
        if self.is_stale {
            return;
        }
        if self.waiting >= WAITING_MAX {
            // The line that is partly written is completed.
            self.queue.truncate(1);
            self.is_stale = true;
            return;
        }
        self.waiting += 1;
        self.queue.push_back(Arc::clone(line));
    }

    /// Writes as much as the follower takes.
    fn write(&mut self, hub: &Hub) {
        loop {
            let Some(line) = self.queue.front() else {
                if !self.is_stale {
                    self.waiting = 0;
                    return;
                }
                let (knows, state) = hub.state_so_far();
                self.queue.extend(state);
                (self.knows, self.waiting, self.is_stale) = (knows, 0, false);
                continue;
            };
            match self.stream.write(&line.as_bytes()[self.written..]) {
                Ok(written) => self.written += written,
                Err(problem) if problem.kind() == ErrorKind::Interrupted => {}
                Err(problem) => {
                    self.is_gone |= problem.kind() != ErrorKind::WouldBlock;
                    return;
                }
            }
            if self.written == line.len() {
                self.queue.pop_front();
                self.written = 0;
            }
        }
    }

    fn take_orders(&mut self, interrupts: &Interrupts) {
        let mut bytes = [0; 512];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => self.is_gone = true,
                Ok(read) => {
                    self.orders.extend_from_slice(&bytes[..read]);
                    self.obey(interrupts);
                    if !self.is_gone {
                        continue;
                    }
                }
                Err(problem) if problem.kind() == ErrorKind::Interrupted => continue,
                Err(problem) => self.is_gone |= problem.kind() != ErrorKind::WouldBlock,
            }
            return;
        }
    }

    /// Does what the complete lines say; one that says nothing ends the connection.
    fn obey(&mut self, interrupts: &Interrupts) {
        while let Some(end) = self.orders.iter().position(|byte| *byte == b'\n') {
            let order: Vec<u8> = self.orders.drain(..=end).collect();
            match serde_json::from_slice(&order) {
                Ok(Order::Stop) => interrupts.wait_for_interrupt(),
                Err(_) => self.is_gone = true,
            }
        }
        self.is_gone |= self.orders.len() > ORDER_MAX_BYTES;
    }
}

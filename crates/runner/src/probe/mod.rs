//! Following a store over HTTP: what it shows is read on from an offset, again and again, while load runs and after.

mod delays;
mod lines;
mod seen;

use std::time::Duration;

use tokio::{sync::watch, time::Instant};
use waggle_study::{Delivery, Probe};

use self::{
    delays::Delays,
    lines::{Lines, Markers},
    seen::Fate,
};
pub(crate) use self::{
    delays::{Window, histogram},
    seen::Seen,
};
use crate::{
    clock::Clock,
    placeholder::fill,
    web::{Ask, Line, WebError},
};

/// What decides how a store is followed.
#[derive(Debug, Clone)]
pub(crate) struct Following<'a> {
    pub(crate) probe: &'a Probe,
    pub(crate) delivery: &'a Delivery,
    /// The mark of this trial's records.
    pub(crate) run: String,
    pub(crate) workers: usize,
    pub(crate) sequence_max: u64,
    pub(crate) interval: Duration,
    pub(crate) clock: Clock,
    /// The measured phase, as soon as it is known.
    pub(crate) window: watch::Receiver<Option<Window>>,
}

/// Reads on in a store and notes what it sees.
#[derive(Debug)]
pub(crate) struct Follower {
    get: String,
    limit: u32,
    markers: Markers,
    lines: Lines,
    notes: Notes,
    /// The next record to be read.
    offset: u64,
    pub(crate) polls: u64,
    pub(crate) bytes_read: u64,
    pub(crate) rows_read: u64,
    /// Start of the last look that came to the store's end: what is shown after it may have been there ever since.
    caught_up: Instant,
    /// The longest time from such a look until rows came after it.
    pub(crate) longest_gap: Duration,
    /// Start of the first of several looks in a row that each showed as many rows as one may.
    behind_since: Option<Instant>,
    /// The longest such row of looks.
    pub(crate) longest_behind: Duration,
    /// Lines without an offset, which cannot be read on from.
    pub(crate) without_offset: u64,
}

/// What was found.
#[derive(Debug)]
struct Notes {
    run: Vec<u8>,
    clock: Clock,
    interval_ns: u64,
    late_after_us: Option<u64>,
    seen: Seen,
    late: u64,
    negative_delays: u64,
    delays: Delays,
    window: watch::Receiver<Option<Window>>,
}

impl Follower {
    pub(crate) fn new(following: &Following<'_>) -> Self {
        let Following {
            probe, delivery, ..
        } = following;
        Self {
            get: probe.get.clone(),
            limit: probe.limit,
            markers: Markers::new(probe),
            lines: Lines::default(),
            notes: Notes {
                run: following.run.as_bytes().to_vec(),
                clock: following.clock,
                interval_ns: nanoseconds(following.interval).max(1),
                late_after_us: delivery.late_after.map(|after| nanoseconds(after) / 1_000),
                seen: Seen::new(following.workers, following.sequence_max),
                late: 0,
                negative_delays: 0,
                delays: Delays::new(),
                window: following.window.clone(),
            },
            offset: 0,
            polls: 0,
            bytes_read: 0,
            rows_read: 0,
            caught_up: Instant::now(),
            longest_gap: Duration::ZERO,
            behind_since: None,
            longest_behind: Duration::ZERO,
            without_offset: 0,
        }
    }

    /// Looks once; true where the store has more than it showed at once.
    pub(crate) async fn look(&mut self, line: &mut impl Line) -> Result<bool, WebError> {
        let start = Instant::now();
        self.polls += 1;
        // A look that was given up left half a line, which is read again now.
        self.lines.forget();
        let path = page(&self.get, self.offset, self.limit);
        let rows_before = self.rows_read;
        let answer = line
            .ask(&Ask::get(&path), &mut |chunk| self.take(chunk))
            .await;
        match answer {
            Ok(200) => {
                let mut lines = std::mem::take(&mut self.lines);
                lines.end(|line| self.row(line, self.notes.clock.unix_ns()));
                Ok(self.looked(start, self.rows_read - rows_before))
            }
            // Nobody knows how long the store would have taken: that is no lateness of the probe.
            Ok(status) => {
                self.behind_since = None;
                Err(WebError::Status { path, status })
            }
            Err(problem) => {
                self.behind_since = None;
                Err(problem)
            }
        }
    }

    /// A look that was begun at `start` brought so many rows; true where there may be more.
    fn looked(&mut self, start: Instant, rows: u64) -> bool {
        if rows > 0 {
            self.longest_gap = self.longest_gap.max(self.caught_up.elapsed());
        }
        let has_more = rows >= u64::from(self.limit);
        if has_more {
            self.is_behind(start);
        } else {
            self.caught_up = start;
            self.behind_since = None;
        }
        has_more
    }

    /// A look that was begun at `start` brought rows and did not come to the store's end.
    pub(crate) fn is_behind(&mut self, start: Instant) {
        self.longest_gap = self.longest_gap.max(self.caught_up.elapsed());
        let since = *self.behind_since.get_or_insert(start);
        self.longest_behind = self.longest_behind.max(since.elapsed());
    }

    pub(crate) fn seen(&self) -> &Seen {
        &self.notes.seen
    }

    pub(crate) fn late(&self) -> u64 {
        self.notes.late
    }

    pub(crate) fn negative_delays(&self) -> u64 {
        self.notes.negative_delays
    }

    /// Delays until visible of what was sent in the measured phase, in microseconds.
    pub(crate) fn delays(&self) -> &hdrhistogram::Histogram<u64> {
        self.notes.delays.counted()
    }

    fn take(&mut self, chunk: &[u8]) {
        let received_ns = self.notes.clock.unix_ns();
        if let Some(window) = *self.notes.window.borrow() {
            self.notes.delays.decide(window);
        }
        self.bytes_read += chunk.len() as u64;
        let mut lines = std::mem::take(&mut self.lines);
        lines.add(chunk, |line| self.row(line, received_ns));
        self.lines = lines;
    }

    fn row(&mut self, line: &[u8], received_ns: u64) {
        if line.is_empty() {
            return;
        }
        self.rows_read += 1;
        let row = self.markers.read(line, &self.notes.run);
        match row.offset {
            Some(offset) => self.offset = self.offset.max(offset.saturating_add(1)),
            None => self.without_offset += 1,
        }
        match row.stamp {
            Some(stamp) => self.notes.record(stamp.key, stamp.time_ns, received_ns),
            None => {
                self.notes.seen.note_foreign();
            }
        }
    }
}

impl Notes {
    fn record(&mut self, key: u64, sent_ns: u64, received_ns: u64) {
        if self.seen.note(key) != Fate::New {
            return;
        }
        let Some(delay_ns) = received_ns.checked_sub(sent_ns) else {
            self.negative_delays += 1;
            return;
        };
        let delay_us = delay_ns / 1_000;
        if self
            .late_after_us
            .is_some_and(|late_after| delay_us > late_after)
        {
            self.late += 1;
        }
        let since_start = sent_ns.saturating_sub(self.clock.start_unix_ns());
        self.delays.note(since_start / self.interval_ns, delay_us);
    }
}

/// Path and query of one look.
pub(crate) fn page(get: &str, offset: u64, limit: u32) -> String {
    let value = |name: &str| match name {
        "offset" => Some(offset.to_string()),
        "limit" => Some(limit.to_string()),
        _ => None,
    };
    // A system's file is checked: there is nothing else in it.
    fill(get, value).unwrap_or_else(|_| get.to_owned())
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

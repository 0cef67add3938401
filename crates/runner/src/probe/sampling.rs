//! Which part of a store a probe reads while load runs. Pure.
//!
//! Reading all of a fast store takes CPU from the system that is measured. So a store that grows quickly is looked at in short
//! windows under load: at the start of a window the probe skips to the end of the store, and for the length of the window it sees
//! each record as it appears. It notes what it skipped, and reads that when the load is over.

use std::{collections::VecDeque, ops::Range, time::Duration};

use tokio::time::Instant;

use crate::number::{as_f64, share};

/// How much of a store is read under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleLimits {
    /// A store that is read at no more than this rate is read completely.
    pub whole_bytes_per_s: u64,
    /// Bytes that may be read at once before that rate counts.
    pub burst_bytes: u64,
    /// Of what comes, a share of 1 in this number is read in windows.
    pub share: u32,
    pub window: Duration,
}

impl Default for SampleLimits {
    fn default() -> Self {
        Self {
            whole_bytes_per_s: 4 << 20,
            burst_bytes: 4 << 20,
            share: 32,
            window: Duration::from_millis(5),
        }
    }
}

/// What to read next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turn {
    /// On from where it was read to.
    ReadOn,
    /// What is new in a window, from the end of the store on.
    Window,
    /// Nothing yet.
    Rest,
    /// What was skipped at these offsets.
    Skipped(Range<u64>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Under load, everything is read.
    Whole,
    /// The same, and stays so.
    WholeAlways,
    /// Under load, from this instant on in the next window.
    Windows(Instant),
    /// The load is over, and its last window is yet to come.
    LastWindow,
    /// The load is over: everything is read.
    Rest,
}

/// The state of one probe.
#[derive(Debug)]
pub(super) struct Sampling {
    limits: SampleLimits,
    began: Instant,
    mode: Mode,
    /// In their order; the first may be read in part.
    skipped: VecDeque<Range<u64>>,
    /// Offsets in them.
    skipped_count: u64,
    has_skipped: bool,
    /// When the end of the store was found last, and its offset.
    end: (Instant, u64),
    /// When the end of the store is to be looked at, after the load.
    read_on_at: Instant,
}

impl Sampling {
    pub(super) fn new(limits: SampleLimits) -> Self {
        let began = Instant::now();
        Self {
            limits,
            began,
            mode: Mode::Whole,
            skipped: VecDeque::new(),
            skipped_count: 0,
            has_skipped: false,
            end: (began, 0),
            read_on_at: began,
        }
    }

    pub(super) fn window(&self) -> Duration {
        self.limits.window
    }

    /// Whether load runs, so that a poll must not read too much at once.
    pub(super) fn is_under_load(&self) -> bool {
        matches!(self.mode, Mode::Whole | Mode::Windows(_))
    }

    /// Whether the load is over.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.mode, Mode::LastWindow | Mode::Rest)
    }

    /// Whether skipped ranges are left that are read now.
    pub(super) fn reads_skipped(&self) -> bool {
        self.is_over() && !self.skipped.is_empty()
    }

    /// Whether something was skipped, so that delays are those of a sample.
    pub(super) fn has_skipped(&self) -> bool {
        self.has_skipped
    }

    /// Offsets that are skipped and not read yet.
    pub(super) fn skipped_count(&self) -> u64 {
        self.skipped_count
    }

    /// What to read next, if this many bytes were read so far.
    pub(super) fn turn(&mut self, bytes_read: u64) -> Turn {
        let now = Instant::now();
        if self.mode == Mode::Whole && bytes_read > self.allowed_bytes(now) {
            self.mode = Mode::Windows(now);
        }
        match self.mode {
            Mode::Whole | Mode::WholeAlways => Turn::ReadOn,
            Mode::Windows(start) if now < start => Turn::Rest,
            Mode::Windows(_) | Mode::LastWindow => Turn::Window,
            Mode::Rest => match self.skipped.front() {
                Some(range) if now < self.read_on_at => Turn::Skipped(range.clone()),
                _ => Turn::ReadOn,
            },
        }
    }

    fn allowed_bytes(&self, now: Instant) -> u64 {
        let seconds = (now - self.began).as_secs_f64();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a limit, not a measurement; the cast saturates"
        )]
        let allowed = (self.limits.whole_bytes_per_s as f64 * seconds) as u64;
        allowed.saturating_add(self.limits.burst_bytes)
    }

    /// The store does not show where its end is, so that all of it is read.
    pub(super) fn give_up(&mut self) {
        self.mode = match self.mode {
            Mode::Whole | Mode::WholeAlways | Mode::Windows(_) => Mode::WholeAlways,
            Mode::LastWindow | Mode::Rest => Mode::Rest,
        };
    }

    /// How far the end of the store may have moved since it was found last, by the rate so far.
    pub(super) fn expected_growth(&self) -> u64 {
        let (instant, offset) = self.end;
        let before = (instant - self.began).as_secs_f64();
        let growth = as_f64(offset) * instant.elapsed().as_secs_f64();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a guess; the cast saturates"
        )]
        let growth = share(growth, before) as u64;
        growth
    }

    /// What lies before the end of the store is skipped, beginning with the first offset that was not read.
    pub(super) fn skip(&mut self, range: Range<u64>) {
        if range.start < range.end {
            self.skipped_count += range.end - range.start;
            self.has_skipped = true;
            self.skipped.push_back(range);
        }
    }

    /// A window that began then, with `rows` rows read, has ended with the store's end at `offset`. The next one comes when as many
    /// records have come that these are the share of them.
    pub(super) fn end_window(&mut self, began: Instant, rows: u64, offset: u64) {
        let (instant, before) = std::mem::replace(&mut self.end, (began, offset));
        let grown = as_f64(offset.saturating_sub(before));
        let rest = if grown > 0.0 {
            let since = began.saturating_duration_since(instant).as_secs_f64();
            let rest = since * as_f64(rows) * f64::from(self.limits.share) / grown;
            Duration::try_from_secs_f64(rest).unwrap_or(Duration::ZERO)
        } else {
            Duration::ZERO
        };
        self.mode = match self.mode {
            Mode::Windows(_) => Mode::Windows(began + rest),
            Mode::LastWindow => Mode::Rest,
            mode => mode,
        };
    }

    /// The load is over.
    pub(super) fn end_load(&mut self) {
        self.mode = match self.mode {
            Mode::Whole | Mode::WholeAlways | Mode::Rest => Mode::Rest,
            Mode::Windows(_) | Mode::LastWindow => Mode::LastWindow,
        };
    }

    /// The end of the store was looked at; it is to be looked at again after `pause`. What was skipped is read meanwhile.
    pub(super) fn note_end(&mut self, pause: Duration) {
        self.read_on_at = Instant::now() + pause;
    }

    /// The first skipped range was read up to this offset.
    pub(super) fn note_read(&mut self, to: u64) {
        let Some(range) = self.skipped.front_mut() else {
            return;
        };
        let to = to.clamp(range.start, range.end);
        self.skipped_count -= to - range.start;
        range.start = to;
    }

    /// Whether the first skipped range ends there and was read.
    pub(super) fn is_read_to(&self, end: u64) -> bool {
        self.skipped.front().is_some_and(|range| range.start >= end)
    }

    /// The store has no more of the first skipped range.
    pub(super) fn end_range(&mut self) {
        if let Some(range) = self.skipped.pop_front() {
            self.skipped_count -= range.end - range.start;
        }
    }

    /// The store is read again from its beginning.
    pub(super) fn restart(&mut self) {
        self.skipped.clear();
        self.skipped_count = 0;
        self.end = (self.began, 0);
    }
}

//! The latest reading of each series, in memory: of durable records only.
//!
//! Durable records are noted here before their requests are answered, so that a client finds its reading after a 204. The table
//! is divided into shards, each with a lock that is held for one reading. Both the number of series and their bytes have a limit;
//! above it the series that have been without a record for longest are evicted. HTTP is handled elsewhere.

mod shard;
mod text;

use std::{
    hash::BuildHasher,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use hashbrown::DefaultHashBuilder;
use waggle_service::metrics::Page;

use crate::log::store::Entries;
use shard::{Key, Origin, Shard};

/// Most shards; a power of two.
const SHARDS_MAX: usize = 16;
/// Fewest series of a shard: smaller shards would overflow while others have room.
const SHARD_SERIES_MIN: usize = 256;
/// Slots scanned under one lock for a page.
const RUN: usize = 64;

/// One reading, as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading<'a> {
    /// Measurement and tags.
    pub(crate) series: &'a [u8],
    pub(crate) fields: &'a [u8],
    /// Nanoseconds since 1970.
    pub(crate) time: i64,
}

impl Reading<'_> {
    /// The reading as a line of line protocol, with its line break.
    pub(crate) fn write_line(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.series);
        out.push(b' ');
        out.extend_from_slice(self.fields);
        out.push(b' ');
        out.extend_from_slice(itoa::Buffer::new().format(self.time).as_bytes());
        out.push(b'\n');
    }

    /// Copies the line and returns its time, so that the table can be unlocked.
    pub(crate) fn copy(&self, line: &mut Vec<u8>) -> i64 {
        line.clear();
        line.extend_from_slice(self.series);
        line.push(b' ');
        line.extend_from_slice(self.fields);
        self.time
    }
}

/// How a reading becomes the body of an answer.
pub(crate) struct Rendering<'a> {
    /// Buffer of the line.
    pub(crate) line: &'a mut Vec<u8>,
    /// `None` if the line cannot be read.
    pub(crate) render: fn(i64, &[u8], &mut Vec<u8>) -> Option<()>,
}

/// Limits of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LatestLimits {
    /// Over all topics; 0 keeps nothing.
    pub(crate) series: usize,
    pub(crate) bytes: usize,
}

/// The table of all series of all topics. A topic is known by its number.
#[derive(Debug)]
pub(crate) struct Latest {
    shards: Box<[Mutex<Shard>]>,
    hasher: DefaultHashBuilder,
    /// Readings from before the start are still being restored.
    is_filling: AtomicBool,
    /// Readings evicted since the start, including those that never fitted.
    evicted: AtomicU64,
}

/// Size of the table.
#[derive(Debug)]
struct Counts {
    series: u64,
    bytes: u64,
    /// Readings evicted since the start.
    evicted: u64,
}

/// The end of a page of readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor(pub(crate) u64);

impl Latest {
    pub(crate) fn new(limits: LatestLimits) -> Self {
        let wanted = (limits.series / SHARD_SERIES_MIN).clamp(1, SHARDS_MAX);
        // The largest power of two up to it.
        let count = 1 << wanted.ilog2();
        let shard = || {
            Mutex::new(Shard::new(LatestLimits {
                series: limits.series / count,
                bytes: limits.bytes / count,
            }))
        };
        Self {
            shards: if limits.series == 0 {
                Box::default()
            } else {
                (0..count).map(|_| shard()).collect()
            },
            hasher: DefaultHashBuilder::default(),
            is_filling: AtomicBool::new(false),
            evicted: AtomicU64::new(0),
        }
    }

    /// Whether the table is enabled.
    pub(crate) fn is_on(&self) -> bool {
        !self.shards.is_empty()
    }

    /// Whether readings from before the start may still be missing.
    pub(crate) fn is_filling(&self) -> bool {
        self.is_filling.load(Ordering::Acquire)
    }

    pub(crate) fn set_filling(&self, is_filling: bool) {
        self.is_filling.store(is_filling, Ordering::Release);
    }

    /// Notes lines that are in the log now: each with its time in nanoseconds, joined by line breaks.
    pub(crate) fn note_lines(&self, topic: u32, text: &[u8]) {
        if self.is_on() {
            text::readings(text, |reading| self.note(topic, reading, Origin::Now));
        }
    }

    /// Notes a chunk of the embedded store that is committed now.
    pub(crate) fn note_chunk(&self, topic: u32, bytes: &[u8]) {
        self.note_entries(topic, bytes, Origin::Now);
    }

    /// Notes a block of the embedded store's log that was committed before the start.
    pub(crate) fn note_restored(&self, topic: u32, bytes: &[u8]) {
        self.note_entries(topic, bytes, Origin::Before);
    }

    fn note_entries(&self, topic: u32, bytes: &[u8], origin: Origin) {
        if !self.is_on() {
            return;
        }
        for entry in Entries::new(bytes) {
            if let Some((series, fields)) = text::series_and_fields(entry.line) {
                let time = entry.time;
                let reading = Reading {
                    series,
                    fields,
                    time,
                };
                self.note(topic, reading, origin);
            }
        }
    }

    fn note(&self, topic: u32, reading: Reading<'_>, origin: Origin) {
        let hash = self.hash(topic, reading.series);
        let gone = self.shard(hash).note(hash, topic, reading, origin);
        if gone > 0 {
            self.evicted.fetch_add(gone, Ordering::Relaxed);
        }
    }

    /// The result of `give` for the latest reading of a series; `give` is called under a lock.
    pub(crate) fn read<T>(
        &self,
        topic: u32,
        series: &[u8],
        give: impl FnOnce(Reading<'_>) -> T,
    ) -> Option<T> {
        if !self.is_on() {
            return None;
        }
        let key = self.key(topic, series);
        self.shard(key.hash).find(key).map(give)
    }

    /// Writes the latest reading of a series to `out` as `render` makes it of its time and line, once for each reading. It is called
    /// without a lock; `line` is its buffer.
    pub(crate) fn read_rendered(
        &self,
        topic: u32,
        series: &[u8],
        out: &mut Vec<u8>,
        Rendering { line, render }: Rendering<'_>,
    ) -> Option<()> {
        if !self.is_on() {
            return None;
        }
        let key = self.key(topic, series);
        let (time, version) = {
            let shard = self.shard(key.hash);
            let (reading, rendered) = shard.find_rendered(key)?;
            match rendered {
                Ok(rendered) => {
                    out.extend_from_slice(rendered);
                    return Some(());
                }
                Err(version) => (reading.copy(line), version),
            }
        };
        let start = out.len();
        render(time, line, out)?;
        self.shard(key.hash)
            .keep_rendered(key, version, &out[start..]);
        Some(())
    }

    /// Calls `give` with readings of a topic from a slot on, in no particular order, until it returns false or a run of slots has
    /// been scanned; returns the slot of the next page, if there is one. A series that is not evicted meanwhile is given once.
    pub(crate) fn page(
        &self,
        topic: u32,
        from: Cursor,
        mut give: impl FnMut(Reading<'_>) -> bool,
    ) -> Option<Cursor> {
        let (mut shard, mut slot) = from.parts();
        let mut looked_at = 0;
        while shard < self.shards.len() {
            let locked = self.lock(shard);
            let end = (slot + RUN).min(locked.slot_count());
            while slot < end {
                if let Some(reading) = locked.reading_at(slot, topic)
                    && !give(reading)
                {
                    return Some(Cursor::new(shard, slot));
                }
                slot += 1;
                looked_at += 1;
            }
            if slot >= locked.slot_count() {
                (shard, slot) = (shard + 1, 0);
            }
            if looked_at >= RUN {
                break;
            }
        }
        (shard < self.shards.len()).then(|| Cursor::new(shard, slot))
    }

    /// Forgets the readings of a topic that is deleted.
    pub(crate) fn forget(&self, topic: u32) {
        for shard in 0..self.shards.len() {
            self.lock(shard).forget(topic);
        }
    }

    fn counts(&self) -> Counts {
        let (mut series, mut bytes) = (0, 0);
        for shard in 0..self.shards.len() {
            let shard = self.lock(shard);
            series += shard.series() as u64;
            bytes += shard.bytes() as u64;
        }
        Counts {
            series,
            bytes,
            evicted: self.evicted.load(Ordering::Relaxed),
        }
    }

    /// Writes its metrics.
    pub(crate) fn write_metrics(&self, page: &mut Page) {
        let counts = self.counts();
        page.gauge(
            "latest_series",
            "Series in the table of latest readings",
            counts.series,
        );
        page.gauge(
            "latest_bytes",
            "Memory of the latest readings",
            counts.bytes,
        );
        page.counter(
            "latest_evicted_total",
            "Readings evicted from the table of latest readings (--latest-max-series, --latest-max-bytes)",
            counts.evicted,
        );
    }

    fn key<'a>(&self, topic: u32, series: &'a [u8]) -> Key<'a> {
        Key {
            hash: self.hash(topic, series),
            topic,
            series,
        }
    }

    fn hash(&self, topic: u32, series: &[u8]) -> u64 {
        self.hasher.hash_one((topic, series))
    }

    /// The hash table of a shard uses other bits.
    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        let bits = usize::try_from((hash >> 32) & 0xffff).expect("16 bits");
        self.lock(bits & (self.shards.len() - 1))
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cursor {
    pub(crate) const START: Self = Self(0);

    fn new(shard: usize, slot: usize) -> Self {
        Self(((shard as u64) << 32) | slot as u64)
    }

    fn parts(self) -> (usize, usize) {
        let number = |bits: u64| usize::try_from(bits).unwrap_or(usize::MAX);
        (number(self.0 >> 32), number(self.0 & 0xffff_ffff))
    }
}

#[cfg(test)]
mod tests;

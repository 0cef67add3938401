//! The stored form of records: many in one byte string, so that a commit writes a row per topic, not per record.
//!
//! An entry is its length (u32, little endian, of what follows the time), its time (i64, little endian, nanoseconds) and the line
//! as line protocol without its time. Lengths lead to the entry of an offset.

const PREFIX_BYTES: usize = 12;

/// Consecutive records of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) count: u32,
    pub(crate) min_time: i64,
    pub(crate) max_time: i64,
    /// Which measurements occur, as a 64-bit filter: a measurement whose bit is clear does not.
    pub(crate) measurements: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Default for Chunk {
    fn default() -> Self {
        Self {
            count: 0,
            min_time: i64::MAX,
            max_time: i64::MIN,
            measurements: 0,
            bytes: Vec::new(),
        }
    }
}

/// A state of a chunk, so that later records can be rolled back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    count: u32,
    min_time: i64,
    max_time: i64,
    measurements: u64,
    length: usize,
}

impl Chunk {
    /// Adds a record. `series` is measurement and tags as written, `fields` the fields as written.
    pub(crate) fn push(&mut self, time: i64, measurement_bit: u64, series: &str, fields: &str) {
        let length = series.len() + 1 + fields.len();
        let stored =
            u32::try_from(length).expect("a body, so also a line of it, is smaller than 4 GiB");
        self.bytes.reserve(PREFIX_BYTES + length);
        self.bytes.extend_from_slice(&stored.to_le_bytes());
        self.bytes.extend_from_slice(&time.to_le_bytes());
        self.bytes.extend_from_slice(series.as_bytes());
        self.bytes.push(b' ');
        self.bytes.extend_from_slice(fields.as_bytes());
        self.count += 1;
        self.min_time = self.min_time.min(time);
        self.max_time = self.max_time.max(time);
        self.measurements |= measurement_bit;
    }

    /// Appends the records of another chunk.
    pub(crate) fn append(&mut self, other: &Self) {
        self.bytes.extend_from_slice(&other.bytes);
        self.count += other.count;
        self.min_time = self.min_time.min(other.min_time);
        self.max_time = self.max_time.max(other.max_time);
        self.measurements |= other.measurements;
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            count: self.count,
            min_time: self.min_time,
            max_time: self.max_time,
            measurements: self.measurements,
            length: self.bytes.len(),
        }
    }

    pub(crate) fn take_back(&mut self, mark: Mark) {
        self.count = mark.count;
        self.min_time = mark.min_time;
        self.max_time = mark.max_time;
        self.measurements = mark.measurements;
        self.bytes.truncate(mark.length);
    }

    /// Clears it; keeps its buffer if that is not larger than `keep_max_bytes`.
    pub(crate) fn clear(&mut self, keep_max_bytes: usize) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        if bytes.capacity() > keep_max_bytes {
            bytes = Vec::new();
        }
        *self = Self {
            bytes,
            ..Self::default()
        };
    }
}

/// The bit of a measurement in [`Chunk::measurements`].
pub(crate) fn measurement_bit(measurement: &str) -> u64 {
    // It is on disk, so it must be the same in every release: FNV-1a; std's hashers may change.
    let hash = measurement
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    1 << (hash >> 58)
}

/// One stored record of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) time: i64,
    /// Line protocol without a time.
    pub(crate) line: &'a [u8],
}

/// The records in a chunk's bytes, in order.
#[derive(Debug, Clone)]
pub(crate) struct Entries<'a> {
    rest: &'a [u8],
}

impl<'a> Entries<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The bytes after the next `count` records.
    pub(super) fn skip_records(mut self, count: i64) -> &'a [u8] {
        for _ in 0..count {
            self.next();
        }
        self.rest
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let (length, rest) = self.rest.split_first_chunk::<4>()?;
        let (time, rest) = rest.split_first_chunk::<8>()?;
        let length = u32::from_le_bytes(*length) as usize;
        let (line, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Entry {
            time: i64::from_le_bytes(*time),
            line,
        })
    }
}

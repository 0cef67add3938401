//! A shard of the table of latest readings, with its own limits. Its owner synchronizes access.

use hashbrown::HashTable;

use super::{LatestLimits, Reading};

/// Candidates for an eviction; the one without a record for longest is evicted.
const CANDIDATES: usize = 8;
/// Memory of a series besides its text: its slot, and its share of the index.
const PLACE_BYTES: usize = std::mem::size_of::<Slot>() + 8;
/// Spare capacity of a text above this is freed.
const ROOM_MAX_BYTES: usize = 256;

/// When a reading became durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Before the start: everything noted since is later in the log.
    Before,
    Now,
}

#[derive(Debug)]
struct Slot {
    hash: u64,
    /// The shard's counter at the last record of this series.
    noted: u64,
    time: i64,
    topic: u32,
    origin: Origin,
    /// Series, a space, fields; empty if the slot is free.
    text: Vec<u8>,
    series_bytes: usize,
    /// The reading as it was answered last; empty if it was not.
    rendered: Box<[u8]>,
}

/// A series of a topic, and the hash of both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key<'a> {
    pub(super) hash: u64,
    pub(super) topic: u32,
    pub(super) series: &'a [u8],
}

/// A reading that is not rendered: which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version(u64);

#[derive(Debug)]
pub(super) struct Shard {
    /// Indexes into `slots`.
    index: HashTable<u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    limits: LatestLimits,
    /// Memory of readings, and of what they were rendered as.
    bytes: usize,
    rendered_bytes: usize,
    notes: u64,
    /// Start of the next search for a candidate.
    hand: usize,
}

impl Slot {
    fn is_of(&self, key: Key<'_>) -> bool {
        self.topic == key.topic
            && self.series_bytes == key.series.len()
            && self.text.starts_with(key.series)
    }

    /// Forgets what the reading was rendered as; returns its size.
    fn forget_rendered(&mut self) -> usize {
        std::mem::take(&mut self.rendered).len()
    }

    fn reading(&self) -> Reading<'_> {
        Reading {
            series: &self.text[..self.series_bytes],
            fields: &self.text[self.series_bytes + 1..],
            time: self.time,
        }
    }

    fn bytes(&self) -> usize {
        self.text.capacity() + PLACE_BYTES
    }

    fn is_free(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether a reading is later than this one; of equal times the later one in the log.
    fn is_before(&self, time: i64, origin: Origin) -> bool {
        time > self.time || time == self.time && (origin == Origin::Now || self.origin == origin)
    }

    fn set(&mut self, reading: Reading<'_>) {
        let needed = reading.series.len() + 1 + reading.fields.len();
        self.text.truncate(self.series_bytes + 1);
        if self.text.capacity() < needed {
            self.text.reserve_exact(needed - self.text.len());
        }
        self.text.extend_from_slice(reading.fields);
        if self.text.capacity() > 4 * needed + ROOM_MAX_BYTES {
            self.text.shrink_to_fit();
        }
        self.time = reading.time;
    }
}

impl Shard {
    pub(super) fn new(limits: LatestLimits) -> Self {
        Self {
            index: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            limits,
            bytes: 0,
            rendered_bytes: 0,
            notes: 0,
            hand: 0,
        }
    }

    pub(super) fn series(&self) -> usize {
        self.index.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.rendered_bytes
    }

    pub(super) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// The reading in a slot, if it belongs to the topic.
    pub(super) fn reading_at(&self, index: usize, topic: u32) -> Option<Reading<'_>> {
        let slot = self.slots.get(index)?;
        (slot.topic == topic && !slot.is_free()).then(|| slot.reading())
    }

    #[inline]
    fn position(&self, key: Key<'_>) -> Option<usize> {
        let is_it = |position: &u32| self.slots[*position as usize].is_of(key);
        let entry = self.index.find(key.hash, is_it)?;
        Some(*entry as usize)
    }

    pub(super) fn find(&self, key: Key<'_>) -> Option<Reading<'_>> {
        let position = self.position(key)?;
        Some(self.slots[position].reading())
    }

    /// A reading, and what it was rendered as; else its version.
    pub(super) fn find_rendered(
        &self,
        key: Key<'_>,
    ) -> Option<(Reading<'_>, Result<&[u8], Version>)> {
        let slot = &self.slots[self.position(key)?];
        let rendered = match slot.rendered.is_empty() {
            true => Err(Version(slot.noted)),
            false => Ok(&*slot.rendered),
        };
        Some((slot.reading(), rendered))
    }

    /// Keeps what a reading was rendered as, if it is still the latest one and at most half of the memory is taken: what can be made
    /// again takes no room from readings.
    pub(super) fn keep_rendered(&mut self, key: Key<'_>, version: Version, rendered: &[u8]) {
        if self.bytes() + rendered.len() > self.limits.bytes / 2 {
            return;
        }
        let Some(position) = self.position(key) else {
            return;
        };
        let slot = &mut self.slots[position];
        if Version(slot.noted) == version && slot.rendered.is_empty() {
            slot.rendered = rendered.into();
            self.rendered_bytes += rendered.len();
        }
    }

    /// Notes a reading; returns how many were evicted for it, possibly itself.
    pub(super) fn note(
        &mut self,
        hash: u64,
        topic: u32,
        reading: Reading<'_>,
        origin: Origin,
    ) -> u64 {
        self.notes += 1;
        let known = self.position(Key {
            hash,
            topic,
            series: reading.series,
        });
        if let Some(position) = known {
            let slot = &mut self.slots[position];
            slot.noted = self.notes;
            if !slot.is_before(reading.time, origin) {
                return 0;
            }
            let before = slot.bytes();
            self.rendered_bytes -= slot.forget_rendered();
            slot.set(reading);
            slot.origin = origin;
            self.bytes = self.bytes - before + slot.bytes();
            return self.make_room();
        }
        let gone = if self.index.len() >= self.limits.series {
            self.evict_one()
        } else {
            0
        };
        self.add(hash, topic, reading, origin);
        gone + self.make_room()
    }

    fn add(&mut self, hash: u64, topic: u32, reading: Reading<'_>, origin: Origin) {
        let mut text = Vec::with_capacity(reading.series.len() + 1 + reading.fields.len());
        text.extend_from_slice(reading.series);
        text.push(b' ');
        text.extend_from_slice(reading.fields);
        let slot = Slot {
            hash,
            noted: self.notes,
            time: reading.time,
            topic,
            origin,
            text,
            series_bytes: reading.series.len(),
            rendered: Box::default(),
        };
        self.bytes += slot.bytes();
        let index = self.free.pop().unwrap_or_else(|| {
            u32::try_from(self.slots.len()).expect("the limit on series is lower")
        });
        if index as usize == self.slots.len() {
            self.slots.push(slot);
        } else {
            self.slots[index as usize] = slot;
        }
        let slots = &self.slots;
        self.index
            .insert_unique(hash, index, |position| slots[*position as usize].hash);
    }

    /// Evicts readings until the rest fits.
    #[inline]
    fn make_room(&mut self) -> u64 {
        if self.bytes() <= self.limits.bytes {
            return 0;
        }
        self.evict_until_it_fits()
    }

    #[cold]
    fn evict_until_it_fits(&mut self) -> u64 {
        let mut gone = 0;
        if self.rendered_bytes > 0 {
            for slot in &mut self.slots {
                self.rendered_bytes -= slot.forget_rendered();
            }
        }
        while self.bytes() > self.limits.bytes && !self.index.is_empty() {
            gone += self.evict_one();
        }
        gone
    }

    /// Evicts a reading whose series has been without a record for long.
    fn evict_one(&mut self) -> u64 {
        let count = self.slots.len();
        let indices = (0..count).map(|step| (self.hand + step) % count);
        let candidates = indices
            .filter(|index| !self.slots[*index].is_free())
            .take(CANDIDATES);
        let Some(index) = candidates.min_by_key(|index| self.slots[*index].noted) else {
            return 0;
        };
        self.hand = (self.hand + CANDIDATES) % count;
        self.remove(index);
        1
    }

    /// Removes the readings of a topic.
    pub(super) fn forget(&mut self, topic: u32) {
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            if slot.topic == topic && !slot.is_free() {
                self.remove(index);
            }
        }
    }

    /// Frees a slot.
    fn remove(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        self.bytes -= slot.bytes();
        slot.text = Vec::new();
        self.rendered_bytes -= slot.forget_rendered();
        let index = u32::try_from(index).expect("the limit on series is lower");
        if let Ok(entry) = self
            .index
            .find_entry(slot.hash, |position| *position == index)
        {
            entry.remove();
        }
        self.free.push(index);
    }
}

//! The topics, and their numbers in this process.

use std::{
    collections::HashMap,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{TOPICS_MAX, TopicSlot};

/// The limit on topics is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyTopics;

#[derive(Debug)]
pub(crate) struct Topics {
    known: RwLock<Known>,
    max: usize,
    /// Number of deleted topics, so that those who remember slots notice it without a lock.
    deleted: AtomicU64,
}

#[derive(Debug, Default)]
struct Known {
    slots: HashMap<Box<str>, TopicSlot>,
    topics: Vec<Topic>,
    /// Number of topics that exist.
    live: usize,
}

/// A name and its state. A deleted one keeps its slot, so that records that are on their way to it create it again.
#[derive(Debug)]
struct Topic {
    name: Box<str>,
    is_live: bool,
    /// How often it was deleted.
    deleted: u32,
}

impl Topics {
    /// Slots are given in the order of `names`.
    pub(super) fn new<'a>(max: usize, names: impl Iterator<Item = &'a str>) -> Self {
        let topics = Self {
            known: RwLock::default(),
            max: usize::MAX,
            deleted: AtomicU64::new(0),
        };
        for name in names {
            topics.slot(name).expect("there is no limit yet");
        }
        Self { max, ..topics }
    }

    /// The slot of a topic that exists.
    pub(crate) fn find_slot(&self, name: &str) -> Option<TopicSlot> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let slot = *known.slots.get(name)?;
        known.topics[slot.0 as usize].is_live.then_some(slot)
    }

    /// The slot of a topic; adds the topic if it is new.
    pub(crate) fn slot(&self, name: &str) -> Result<TopicSlot, TooManyTopics> {
        let mut known = self.write();
        let slot = known.slots.get(name).copied();
        if let Some(slot) = slot.filter(|slot| known.topics[slot.0 as usize].is_live) {
            return Ok(slot);
        }
        if known.live >= self.max {
            return Err(TooManyTopics);
        }
        if let Some(slot) = slot {
            known.set_live(slot);
            return Ok(slot);
        }
        // Names of deleted topics stay in memory.
        if self.max < usize::MAX && known.topics.len() >= TOPICS_MAX {
            return Err(TooManyTopics);
        }
        let slot = TopicSlot(u32::try_from(known.topics.len()).expect("the limit is far lower"));
        known.topics.push(Topic {
            name: name.into(),
            is_live: false,
            deleted: 0,
        });
        known.slots.insert(name.into(), slot);
        known.set_live(slot);
        Ok(slot)
    }

    /// The name of a topic that gets a record, which makes it exist.
    pub(super) fn name_of_written(&self, slot: TopicSlot) -> String {
        let mut known = self.write();
        known.set_live(slot);
        known.topics[slot.0 as usize].name.to_string()
    }

    /// Notes that a topic is deleted.
    pub(super) fn delete(&self, slot: TopicSlot) {
        let mut known = self.write();
        let topic = &mut known.topics[slot.0 as usize];
        topic.deleted = topic.deleted.wrapping_add(1);
        if std::mem::take(&mut topic.is_live) {
            known.live -= 1;
        }
        drop(known);
        self.deleted.fetch_add(1, Ordering::Release);
    }

    /// How many topics were deleted.
    pub(crate) fn deletion_count(&self) -> u64 {
        self.deleted.load(Ordering::Acquire)
    }

    /// How often the topic of a slot was deleted.
    pub(crate) fn deletion_count_of(&self, slot: TopicSlot) -> u32 {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.topics[slot.0 as usize].deleted
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn set_live(&mut self, slot: TopicSlot) {
        let topic = &mut self.topics[slot.0 as usize];
        if !std::mem::replace(&mut topic.is_live, true) {
            self.live += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_topic_makes_room_and_keeps_its_slot() {
        let topics = Topics::new(2, ["a"].into_iter());
        let (a, b) = (topics.find_slot("a").unwrap(), topics.slot("b").unwrap());
        assert_eq!(topics.slot("c"), Err(TooManyTopics));
        topics.delete(a);
        assert_eq!(topics.find_slot("a"), None);
        let c = topics.slot("c").unwrap();
        assert_eq!(topics.slot("a"), Err(TooManyTopics));
        topics.delete(c);
        assert_eq!(topics.slot("a"), Ok(a));
        assert_eq!(
            (
                topics.deletion_count(),
                topics.deletion_count_of(a),
                topics.deletion_count_of(b)
            ),
            (2, 1, 0)
        );
        // A record that was on its way.
        assert_eq!(topics.name_of_written(c), "c");
        assert_eq!(topics.find_slot("c"), Some(c));
    }
}

//! The topics, and their numbers in this process.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use super::TopicSlot;

/// The limit on topics is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyTopics;

#[derive(Debug)]
pub(crate) struct Topics {
    known: RwLock<Known>,
    max: usize,
}

#[derive(Debug, Default)]
struct Known {
    slots: HashMap<Box<str>, TopicSlot>,
    names: Vec<Box<str>>,
}

impl Topics {
    /// Slots are given in the order of `names`.
    pub(super) fn new<'a>(max: usize, names: impl Iterator<Item = &'a str>) -> Self {
        let topics = Self {
            known: RwLock::default(),
            max: usize::MAX,
        };
        for name in names {
            topics.slot(name).expect("there is no limit yet");
        }
        Self { max, ..topics }
    }

    /// The slot of a topic that has one.
    pub(crate) fn find_slot(&self, name: &str) -> Option<TopicSlot> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.slots.get(name).copied()
    }

    /// The slot of a topic; adds the topic if it is new.
    pub(crate) fn slot(&self, name: &str) -> Result<TopicSlot, TooManyTopics> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = known.slots.get(name) {
            return Ok(*slot);
        }
        if known.names.len() >= self.max {
            return Err(TooManyTopics);
        }
        let slot = TopicSlot(u32::try_from(known.names.len()).expect("the limit is far lower"));
        known.names.push(name.into());
        known.slots.insert(name.into(), slot);
        Ok(slot)
    }

    pub(super) fn name(&self, slot: TopicSlot) -> String {
        self.known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .names[slot.0 as usize]
            .to_string()
    }
}

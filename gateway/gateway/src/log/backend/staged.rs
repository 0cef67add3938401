//! Records that a worker has read in a cycle and not handed over yet, in the format of their log.

use std::collections::HashMap;

use crate::{
    answers::problem::Problem,
    clients::identity::audit::Event,
    clients::identity::caller::Caller,
    ingest::{self, Content, Nowhere},
    log::{
        cycle::Share,
        kafka::{self, Asking},
        store,
        store::{Entering, Store, TopicSlot},
        ticket::ALL_PARTS,
    },
    shared::Shared,
};

use super::Backend;

/// The staging area of one worker.
pub(crate) enum Staged {
    Embedded(Embedded),
    Kafka(kafka::Staging),
}

/// Who stages: the state that all share, and the client.
#[derive(Clone, Copy)]
pub(crate) struct By<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) caller: &'a Caller,
}

/// Why a request's records were not staged.
pub(crate) enum NotStaged {
    Problem(Problem),
    /// Its topic is new and is being looked up.
    NoTopicYet,
}

impl From<Problem> for NotStaged {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Staging for the embedded store, with the topics that this worker has seen.
#[derive(Default)]
pub(crate) struct Embedded {
    pub(super) staged: store::Staged,
    /// The topic of the last request; usually the next request has the same.
    last: Option<(Box<str>, TopicSlot)>,
    known: HashMap<Box<str>, TopicSlot>,
    /// How many topics were deleted when this was right.
    deleted: u64,
}

impl Staged {
    /// Adds the records of a request to the cycle, all or none of them; returns their share and number.
    pub(crate) fn stage(
        &mut self,
        by: By<'_>,
        topic: &str,
        content: Content<'_>,
    ) -> Result<(Share, u32), NotStaged> {
        let shared = by.shared;
        match (&shared.backend, self) {
            (Backend::Embedded(store), Self::Embedded(staged)) => {
                Ok(staged.stage(store, by, topic, content)?)
            }
            (Backend::Kafka(log), Self::Kafka(staging)) => {
                let Some(topic) = staging.topic(topic, &log.topics) else {
                    // A request without records must not create a topic, so the body is parsed first.
                    ingest::check_topic(topic)?;
                    ingest::body(content)?.give(&mut Nowhere, &shared.clock)?;
                    let named = match log.topics.is_known(topic) {
                        true => None,
                        false => Some(by.caller.name_topic()?),
                    };
                    // Only the cluster knows whether it is there, so the right to create it counts after the lookup.
                    let is_created = shared.settings.kafka.kafka_create_topics;
                    let may_create = is_created && by.caller.may_create(topic);
                    let asking = Asking {
                        caller: by.caller.clone(),
                        named,
                        may_create,
                    };
                    return Err(match log.ask_for(topic, asking) {
                        Ok(()) => NotStaged::NoTopicYet,
                        Err(problem) => {
                            if is_created && problem.status == 404 {
                                by.caller.check_create(topic)?;
                            }
                            problem.into()
                        }
                    });
                };
                let body = ingest::body(content)?;
                let mut adding = staging.add_to(&topic);
                let count = body.give(&mut adding, &shared.clock)?;
                let parts = adding.keep();
                Ok((
                    Share {
                        topic: topic.number,
                        parts,
                    },
                    count,
                ))
            }
            _ => unreachable!("a worker stages in what its own log made"),
        }
    }
}

impl Staged {
    /// The number of a topic that records were written to.
    pub(crate) fn topic_number(&mut self, backend: &Backend, name: &str) -> Option<u32> {
        match (backend, self) {
            (Backend::Embedded(store), Self::Embedded(staged)) => {
                staged.topic(name, store).map(|slot| slot.0)
            }
            (Backend::Kafka(log), Self::Kafka(staging)) => {
                staging.topic(name, &log.topics).map(|topic| topic.number)
            }
            _ => unreachable!("a worker stages in what its own log made"),
        }
    }
}

impl Embedded {
    fn stage(
        &mut self,
        store: &Store,
        by: By<'_>,
        topic: &str,
        content: Content<'_>,
    ) -> Result<(Share, u32), Problem> {
        let shared = by.shared;
        let known = self.topic(topic, store);
        if known.is_none() {
            ingest::check_topic(topic)?;
        }
        let body = ingest::body(content)?;
        let slot = match known {
            Some(slot) => slot,
            // A request without records must not create a topic, so the body is parsed first.
            None => {
                body.give(&mut Nowhere, &shared.clock)?;
                by.caller.check_create(topic)?;
                by.caller.name_topic()?;
                let slot = store.topics.slot(topic);
                let slot = slot.map_err(|_| Problem::too_many_topics())?;
                by.caller.note(Event::TopicCreated { topic });
                slot
            }
        };
        let chunk = self.staged.chunk(slot);
        let count = body.give(&mut Entering::new(chunk), &shared.clock);
        match count {
            Ok(_) => self.staged.keep(),
            Err(_) => self.staged.take_back(),
        }
        Ok((
            Share {
                topic: slot.0,
                parts: ALL_PARTS,
            },
            count?,
        ))
    }

    /// The slot of a topic that has one.
    fn topic(&mut self, name: &str, store: &Store) -> Option<TopicSlot> {
        let deleted = store.topics.deletion_count();
        if self.deleted != deleted {
            self.deleted = deleted;
            self.last = None;
            self.known.clear();
        }
        if let Some((last, slot)) = &self.last
            && **last == *name
        {
            return Some(*slot);
        }
        let slot = if let Some(slot) = self.known.get(name) {
            *slot
        } else {
            let slot = store.topics.find_slot(name)?;
            self.known.insert(name.into(), slot);
            slot
        };
        self.last = Some((name.into(), slot));
        Some(slot)
    }
}

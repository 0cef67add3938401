//! The gateway's view of topics: ready, being looked up, or failed.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
    task::Waker,
    time::{Duration, Instant},
};

use crate::{
    answers::problem::Problem,
    clients::{client::NamedTopic, identity::caller::Caller},
};

/// A failed lookup is repeated after this.
const FAILED_FOR: Duration = Duration::from_millis(500);

/// A topic that can be written to.
#[derive(Debug)]
pub(crate) struct Topic {
    /// Its number in this process.
    pub(crate) number: u32,
    /// Its name in Kafka.
    pub(super) name: String,
    partitions: AtomicU32,
    /// Counts its batches that were sent.
    turn: AtomicU32,
    record_max_bytes: AtomicUsize,
    is_gone: AtomicBool,
}

impl Topic {
    pub(super) fn new(number: u32, name: String, metadata: TopicMetadata) -> Self {
        Self {
            number,
            name,
            partitions: AtomicU32::new(metadata.partitions),
            turn: AtomicU32::new(0),
            record_max_bytes: AtomicUsize::new(metadata.record_max_bytes),
            is_gone: AtomicBool::new(false),
        }
    }

    pub(super) fn partitions(&self) -> u32 {
        self.partitions.load(Ordering::Relaxed)
    }

    pub(super) fn set_partitions(&self, partitions: u32) {
        self.partitions.store(partitions, Ordering::Relaxed);
    }

    /// Which of its batches is gathering.
    pub(super) fn turn(&self) -> u32 {
        self.turn.load(Ordering::Relaxed)
    }

    /// Its batch is sent: another one begins.
    pub(super) fn end_turn(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn record_max_bytes(&self) -> usize {
        self.record_max_bytes.load(Ordering::Relaxed)
    }

    /// Whether it was deleted: writers must look it up again.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }
}

/// A topic's metadata in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TopicMetadata {
    pub(super) partitions: u32,
    pub(super) record_max_bytes: usize,
}

#[derive(Debug)]
enum Entry {
    Ready(Arc<Topic>),
    /// Being looked up; with the tasks to wake.
    Pending(Vec<Waker>),
    Failed(Problem, Instant),
}

/// All requested topics.
#[derive(Debug)]
pub(crate) struct Topics {
    known: Mutex<Known>,
    asked: Condvar,
    max: usize,
}

#[derive(Debug, Default)]
struct Known {
    entries: HashMap<Box<str>, Entry>,
    /// Numbers assigned so far.
    numbers: u32,
    /// Topics to look up, in the order of requests.
    queue: VecDeque<Wanted>,
    is_closed: bool,
}

/// A topic to look up.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) name: Box<str>,
    /// `None` if no client has named it.
    pub(super) asking: Option<Asking>,
}

/// Who has named a topic that is to be looked up.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) caller: Caller,
    /// It counts as new, unless the cluster has it.
    pub(crate) named: Option<NamedTopic>,
    /// Whether it is created for the caller if it is absent.
    pub(crate) may_create: bool,
}

/// The next task of [`super::topic_admin`].
#[derive(Debug)]
pub(super) enum Task {
    Find(Wanted),
    /// Nothing was requested within the timeout.
    Nothing,
    Closed,
}

impl Topics {
    pub(super) fn new(max: usize) -> Self {
        Self {
            known: Mutex::default(),
            asked: Condvar::new(),
            max,
        }
    }

    /// A topic that can be written to.
    pub(crate) fn ready(&self, name: &str) -> Option<Arc<Topic>> {
        match self.lock().entries.get(name) {
            Some(Entry::Ready(topic)) => Some(Arc::clone(topic)),
            _ => None,
        }
    }

    /// Whether the topic is ready, or was asked for a moment ago.
    pub(crate) fn is_known(&self, name: &str) -> bool {
        self.lock().entries.contains_key(name)
    }

    /// Requests a lookup of the topic for a client, unless one failed a moment ago.
    pub(super) fn ask(&self, name: &str, asking: Option<Asking>) -> Result<(), Problem> {
        let may_create = asking.as_ref().is_some_and(|asking| asking.may_create);
        let mut known = self.lock();
        match known.entries.get(name) {
            Some(Entry::Ready(_) | Entry::Pending(_)) => return Ok(()),
            // What was absent a moment ago is not for who may create it.
            Some(Entry::Failed(problem, instant))
                if instant.elapsed() < FAILED_FOR && (problem.status != 404 || !may_create) =>
            {
                return Err(problem.clone());
            }
            Some(Entry::Failed(..)) => {}
            None if known.entries.len() >= self.max => return Err(Problem::too_many_topics()),
            None => {}
        }
        if known.is_closed {
            return Err(Problem::new(503, "the gateway is shutting down"));
        }
        known
            .entries
            .insert(name.into(), Entry::Pending(Vec::new()));
        known.queue.push_back(Wanted {
            name: name.into(),
            asking,
        });
        drop(known);
        self.asked.notify_one();
        Ok(())
    }

    /// Whether the lookup of the topic is still running; `waker` is woken when it ends.
    pub(crate) fn is_looking_up(&self, name: &str, waker: &Waker) -> bool {
        let mut known = self.lock();
        let Some(Entry::Pending(wakers)) = known.entries.get_mut(name) else {
            return false;
        };
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
        true
    }

    /// Waits for the next topic to look up.
    pub(super) fn next(&self, at_most: Duration) -> Task {
        let known = self.lock();
        let (mut known, _) = self
            .asked
            .wait_timeout_while(known, at_most, |known| {
                known.queue.is_empty() && !known.is_closed
            })
            .unwrap_or_else(PoisonError::into_inner);
        // Failed lookups are dropped, so that invalid names do not count into the limit forever.
        known.entries.retain(
            |_, entry| !matches!(entry, Entry::Failed(_, at) if at.elapsed() >= FAILED_FOR),
        );
        if known.is_closed {
            // No request waits for the others.
            return Task::Closed;
        }
        let next = known.queue.pop_front();
        next.map_or(Task::Nothing, Task::Find)
    }

    /// Notes the result of a lookup, and wakes the waiting tasks.
    pub(super) fn note(
        &self,
        name: &str,
        kafka_name: String,
        metadata: Result<TopicMetadata, Problem>,
    ) {
        let mut known = self.lock();
        let entry = match metadata {
            Ok(metadata) => {
                let number = known.numbers;
                known.numbers += 1;
                Entry::Ready(Arc::new(Topic::new(number, kafka_name, metadata)))
            }
            Err(problem) => Entry::Failed(problem, Instant::now()),
        };
        let before = known.entries.insert(name.into(), entry);
        drop(known);
        if let Some(Entry::Pending(wakers)) = before {
            wakers.iter().for_each(Waker::wake_by_ref);
        }
    }

    /// Fails the requests that wait for a lookup; the lookups continue.
    pub(super) fn refuse_pending(&self, problem: impl Fn() -> Problem) {
        let mut known = self.lock();
        let mut wakers = Vec::new();
        for entry in known.entries.values_mut() {
            if let Entry::Pending(waiting) = entry {
                wakers.append(waiting);
                *entry = Entry::Failed(problem(), Instant::now());
            }
        }
        drop(known);
        wakers.iter().for_each(Waker::wake_by_ref);
    }

    /// The topics that are ready, by their requested names.
    pub(super) fn all_ready(&self) -> Vec<(Box<str>, Arc<Topic>)> {
        let known = self.lock();
        let ready = known
            .entries
            .iter()
            .filter_map(|(name, entry)| match entry {
                Entry::Ready(topic) => Some((name.clone(), Arc::clone(topic))),
                _ => None,
            });
        ready.collect()
    }

    /// Removes a deleted topic.
    pub(super) fn remove(&self, name: &str) {
        if let Some(Entry::Ready(topic)) = self.lock().entries.remove(name) {
            topic.is_gone.store(true, Ordering::Relaxed);
        }
    }

    /// Ends all lookups.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.asked.notify_all();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

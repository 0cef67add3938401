//! The log that makes records durable: the embedded store, or a Kafka cluster. One interface for workers and calls.

mod staged;

pub(crate) use staged::{By, NotStaged, Staged};

use std::{
    sync::{Arc, atomic::Ordering},
    task::Waker,
};

use tokio::sync::Notify;

use crate::{
    answers::problem::Problem,
    error::ServeError,
    log::{
        cycle::Handed,
        kafka,
        latest::Latest,
        store::{Refused, Store, StoreSettings, Writer},
        ticket::Fate,
    },
    settings::{BackendKind, Settings},
};

/// The log of records.
pub(crate) enum Backend {
    Embedded(Store),
    Kafka(kafka::Log),
}

/// The threads of a log, to be joined at the end.
pub(crate) enum Ending {
    Embedded(Writer),
    Kafka(kafka::Threads),
}

impl Ending {
    /// Waits until every accepted record has its outcome.
    pub(crate) fn wait(self) -> Result<(), ServeError> {
        match self {
            Self::Embedded(writer) => writer.wait().map_err(|_| ServeError::Committer),
            Self::Kafka(threads) => Ok(threads.wait()?),
        }
    }
}

impl Backend {
    /// Opens the log of the settings. `settled[n]` is notified when records of worker n are settled.
    pub(crate) fn open(
        settings: &Settings,
        settled: &[Arc<Notify>],
    ) -> Result<(Self, Ending), ServeError> {
        match settings.backend_kind()? {
            BackendKind::Embedded(file) => {
                let settings = StoreSettings {
                    file: file.to_owned(),
                    queue_max_records: settings.queue_max_records,
                    commit_delay: settings.commit_delay,
                    file_max_bytes: settings.store_max_bytes,
                    wal_max_bytes: settings.wal_max_bytes,
                    topics_max: settings.topics_max,
                    readers: settings.query_concurrency,
                    latest_max_series: settings.latest_max_series,
                    latest_max_bytes: settings.latest_max_bytes,
                    latest_restore_records: settings.latest_restore_records,
                };
                let (store, writer) = Store::open(&settings, settled.to_vec())?;
                Ok((Self::Embedded(store), Ending::Embedded(writer)))
            }
            BackendKind::Kafka(brokers) => {
                let (log, threads) = kafka::Log::open(settings, brokers, settled.to_vec())?;
                Ok((Self::Kafka(log), Ending::Kafka(threads)))
            }
        }
    }

    /// A new staging area for a worker.
    pub(crate) fn new_staging(&self) -> Staged {
        match self {
            Self::Embedded(_) => Staged::Embedded(staged::Embedded::default()),
            Self::Kafka(log) => Staged::Kafka(log.staging()),
        }
    }

    /// Hands over what a worker staged, and empties it.
    pub(crate) fn submit(&self, staged: &mut Staged, worker: u32) -> Handed {
        match (self, staged) {
            (Self::Embedded(store), Staged::Embedded(staged)) => {
                let submitted = store.queue.submit(&mut staged.staged, worker);
                staged.staged.clear();
                match submitted {
                    Ok(ticket) => Handed::Whole(ticket),
                    Err(Refused::Full) => Handed::Refused(Problem::queue_full()),
                    Err(Refused::Closed) => Handed::Refused(self.write_problem(Fate::Absent)),
                }
            }
            (Self::Kafka(log), Staged::Kafka(staged)) => log
                .submit(staged, worker)
                .map_or_else(Handed::Refused, Handed::ByTopic),
            _ => unreachable!("a worker stages in what its own log made"),
        }
    }

    /// Records were settled: sends what waited for that.
    pub(crate) fn send(&self) {
        if let Self::Kafka(log) = self {
            log.send();
        }
    }

    /// The latest reading of each series.
    pub(crate) fn latest_readings(&self) -> &Latest {
        match self {
            Self::Embedded(store) => &store.latest,
            Self::Kafka(log) => &log.latest,
        }
    }

    /// The number of a topic that records were written to.
    pub(crate) fn topic_number(&self, name: &str) -> Option<u32> {
        match self {
            Self::Embedded(store) => store.topics.find_slot(name).map(|slot| slot.0),
            Self::Kafka(log) => log.topics.ready(name).map(|topic| topic.number),
        }
    }

    /// Whether the lookup of a new topic is still running; `waker` is woken when it ends.
    pub(crate) fn is_looking_up(&self, topic: &str, waker: &Waker) -> bool {
        match self {
            Self::Embedded(_) => false,
            Self::Kafka(log) => log.topics.is_looking_up(topic, waker),
        }
    }

    /// The problem for records that were handed over and are not durable.
    pub(crate) fn write_problem(&self, fate: Fate) -> Problem {
        match self {
            Self::Embedded(store) if fate == Fate::Absent => {
                if store.is_full.load(Ordering::Relaxed) {
                    Problem::store_full()
                } else {
                    Problem::store_failed()
                }
            }
            Self::Embedded(_) => Problem::commit_failed(),
            Self::Kafka(log) => log.write_problem(),
        }
    }

    /// An error if records would be refused now.
    pub(crate) fn is_ready(&self) -> Result<(), Problem> {
        match self {
            Self::Embedded(store) if store.writable.load(Ordering::Relaxed) => Ok(()),
            Self::Embedded(_) => Err(Problem::new(503, "the store cannot be written")),
            Self::Kafka(log) => log.is_ready(),
        }
    }

    /// The embedded store, for calls that only it supports.
    pub(crate) fn embedded_store(&self) -> &Store {
        match self {
            Self::Embedded(store) => store,
            Self::Kafka(_) => unreachable!("calls that need it have a route only if it is there"),
        }
    }

    /// Batches no longer wait for more records, so that open requests are answered soon.
    pub(crate) fn drain_quickly(&self) {
        if let Self::Embedded(store) = self {
            store.drain_quickly();
        }
    }

    /// Accepts no more records; accepted ones still get their outcome.
    pub(crate) fn close(&self) {
        match self {
            Self::Embedded(store) => store.close(),
            Self::Kafka(log) => log.close(),
        }
    }

    /// Ready when the log has failed for good, without [`Self::close`].
    pub(crate) async fn wait_until_ended(&self) {
        match self {
            Self::Embedded(store) => store.wait_until_ended().await,
            Self::Kafka(log) => log.wait_until_ended().await,
        }
    }
}

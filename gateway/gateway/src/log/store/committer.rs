//! The only thread that writes: takes everything from the queue, writes it in one transaction, syncs, wakes the waiting tasks.

use std::{
    fmt,
    fs::File,
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, ffi, params};
use tokio::sync::Notify;
use waggle_service::log::warn;

use super::{
    Store,
    deleter::Deleter,
    file,
    file::Opened,
    merger::Merger,
    queue::{Batch, Deletion, Taken, TopicSlot},
    settings::StoreSettings,
};
use crate::log::ticket::Fate;

/// Interval of maintenance of an idle store, and of retries after a failure.
const IDLE_ROUND: Duration = Duration::from_secs(1);
/// Shortest time between two warnings of failed writes.
const WARN_EVERY: Duration = Duration::from_secs(1);
/// Size of a trial write.
const TRIAL_WRITE_BYTES: i64 = 64 * 1024;
/// What a transaction may need besides its records.
const ROOM_BYTES: u64 = 256 * 1024;
/// Small chunks are merged in idle rounds, and at this interval while batches are small.
const MERGE_EVERY: Duration = Duration::from_secs(1);
/// A batch with fewer records leaves time for merging.
const SMALL_BATCH_RECORDS: usize = 16;
/// Most merge steps in an idle round.
const MERGE_STEPS: usize = 16;
/// Commits between two checks of the size of the write-ahead log.
const LOOK_AT_LOG_EVERY: u32 = 64;

/// An error of SQLite with its extended code, which tells a full disk from one that fails.
struct Reason<'a>(&'a rusqlite::Error);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)?;
        match extended_code(self.0) {
            Some(code) => write!(formatter, " (SQLite's code {code})"),
            None => Ok(()),
        }
    }
}

fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}

/// Why a batch was not written.
enum Failure {
    /// Nothing of it is in the file.
    BeforeCommit(rusqlite::Error),
    /// All of it may be in the write-ahead log: SQLite wrote it there, and failed after that.
    DuringCommit(rusqlite::Error),
}

impl Failure {
    /// On a full disk the last page of the transaction, which makes it valid, was not written.
    fn from_commit(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::BeforeCommit(error),
            _ => Self::DuringCommit(error),
        }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::BeforeCommit(error)
    }
}

/// The committer's state of a topic: its number in the file, if it has one, and the end of its log.
#[derive(Debug, Clone, Copy, Default)]
struct Log {
    id: Option<i64>,
    next_offset: i64,
}

pub(super) struct Committer {
    connection: Connection,
    /// By slot.
    logs: Vec<Log>,
    /// Changes of `logs` if the current transaction succeeds: slot and log.
    changes: Vec<(usize, Log)>,
    store: Store,
    workers: Vec<Arc<Notify>>,
    commit_delay: Duration,
    wal: PathBuf,
    wal_max_bytes: u64,
    file_max_bytes: u64,
    commits_until_look: u32,
    merger: Merger,
    deleter: Deleter,
    merged: Instant,
    /// Time of the last warning of a failed write.
    warned: Option<Instant>,
    /// Kept until the file is closed.
    _lock: File,
}

impl Committer {
    pub(super) fn new(
        opened: Opened,
        store: &Store,
        settings: &StoreSettings,
        workers: Vec<Arc<Notify>>,
    ) -> Self {
        let logs: Vec<Log> = opened
            .topics
            .iter()
            .map(|topic| Log {
                id: Some(topic.id),
                next_offset: topic.next_offset,
            })
            .collect();
        opened.connection.set_prepared_statement_cache_capacity(16);
        let mut wal = settings.file.as_os_str().to_owned();
        wal.push("-wal");
        Self {
            connection: opened.connection,
            logs,
            changes: Vec::new(),
            store: store.clone(),
            workers,
            commit_delay: settings.commit_delay,
            wal: wal.into(),
            wal_max_bytes: settings.wal_max_bytes,
            file_max_bytes: settings.file_max_bytes,
            commits_until_look: LOOK_AT_LOG_EVERY,
            merger: Merger::default(),
            deleter: opened.deleter,
            merged: Instant::now(),
            warned: None,
            _lock: opened.lock,
        }
    }

    /// Runs until the queue is closed and empty.
    pub(super) fn run(mut self) {
        loop {
            if !self.commit_delay.is_zero() {
                self.store.queue.linger(self.commit_delay, IDLE_ROUND);
            }
            match self.store.queue.take(IDLE_ROUND) {
                Taken::Batch(batch) => self.settle(batch),
                Taken::Deletion(deletion) => self.delete(deletion),
                Taken::Nothing => self.probe_writes(),
                Taken::Closed => break,
            }
        }
        // The write-ahead log is durable already; a checkpoint only makes the next start faster.
        if let Err(error) = self
            .connection
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        {
            warn(format_args!(
                "checkpointing the write-ahead log at the end: {error}"
            ));
        }
    }

    /// Writes the batch and settles its ticket.
    fn settle(&mut self, batch: Batch) {
        let started = Instant::now();
        let written = self.write(&batch);
        let fate = match written {
            Ok(()) => {
                self.accept_changes();
                self.note_latest(&batch);
                self.store
                    .metrics
                    .note(batch.records, batch.bytes, started.elapsed());
                Fate::Durable
            }
            Err(failure) => self.give_up(&batch, &failure),
        };
        let durable = fate == Fate::Durable;
        self.store.writable.store(durable, Ordering::Relaxed);
        if durable {
            self.store.is_full.store(false, Ordering::Relaxed);
        }
        batch.ticket.settle(fate);
        for (number, worker) in self.workers.iter().enumerate() {
            if batch.workers & (1 << number) != 0 {
                worker.notify_one();
            }
        }
        let is_small = batch.records < SMALL_BATCH_RECORDS;
        self.store.queue.give_back(batch);
        self.bound_log();
        if started.duration_since(self.merged) > MERGE_EVERY {
            // Also in a full store, which has room after that.
            self.remove_deleted(1);
            if durable && is_small {
                self.merge(1);
            }
            self.merged = Instant::now();
        }
    }

    /// Cleans up after a batch that was not written; returns what is known of its records.
    fn give_up(&mut self, batch: &Batch, failure: &Failure) -> Fate {
        self.store.metrics.failures.fetch_add(1, Ordering::Relaxed);
        let (Failure::BeforeCommit(error) | Failure::DuringCommit(error)) = failure;
        let is_due = self.is_warning_due();
        if is_due {
            let records = batch.records;
            warn(format_args!("writing {records} records: {}", Reason(error)));
        }
        self.roll_back();
        let is_full = error.sqlite_error_code() == Some(ErrorCode::DiskFull)
            && self.is_at_limit(batch.bytes).unwrap_or(false);
        self.store.is_full.store(is_full, Ordering::Relaxed);
        if matches!(failure, Failure::BeforeCommit(_)) {
            return Fate::Absent;
        }
        match self.overwrite_tail() {
            Ok(()) => Fate::Absent,
            // The index of the write-ahead log cannot grow, which comes after the write and its sync.
            Err(error) if extended_code(&error) == Some(ffi::SQLITE_IOERR_SHMSIZE) => Fate::Absent,
            Err(error) => {
                if is_due {
                    let reason = Reason(&error);
                    warn(format_args!(
                        "overwriting what a failed commit wrote: {reason}; its records may be found after a crash"
                    ));
                }
                Fate::Failed
            }
        }
    }

    /// Whether a file with so many bytes more would be larger than `--store-max-bytes`, and not its disk.
    fn is_at_limit(&self, bytes: usize) -> rusqlite::Result<bool> {
        if self.file_max_bytes == 0 {
            return Ok(false);
        }
        let pages = |name| {
            self.connection
                .pragma_query_value(None, name, |row| row.get::<_, u64>(0))
        };
        let room = pages("max_page_count")? + pages("freelist_count")? - pages("page_count")?;
        Ok(room * pages("page_size")? < bytes as u64 + ROOM_BYTES)
    }

    /// Commits a change of one page that has its old content. It takes the place of the failed commit in the write-ahead log, whose
    /// remains then have no valid checksums. The sync includes pages that a failed one left.
    fn overwrite_tail(&self) -> rusqlite::Result<()> {
        let same = file::FORMAT_VERSION;
        self.connection.pragma_update(None, "user_version", same)
    }

    fn note_latest(&self, batch: &Batch) {
        for topic in &batch.topics {
            for chunk in &topic.chunks {
                self.store.latest.note_chunk(topic.slot.0, &chunk.bytes);
            }
        }
    }

    /// At most once per interval: while the store fails, every request may be a batch. The counter has all failures.
    fn is_warning_due(&mut self) -> bool {
        let is_recent = |instant: Instant| instant.elapsed() < WARN_EVERY;
        let is_due = !self.warned.is_some_and(is_recent);
        if is_due {
            self.warned = Some(Instant::now());
        }
        is_due
    }

    fn write(&mut self, batch: &Batch) -> Result<(), Failure> {
        self.changes.clear();
        self.connection
            .prepare_cached("BEGIN IMMEDIATE")?
            .execute([])?;
        for topic in &batch.topics {
            if topic.chunks.iter().all(|chunk| chunk.count == 0) {
                continue;
            }
            let slot = topic.slot.0 as usize;
            let mut log = self.logs.get(slot).copied().unwrap_or_default();
            let id = match log.id {
                Some(id) => id,
                None => self.make_topic(&self.store.topics.name_of_written(topic.slot))?,
            };
            log.id = Some(id);
            let mut insert = self.connection.prepare_cached(file::INSERT_CHUNK)?;
            for chunk in topic.chunks.iter().filter(|chunk| chunk.count > 0) {
                let measurements = chunk.measurements.cast_signed();
                insert.execute(params![
                    file::key(id, log.next_offset),
                    chunk.count,
                    chunk.min_time,
                    chunk.max_time,
                    measurements,
                    chunk.bytes
                ])?;
                log.next_offset += i64::from(chunk.count);
            }
            self.changes.push((slot, log));
        }
        let mut commit = self.connection.prepare_cached("COMMIT")?;
        commit.execute([]).map_err(Failure::from_commit)?;
        Ok(())
    }

    fn accept_changes(&mut self) {
        let committed = self.changes.iter().filter_map(|(slot, log)| {
            let topic = TopicSlot(u32::try_from(*slot).ok()?);
            let first = self.logs.get(*slot).map_or(0, |log| log.next_offset);
            Some((topic, first, log.next_offset))
        });
        self.store.commit_times.note(committed);
        for (slot, log) in self.changes.drain(..) {
            if self.logs.len() <= slot {
                self.logs.resize(slot + 1, Log::default());
            }
            self.logs[slot] = log;
        }
    }

    fn make_topic(&self, name: &str) -> rusqlite::Result<i64> {
        self.connection
            .prepare_cached("INSERT INTO topics (id, name) VALUES (?1, ?2)")?
            .insert(params![self.deleter.new_number(&self.connection)?, name])
    }

    fn roll_back(&self) {
        if self.connection.is_autocommit() {
            return;
        }
        if let Err(error) = self.connection.execute_batch("ROLLBACK") {
            warn(format_args!("rolling back: {error}"));
        }
    }

    /// In an idle round after a failure: tries to write, so that the store becomes ready again.
    fn probe_writes(&mut self) {
        self.bound_log();
        self.remove_deleted(MERGE_STEPS);
        if self.store.writable.load(Ordering::Relaxed) {
            self.merge(MERGE_STEPS);
            self.merged = Instant::now();
            return;
        }
        match self.try_to_write() {
            Ok(()) => self.store.writable.store(true, Ordering::Relaxed),
            Err(error) => warn(format_args!("the store still cannot be written: {error}")),
        }
    }

    /// Allocates new pages each time, as records would, and frees them for records.
    fn try_to_write(&self) -> rusqlite::Result<()> {
        self.connection.execute("DELETE FROM trial_write", [])?;
        self.connection.execute(
            "INSERT INTO trial_write (filling) VALUES (zeroblob(?1))",
            [TRIAL_WRITE_BYTES],
        )?;
        self.connection.execute("DELETE FROM trial_write", [])?;
        Ok(())
    }

    /// Merges small chunks. A failure loses nothing and is retried.
    fn merge(&mut self, steps: usize) {
        let topics: Vec<i64> = self.logs.iter().filter_map(|log| log.id).collect();
        for _ in 0..steps {
            match self.merger.step(&self.connection, &topics) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    warn(format_args!("merging small chunks: {error}"));
                    self.roll_back();
                    break;
                }
            }
        }
    }

    /// Deletes a topic: its name now, its records in later steps.
    fn delete(&mut self, deletion: Deletion) {
        let slot = deletion.slot;
        let log = self.logs.get_mut(slot.0 as usize);
        let deleted = match log.as_deref().and_then(|log| log.id) {
            // Nothing of it is committed yet.
            None => Ok(()),
            Some(id) => self.deleter.begin(&self.connection, id),
        };
        if let Err(error) = &deleted {
            warn(format_args!("deleting a topic: {}", Reason(error)));
        } else {
            if let Some(log) = log {
                *log = Log::default();
            }
            self.store.topics.delete(slot);
            self.store.latest.forget(slot.0);
            self.store.commit_times.forget(slot);
        }
        // Who asked for it may have left.
        let _ = deletion.done.send(deleted.is_ok());
    }

    /// Removes records of deleted topics. A failure is retried.
    fn remove_deleted(&mut self, steps: usize) {
        for _ in 0..steps {
            match self.deleter.step(&self.connection) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    warn(format_args!("removing records of a deleted topic: {error}"));
                    break;
                }
            }
        }
    }

    /// SQLite checkpoints by itself, but cannot reset the write-ahead log while reads overlap. In that case writes pause until it
    /// can.
    fn bound_log(&mut self) {
        self.commits_until_look = self.commits_until_look.saturating_sub(1);
        if self.commits_until_look > 0 {
            return;
        }
        self.commits_until_look = LOOK_AT_LOG_EVERY;
        let size = std::fs::metadata(&self.wal).map_or(0, |metadata| metadata.len());
        if size <= self.wal_max_bytes {
            return;
        }
        if let Err(error) = self
            .connection
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        {
            warn(format_args!("checkpointing the write-ahead log: {error}"));
        }
    }
}

//! Reads of a topic's log: a pool of connections, each used by one blocking thread at a time.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rusqlite::{Connection, OptionalExtension, params};

use super::{chunk::Entries, file, file::StoreError};
use crate::clients::turns::Turns;

/// Chunks read in one read transaction: a long one would keep the write-ahead log from being reset.
const CHUNKS_PER_VIEW: i64 = 64;

/// Why a read failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("too many reads wait already")]
    Busy,
    #[error("there is no memory for the answer")]
    NoMemory,
    #[error("reading the store: {0}")]
    Store(#[from] rusqlite::Error),
    #[error("record {offset} of topic {topic} cannot be read")]
    Corrupt { topic: String, offset: i64 },
    #[error("nobody waits for it any more")]
    Abandoned,
    #[error("a reading thread ended early")]
    Lost,
}

/// The part of a log to read.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) topic: String,
    /// First offset.
    pub(crate) offset: i64,
    /// Earliest time, included; nanoseconds.
    pub(crate) from: i64,
    /// Latest time, included.
    pub(crate) until: i64,
    /// Chunks with none of these measurement bits are skipped.
    pub(crate) measurements: u64,
}

/// Consecutive records of the log, possibly with some outside the span's times and measurements. No record is in two blocks of a
/// scan, and none is before the requested offset, even if chunks are merged meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<'a> {
    /// Offset of the first record.
    pub(crate) offset: i64,
    /// Iterate over it with [`super::Entries`].
    pub(crate) bytes: &'a [u8],
}

/// A pool of connections for reads; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Readers(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    connections: Mutex<Vec<Connection>>,
    turns: Turns,
    /// Reads that stopped because nobody waited for them.
    stops: AtomicU64,
}

/// What ends a read before the end of its span. The default is nothing.
#[derive(Debug, Default)]
pub(crate) struct Until {
    deadline: Option<Instant>,
    abandoned: Arc<AtomicBool>,
}

impl Until {
    /// Whether it is to end with what it has.
    pub(crate) fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Whether nobody waits for it any more.
    fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }
}

/// Notes that nobody waits for a read, when it is dropped.
struct AbandonWhenDropped(Arc<AtomicBool>);

impl Drop for AbandonWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Readers {
    pub(super) fn open(file: &Path, count: usize) -> Result<Self, StoreError> {
        let connections = (0..count)
            .map(|_| file::open_for_reading(file))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self(Arc::new(Pool {
            connections: Mutex::new(connections),
            turns: Turns::new(count),
            stops: AtomicU64::new(0),
        })))
    }

    /// Number of reads that stopped because nobody waited for them.
    pub(crate) fn stop_count(&self) -> u64 {
        self.0.stops.load(Ordering::Relaxed)
    }

    /// Runs the work on a blocking thread, when a connection is free. It waits at most for the timeout, and the work ends with what
    /// it has after the same time. If this future is dropped, the scan of the work stops at its next block.
    ///
    /// # Errors
    /// [`ReadError::Busy`] if too many wait already, or for too long; the work's own error.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        timeout: Duration,
        work: impl FnOnce(&Connection, &Until) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ReadError> {
        let turn = self.0.turns.take(timeout).await;
        let turn = turn.map_err(|_| ReadError::Busy)?;
        let pool = Arc::clone(&self.0);
        let abandoned = Arc::<AtomicBool>::default();
        let until = Until {
            deadline: Some(Instant::now() + timeout),
            abandoned: Arc::clone(&abandoned),
        };
        let _abandon = AbandonWhenDropped(abandoned);
        // The work owns its turn, so that it lasts as long as the work does, even if the connection has ended.
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            pool.lend(|connection| work(connection, &until))
        });
        done.await.map_err(|_| ReadError::Lost)?
    }
}

/// A connection of the pool; returned when dropped.
struct Lent {
    /// There are as many permits as connections, so it is always `Some`.
    connection: Option<Connection>,
    pool: Arc<Pool>,
}

impl Lent {
    fn take(pool: Arc<Pool>) -> Self {
        let connection = pool.lock().pop();
        Self { connection, pool }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.pool.lock().extend(self.connection.take());
    }
}

impl Pool {
    /// Does the work with a connection, and counts it if nobody waited for its end.
    fn lend<T>(
        self: Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let lent = Lent::take(Arc::clone(&self));
        let done = work(lent.connection.as_ref().ok_or(ReadError::Lost)?);
        if matches!(done, Err(ReadError::Abandoned)) {
            self.stops.fetch_add(1, Ordering::Relaxed);
        }
        done
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Visits the blocks of a span until the visitor breaks with the offset of the next scan. Returns that offset; else the end of
/// the log when the scan started, or of the last block if that is later.
///
/// # Errors
/// If the file cannot be read; [`ReadError::Abandoned`] if nobody waits for it any more, which is looked at before each block.
pub(crate) fn scan(
    connection: &Connection,
    span: &Span,
    until: &Until,
    mut visit: impl FnMut(Block<'_>) -> ControlFlow<i64>,
) -> Result<i64, ReadError> {
    let id: Option<i64> = connection
        .prepare_cached("SELECT id FROM topics WHERE name = ?1")?
        .query_row([&span.topic], |row| row.get(0))
        .optional()?;
    // A topic is created by its first record; until then its log is empty.
    let Some(topic) = id else { return Ok(0) };
    let end = connection
        .prepare_cached(file::LAST_CHUNK)?
        .query_row(
            [file::key(topic, 0), file::key(topic + 1, 0)],
            file::next_offset,
        )
        .optional()?
        .unwrap_or(0);
    let mut offset = span.offset.clamp(0, end);
    let mut visit = |block: Block<'_>| {
        let flow = (!until.is_abandoned()).then(|| visit(block));
        flow.ok_or(ReadError::Abandoned)
    };
    while offset < end {
        match view(connection, span, topic, offset..end, &mut visit)? {
            ControlFlow::Continue((next, true)) => offset = next,
            ControlFlow::Continue((next, false)) => return Ok(next.max(end)),
            ControlFlow::Break(next) => return Ok(next),
        }
    }
    Ok(offset.max(end))
}

/// The part of a scan in one read transaction; returns its end and whether there is more.
fn view(
    connection: &Connection,
    span: &Span,
    topic: i64,
    offsets: std::ops::Range<i64>,
    visit: &mut impl FnMut(Block<'_>) -> Result<ControlFlow<i64>, ReadError>,
) -> Result<ControlFlow<i64, (i64, bool)>, ReadError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, count, records FROM chunks
         WHERE id >= coalesce((SELECT max(id) FROM chunks WHERE id >= ?1 AND id <= ?2), ?2) AND id < ?3
           AND max_time >= ?4 AND min_time <= ?5 AND (measurements & ?6) != 0
         ORDER BY id LIMIT ?7",
    )?;
    let mut rows = statement.query(params![
        file::key(topic, 0),
        file::key(topic, offsets.start),
        file::key(topic, offsets.end),
        span.from,
        span.until,
        span.measurements.cast_signed(),
        CHUNKS_PER_VIEW
    ])?;
    let (mut seen, mut next) = (0, offsets.start);
    while let Some(row) = rows.next()? {
        let first = file::offset_of(row.get(0)?);
        let count: i64 = row.get(1)?;
        let bytes = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        // The first chunk may start earlier: it contains the offset, or it was merged since the last transaction.
        let offset = first.max(offsets.start);
        let bytes = Entries::new(bytes).skip_records(offset - first);
        if let ControlFlow::Break(stopped_at) = visit(Block { offset, bytes })? {
            return Ok(ControlFlow::Break(stopped_at));
        }
        seen += 1;
        next = first + count;
    }
    Ok(ControlFlow::Continue((next, seen == CHUNKS_PER_VIEW)))
}

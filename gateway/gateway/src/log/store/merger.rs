//! Merges small chunks when the store is idle: a log that is written record by record would otherwise keep a row for each. A step
//! is one transaction of bounded size; readers see the log before it or after it.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::{chunk::Chunk, file};

/// Chunks of at least this size are not merged.
const LARGE_BYTES: usize = 64 * 1024;
/// Approximate largest size of a merged chunk.
const MERGED_BYTES: usize = 512 * 1024;
/// Chunks examined in a step.
const LOOK_AT_MAX: i64 = 1024;
/// Fewer chunks than this in a row are not worth rewriting yet.
const WORTHWHILE: usize = 64;

/// Progress of merging.
#[derive(Debug, Default)]
pub(super) struct Merger {
    turn: usize,
    /// By topic: the offset before which nothing is left to merge.
    done: HashMap<i64, i64>,
}

/// Consecutive chunks to merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: i64,
    last: i64,
}

impl Merger {
    /// Does one step in the next topic that needs one; false if none does.
    pub(super) fn step(
        &mut self,
        connection: &Connection,
        topics: &[i64],
    ) -> rusqlite::Result<bool> {
        for _ in 0..topics.len() {
            self.turn = (self.turn + 1) % topics.len();
            let topic = topics[self.turn];
            let (run, whole) = find(connection, topic, self.done.entry(topic).or_default())?;
            if let Some(run) = run {
                merge(connection, run)?;
            }
            if run.is_some() || !whole {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Finds a run of small chunks after `done`, which advances past large ones; also returns whether it reached the log's end.
fn find(
    connection: &Connection,
    topic: i64,
    done: &mut i64,
) -> rusqlite::Result<(Option<Run>, bool)> {
    let mut statement = connection.prepare_cached(
        "SELECT id, length(records) FROM chunks WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3",
    )?;
    let mut rows = statement.query([
        file::key(topic, *done),
        file::key(topic + 1, 0),
        LOOK_AT_MAX,
    ])?;
    let (mut small, mut bytes, mut seen) = (Vec::new(), 0, 0);
    while let Some(row) = rows.next()? {
        let (id, length): (i64, usize) = (row.get(0)?, row.get(1)?);
        seen += 1;
        let is_large = length >= LARGE_BYTES;
        if is_large || bytes >= MERGED_BYTES {
            if small.len() >= WORTHWHILE {
                break;
            }
            // The chunks before it are too few to merge, or large enough: they stay.
            small.clear();
            bytes = 0;
            *done = file::offset_of(id) + i64::from(is_large);
        }
        if !is_large {
            small.push(id);
            bytes += length;
        }
    }
    let run = match small.as_slice() {
        [first, .., last] if small.len() >= WORTHWHILE => Some(Run {
            first: *first,
            last: *last,
        }),
        _ => None,
    };
    Ok((run, seen < LOOK_AT_MAX))
}

fn merge(connection: &Connection, run: Run) -> rusqlite::Result<()> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let mut merged = Chunk::default();
    let mut statement = connection.prepare_cached(
        "SELECT count, min_time, max_time, measurements, records FROM chunks WHERE id >= ?1 AND id <= ?2 ORDER BY id",
    )?;
    let mut rows = statement.query([run.first, run.last])?;
    while let Some(row) = rows.next()? {
        merged.append(&Chunk {
            count: row.get(0)?,
            min_time: row.get(1)?,
            max_time: row.get(2)?,
            measurements: row.get::<_, i64>(3)?.cast_unsigned(),
            bytes: row.get(4)?,
        });
    }
    drop(rows);
    connection
        .prepare_cached("DELETE FROM chunks WHERE id >= ?1 AND id <= ?2")?
        .execute([run.first, run.last])?;
    connection
        .prepare_cached(file::INSERT_CHUNK)?
        .execute(params![
            run.first,
            merged.count,
            merged.min_time,
            merged.max_time,
            merged.measurements.cast_signed(),
            merged.bytes
        ])?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}

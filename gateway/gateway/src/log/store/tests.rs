//! The store alone: records come back in order, once, across read transactions and restarts.

use std::{ops::ControlFlow, path::Path, time::Duration};

use super::{
    Entries, Span, Staged, Store, StoreSettings, TopicSlot, Writer, measurement_bit, scan,
};
use crate::log::ticket::{Fate, Ticket};

const WAL_MAX_BYTES: u64 = 1024 * 1024;

fn open(file: &Path) -> (Store, Writer) {
    open_with(file, 0)
}

fn open_with(file: &Path, file_max_bytes: u64) -> (Store, Writer) {
    let settings = StoreSettings {
        file: file.to_owned(),
        queue_max_records: 10_000,
        commit_delay: Duration::ZERO,
        file_max_bytes,
        wal_max_bytes: WAL_MAX_BYTES,
        topics_max: 10,
        readers: 1,
        latest_max_series: 1000,
        latest_max_bytes: 1 << 20,
        latest_restore_records: 1000,
    };
    Store::open(&settings, Vec::new()).unwrap()
}

fn submit(store: &Store, topic: &str, times: std::ops::Range<i64>) -> Ticket {
    let slot = store.topics.slot(topic).unwrap();
    let mut staged = Staged::default();
    for time in times {
        let fields = format!("f={time}i");
        staged
            .chunk(slot)
            .push(time, measurement_bit("m"), "m", &fields);
        staged.keep();
    }
    store.queue.submit(&mut staged, 0).unwrap()
}

/// Waits for the committer, which has nothing else to write.
fn wait_for_fate(ticket: &Ticket) -> Fate {
    loop {
        match ticket.fate() {
            Fate::Pending => std::thread::yield_now(),
            fate => return fate,
        }
    }
}

/// Reads the span until the visitor has `limit` records; returns offsets, times and the next offset.
fn read(store: &Store, span: Span, limit: usize) -> (Vec<(i64, i64)>, i64) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let work = move |connection: &rusqlite::Connection, until: &super::Until| {
        let mut records = Vec::new();
        let next = scan(connection, &span, until, |block| {
            for (offset, entry) in (block.offset..).zip(Entries::new(block.bytes)) {
                if records.len() == limit {
                    return ControlFlow::Break(offset);
                }
                assert_eq!(entry.line, format!("m f={}i", entry.time).as_bytes());
                if (span.from..=span.until).contains(&entry.time) {
                    records.push((offset, entry.time));
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok((records, next))
    };
    runtime.block_on(store.readers.read(HOUR, work)).unwrap()
}

const HOUR: std::time::Duration = std::time::Duration::from_hours(1);

fn whole_topic(topic: &str, offset: i64) -> Span {
    Span {
        topic: topic.to_owned(),
        offset,
        from: i64::MIN,
        until: i64::MAX,
        measurements: u64::MAX,
    }
}

#[test]
fn records_come_back_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.db");
    // More chunks than one read transaction reads, each of three records.
    for life in 0..2 {
        let (store, writer) = open(&file);
        for turn in 0..100 {
            let first = (life * 100 + turn) * 3;
            assert_eq!(
                wait_for_fate(&submit(&store, "t", first..first + 3)),
                Fate::Durable
            );
            submit(&store, "u", turn..turn + 1);
        }
        store.close();
        writer.wait().unwrap();
    }
    let (store, _writer) = open(&file);
    let check = |span: Span, limit, expected: std::ops::Range<i64>, next| {
        let pairs: Vec<(i64, i64)> = expected.map(|number| (number, number)).collect();
        assert_eq!(read(&store, span, limit), (pairs, next));
    };
    check(whole_topic("t", 0), 10_000, 0..600, 600);
    check(whole_topic("t", 0), 250, 0..250, 250);
    check(whole_topic("t", 250), 300, 250..550, 550);
    check(whole_topic("t", 599), 10, 599..600, 600);
    check(whole_topic("t", 600), 10, 0..0, 600);
    check(whole_topic("t", 9_000), 10, 0..0, 600);
    check(
        Span {
            from: 100,
            until: 199,
            ..whole_topic("t", 0)
        },
        10_000,
        100..200,
        600,
    );
    check(
        Span {
            from: 100,
            until: 199,
            ..whole_topic("t", 0)
        },
        50,
        100..150,
        150,
    );
    check(
        Span {
            measurements: measurement_bit("m"),
            ..whole_topic("t", 0)
        },
        10_000,
        0..600,
        600,
    );
    check(
        Span {
            measurements: !measurement_bit("m"),
            ..whole_topic("t", 0)
        },
        10_000,
        0..0,
        600,
    );
    check(whole_topic("nothing", 0), 10, 0..0, 0);
    assert_eq!(read(&store, whole_topic("u", 0), 10_000).1, 200);
}

#[test]
fn the_write_ahead_log_shrinks_after_overlapping_reads() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.db");
    let (store, _writer) = open(&file);
    let write = |commits: i64| {
        for first in 0..commits {
            let times = first * 2000..(first + 1) * 2000;
            assert_eq!(wait_for_fate(&submit(&store, "t", times)), Fate::Durable);
        }
    };
    let size = || {
        std::fs::metadata(file.with_extension("db-wal"))
            .unwrap()
            .len()
    };
    write(1);
    let reader = rusqlite::Connection::open(&file).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM chunks")
        .unwrap();
    write(50);
    assert!(size() > 2 * WAL_MAX_BYTES, "{}", size());
    reader.execute_batch("COMMIT").unwrap();
    write(64);
    assert!(size() <= WAL_MAX_BYTES, "{}", size());
}

#[test]
fn reads_that_wait_are_limited() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _writer) = open(&folder.path().join("s.db"));
    let gate = std::sync::Arc::new(std::sync::RwLock::new(()));
    let closed = gate.write().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut reads = tokio::task::JoinSet::new();
        for _ in 0..17 {
            let (readers, gate) = (store.readers.clone(), gate.clone());
            let pass = move |_: &rusqlite::Connection, _: &super::Until| {
                drop(gate.read());
                Ok(())
            };
            reads.spawn(async move { readers.read(HOUR, pass).await });
        }
        // One round: every read has asked.
        tokio::task::yield_now().await;
        let refused = store.readers.read(HOUR, |_, _| Ok(())).await;
        assert!(matches!(refused, Err(super::ReadError::Busy)));
        drop(closed);
        while let Some(read) = reads.join_next().await {
            assert!(read.unwrap().is_ok());
        }
        assert!(store.readers.read(HOUR, |_, _| Ok(())).await.is_ok());
    });
}

#[test]
fn a_read_that_panics_returns_its_connection() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _writer) = open(&folder.path().join("s.db"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let lost = runtime.block_on(
        store
            .readers
            .read::<()>(HOUR, |_, _| panic!("as this test wants it")),
    );
    assert!(matches!(lost, Err(super::ReadError::Lost)));
    assert_eq!(read(&store, whole_topic("t", 0), 1), (Vec::new(), 0));
}

#[test]
fn the_queue_has_a_limit_and_an_end() {
    let queue = super::Queue::new(10);
    let staged = |count: usize| {
        let mut staged = Staged::default();
        for time in 0..count {
            let chunk = staged.chunk(TopicSlot(0));
            chunk.push(time.try_into().unwrap(), 1, "m", "f=1");
            staged.keep();
        }
        staged
    };
    assert!(queue.submit(&mut staged(9), 0).is_ok());
    assert!(queue.submit(&mut staged(2), 0).is_err());
    assert!(queue.submit(&mut staged(1), 0).is_ok());
    queue.close();
    assert!(queue.submit(&mut staged(0), 0).is_err());
    // A request above the limit is accepted if the queue is empty, or it could never be.
    assert!(super::Queue::new(10).submit(&mut staged(11), 0).is_ok());
}

#[test]
fn a_rollback_leaves_nothing() {
    let mut chunk = super::Chunk::default();
    chunk.push(5, 1, "m", "f=1");
    let (kept, mark) = (chunk.clone(), chunk.mark());
    chunk.push(-9, 2, "n", "f=2");
    chunk.take_back(mark);
    assert_eq!(chunk, kept);
}

#[test]
fn truncated_bytes_end_the_entries() {
    let mut chunk = super::Chunk::default();
    chunk.push(5, 1, "m", "f=1");
    chunk.push(6, 1, "m", "f=2");
    for length in 0..chunk.bytes.len() {
        let whole = length / (chunk.bytes.len() / 2);
        assert_eq!(Entries::new(&chunk.bytes[..length]).count(), whole);
    }
}

/// Writes all chunks of topic 1 but the first as the committer does, which would merge them in between if writing took long
/// enough. Returns the next offset.
fn write_chunks(connection: &rusqlite::Connection, records: &[i64]) -> i64 {
    let mut next = records[0];
    for count in &records[1..] {
        let mut chunk = super::Chunk::default();
        for time in next..next + count {
            chunk.push(time, measurement_bit("m"), "m", &format!("f={time}i"));
        }
        let row = rusqlite::params![
            super::file::key(1, next),
            chunk.count,
            chunk.min_time,
            chunk.max_time,
            chunk.measurements.cast_signed(),
            chunk.bytes
        ];
        connection.execute(super::file::INSERT_CHUNK, row).unwrap();
        next += count;
    }
    next
}

/// Writes chunks with these numbers of records, merges until nothing is left to merge, and counts the chunks that remain.
#[track_caller]
fn check_merged(records: &[i64], remaining: usize) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.db");
    let (store, writer) = open(&file);
    assert_eq!(
        wait_for_fate(&submit(&store, "t", 0..records[0])),
        Fate::Durable
    );
    assert_eq!(wait_for_fate(&submit(&store, "u", 0..1)), Fate::Durable);
    store.close();
    writer.wait().unwrap();
    let connection = rusqlite::Connection::open(&file).unwrap();
    let next = write_chunks(&connection, records);
    let mut merger = super::merger::Merger::default();
    while merger.step(&connection, &[1, 2]).unwrap() {}
    let chunks: usize = connection
        .query_row("SELECT count(*) FROM chunks", [], |row| row.get(0))
        .unwrap();
    assert_eq!(chunks, remaining + 1, "of {} chunks", records.len());
    drop(connection);
    let (store, _writer) = open(&file);
    let all: Vec<(i64, i64)> = (0..next).map(|number| (number, number)).collect();
    assert_eq!(read(&store, whole_topic("t", 0), usize::MAX), (all, next));
    let middle = next / 2;
    assert_eq!(
        read(&store, whole_topic("t", middle), 1).0,
        [(middle, middle)]
    );
    assert_eq!(
        wait_for_fate(&submit(&store, "t", next..next + 1)),
        Fate::Durable
    );
    assert_eq!(
        read(&store, whole_topic("t", next), 10),
        (vec![(next, next)], next + 1)
    );
}

#[test]
fn small_chunks_are_merged_and_nothing_changes_for_readers() {
    check_merged(&[1; 10], 10);
    check_merged(&[1; 200], 1);
    // One of 5,000 records is large already; the few before it stay, the many after it become one.
    let mut records = vec![1; 10];
    records.push(5000);
    records.extend([1; 100]);
    check_merged(&records, 12);
    // Medium ones are large enough together.
    check_merged(&[2000; 15], 15);
}

/// Reads a log of 200 single records; at the record `merge_offset`, another 100 are written and all are merged. Each record must be read
/// once, and reading must continue after the last one.
#[track_caller]
fn check_read_while_merged(merge_offset: i64) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.db");
    let (store, _writer) = open(&file);
    let write = |times: std::ops::Range<i64>| {
        for time in times {
            assert_eq!(
                wait_for_fate(&submit(&store, "t", time..time + 1)),
                Fate::Durable
            );
        }
    };
    write(0..200);
    let merging = rusqlite::Connection::open(&file).unwrap();
    let reading = rusqlite::Connection::open(&file).unwrap();
    let (mut seen, mut is_merged) = (Vec::new(), false);
    let next = scan(
        &reading,
        &whole_topic("t", 0),
        &super::Until::default(),
        |block| {
            for (offset, entry) in (block.offset..).zip(Entries::new(block.bytes)) {
                assert_eq!(offset, entry.time);
                seen.push(offset);
                if offset == merge_offset && !is_merged {
                    is_merged = true;
                    write(200..300);
                    let mut merger = super::merger::Merger::default();
                    // On a busy machine the committer may have done so a moment ago.
                    merger.step(&merging, &[1]).unwrap();
                }
            }
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    assert_eq!(seen, (0..next).collect::<Vec<_>>());
    assert!(next >= 200, "{next}");
}

#[test]
fn a_scan_stops_at_the_next_block_if_nobody_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _writer) = open(&folder.path().join("s.db"));
    assert_eq!(wait_for_fate(&submit(&store, "t", 0..3)), Fate::Durable);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let (begun, begins) = std::sync::mpsc::channel();
    let work = move |connection: &rusqlite::Connection, until: &super::Until| {
        begun.send(()).unwrap();
        // As a log without an end.
        loop {
            scan(connection, &whole_topic("t", 0), until, |_| {
                ControlFlow::Continue(())
            })?;
        }
    };
    let mut reading = Box::pin(store.readers.read::<()>(HOUR, work));
    runtime.block_on(async {
        let first = std::future::poll_fn(|context| {
            std::task::Poll::Ready(reading.as_mut().poll(context).is_pending())
        });
        assert!(first.await);
    });
    begins.recv().unwrap();
    assert_eq!(store.readers.stop_count(), 0);
    drop(reading);
    while store.readers.stop_count() == 0 {
        std::thread::yield_now();
    }
    // The connection is back.
    assert_eq!(read(&store, whole_topic("t", 0), 9).0.len(), 3);
}

#[test]
fn merging_during_a_read_shows_no_record_twice() {
    for offset in [10, 63, 64, 199] {
        check_read_while_merged(offset);
    }
}

#[test]
fn a_panic_of_the_committer_fails_waiting_requests() {
    let folder = tempfile::tempdir().unwrap();
    let (store, writer) = open(&folder.path().join("s.db"));
    let mut staged = Staged::default();
    // An unknown topic number makes the committer panic.
    staged.chunk(TopicSlot(9)).push(1, 1, "m", "f=1");
    staged.keep();
    let ticket = store.queue.submit(&mut staged, 0).unwrap();
    assert_eq!(wait_for_fate(&ticket), Fate::Failed);
    assert!(writer.wait().is_err());
    assert!(!store.writable.load(std::sync::atomic::Ordering::Relaxed));
    let refused = store.queue.submit(&mut staged, 0).unwrap_err();
    assert_eq!(refused, super::Refused::Closed);
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(store.wait_until_ended());
}

#[test]
fn keys_of_the_last_topic_are_in_order() {
    let last = i64::try_from(super::TOPICS_MAX).unwrap();
    assert!(super::file::key(last, 0) > 0);
    assert!(super::file::key(last + 1, 0) > super::file::key(last, 0));
}

#[test]
fn a_failed_store_is_probed_by_writes_that_leave_no_data() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.db");
    let (store, _writer) = open_with(&file, 200_000);
    assert_eq!(wait_for_fate(&submit(&store, "t", 0..9_999)), Fate::Absent);
    let writable = || store.writable.load(std::sync::atomic::Ordering::Relaxed);
    assert!(!writable());
    while !writable() {
        std::thread::yield_now();
    }
    let kept: i64 = rusqlite::Connection::open(&file)
        .unwrap()
        .query_row("SELECT count(*) FROM trial_write", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, 0);
}

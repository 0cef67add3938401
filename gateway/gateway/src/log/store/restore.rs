//! After a start: restores the latest readings from the log, while the gateway already accepts records.

use std::{ops::ControlFlow, sync::Weak, time::Instant};

use rusqlite::Connection;

use super::{
    Store, file,
    file::{KnownTopic, StoreError},
    readers::Until,
    readers::{Block, ReadError, Span, scan},
    settings::StoreSettings,
};
use crate::log::latest::Latest;

/// The part of a topic's log that is read.
struct Part {
    slot: u32,
    span: Span,
}

/// Starts the thread that reads the log, if there is something to read.
pub(super) fn start(
    store: &Store,
    settings: &StoreSettings,
    topics: &[KnownTopic],
) -> Result<(), StoreError> {
    if topics.is_empty() || !store.latest.is_on() {
        return Ok(());
    }
    let of_each = i64::try_from(settings.latest_restore_records / topics.len()).unwrap_or(i64::MAX);
    let parts: Vec<Part> = (0..)
        .zip(topics)
        .map(|(slot, topic)| Part::new(slot, topic, of_each))
        .collect();
    let connection = file::open_for_reading(&settings.file)?;
    store.latest.set_filling(true);
    let latest = std::sync::Arc::downgrade(&store.latest);
    std::thread::Builder::new()
        .name("restore".into())
        .spawn(move || run(&connection, &parts, &latest))
        .map_err(StoreError::Thread)?;
    Ok(())
}

impl Part {
    /// The last records of a topic.
    fn new(slot: u32, topic: &KnownTopic, records: i64) -> Self {
        Self {
            slot,
            span: Span {
                topic: topic.name.clone(),
                offset: topic.next_offset.saturating_sub(records).max(0),
                from: i64::MIN,
                until: i64::MAX,
                measurements: u64::MAX,
            },
        }
    }
}

fn run(connection: &Connection, parts: &[Part], latest: &Weak<Latest>) {
    if let Err(error) = restore(connection, parts, latest) {
        waggle_service::log::warn(format_args!("restoring the latest readings: {error}"));
    }
    if let Some(latest) = latest.upgrade() {
        latest.set_filling(false);
    }
}

/// Reads until the end, or until the store is closed.
fn restore(
    connection: &Connection,
    parts: &[Part],
    latest: &Weak<Latest>,
) -> Result<(), ReadError> {
    let begun = Instant::now();
    for part in parts {
        let mut is_over = false;
        scan(connection, &part.span, &Until::default(), |block| {
            let flow = note_block(latest, part.slot, block);
            is_over |= flow.is_break();
            flow
        })?;
        if is_over {
            return Ok(());
        }
    }
    waggle_service::log::note(format_args!(
        "the latest readings are restored after {:?}",
        begun.elapsed()
    ));
    Ok(())
}

/// Breaks if the store is closed.
fn note_block(latest: &Weak<Latest>, slot: u32, block: Block<'_>) -> ControlFlow<i64> {
    let Some(latest) = latest.upgrade() else {
        return ControlFlow::Break(block.offset);
    };
    latest.note_restored(slot, block.bytes);
    ControlFlow::Continue(())
}

//! After a start: restores the latest readings from the log, while the gateway already accepts records.

use std::{ops::ControlFlow, sync::Weak, time::Instant};

use rusqlite::Connection;

use super::{
    Store, file,
    file::{KnownTopic, StoreError},
    readers::{ReadError, Span, scan},
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
        .map(|(slot, topic)| Part {
            slot,
            span: Span {
                topic: topic.name.clone(),
                offset: topic.next_offset.saturating_sub(of_each).max(0),
                from: i64::MIN,
                until: i64::MAX,
                measurements: u64::MAX,
            },
        })
        .collect();
    let connection = file::open_for_reading(&settings.file)?;
    store.latest.set_filling(true);
    let latest = std::sync::Arc::downgrade(&store.latest);
    std::thread::Builder::new()
        .name("restore".into())
        .spawn(move || {
            if let Err(error) = restore(&connection, &parts, &latest) {
                waggle_service::log::warn(format_args!("restoring the latest readings: {error}"));
            }
            if let Some(latest) = latest.upgrade() {
                latest.set_filling(false);
            }
        })
        .map_err(StoreError::Thread)?;
    Ok(())
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
        scan(connection, &part.span, |block| {
            let Some(latest) = latest.upgrade() else {
                is_over = true;
                return ControlFlow::Break(block.offset);
            };
            latest.note_restored(part.slot, block.bytes);
            ControlFlow::Continue(())
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

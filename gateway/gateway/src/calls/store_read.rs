//! Shared by reads and queries: a reader of the store, memory for the answer, and the errors if there is neither.

use std::sync::{Arc, atomic::Ordering};

use rusqlite::Connection;

use crate::{answers::problem::Problem, log::store::ReadError, shared::Shared};

/// Bytes of an answer, counted until its client has read it.
pub(crate) struct AnswerMemory {
    shared: Arc<Shared>,
    bytes: usize,
}

impl AnswerMemory {
    /// Reserves memory for an answer, if it fits; a single answer always does.
    pub(super) fn reserve(shared: &Arc<Shared>, bytes: usize) -> Option<Self> {
        let before = shared
            .gauges
            .answer_bytes
            .fetch_add(bytes, Ordering::Relaxed);
        let memory = Self {
            shared: Arc::clone(shared),
            bytes,
        };
        (before == 0 || before + bytes <= shared.settings.answers_max_bytes).then_some(memory)
    }

    /// Reserves more while an answer is made, so that it has at least this much in total, if that fits.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 {
            return true;
        }
        let gauge = &self.shared.gauges.answer_bytes;
        let before = gauge.fetch_add(more, Ordering::Relaxed);
        let fits = before + more <= self.shared.settings.answers_max_bytes;
        if fits {
            self.bytes += more;
        } else {
            gauge.fetch_sub(more, Ordering::Relaxed);
        }
        fits
    }

    /// The answer is complete and has this many bytes.
    pub(super) fn settle(&mut self, bytes: usize) {
        let gauge = &self.shared.gauges.answer_bytes;
        gauge.fetch_add(bytes, Ordering::Relaxed);
        gauge.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
    }
}

impl Drop for AnswerMemory {
    fn drop(&mut self) {
        self.shared
            .gauges
            .answer_bytes
            .fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// An answer's body, and other results of its work.
pub(super) struct Read<T> {
    pub(super) body: Vec<u8>,
    pub(super) found: T,
}

/// An answer, with the memory that it takes until it is dropped.
type Counted<T> = (Read<T>, Arc<AnswerMemory>);

/// Does the work when a reader is free; the body is counted until the returned [`AnswerMemory`] is dropped.
pub(super) async fn read<T: Send + 'static>(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Connection, &mut AnswerMemory) -> Result<Read<T>, ReadError> + Send + 'static,
) -> Result<Counted<T>, Problem> {
    let holder = Arc::clone(shared);
    let done = shared
        .backend
        .embedded_store()
        .readers
        .read(move |connection| read_counted(&holder, connection, work))
        .await;
    done.map_err(problem)?.ok_or_else(too_many_answers)
}

/// `None` if there is no memory for the answer.
fn read_counted<T>(
    shared: &Arc<Shared>,
    connection: &Connection,
    work: impl FnOnce(&Connection, &mut AnswerMemory) -> Result<Read<T>, ReadError>,
) -> Result<Option<Counted<T>>, ReadError> {
    let Some(mut memory) = AnswerMemory::reserve(shared, shared.settings.answer_max_bytes) else {
        return Ok(None);
    };
    let read = work(connection, &mut memory)?;
    memory.settle(read.body.len());
    Ok(Some((read, Arc::new(memory))))
}

pub(super) fn too_many_answers() -> Problem {
    Problem::new(503, "clients have not read too many answers; try again")
}

/// A failed read as the client sees it; the full reason is logged.
fn problem(error: ReadError) -> Problem {
    match error {
        ReadError::Busy => return Problem::new(429, "too many reads wait already; try again"),
        ReadError::NoMemory => return too_many_answers(),
        _ => {}
    }
    waggle_service::log::warn(format_args!("{error}"));
    Problem::new(500, "the store cannot be read")
}

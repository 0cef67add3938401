//! Shared by reads and queries: a reader of the store, memory for the answer, and the errors if there is neither.

use std::sync::{Arc, atomic::Ordering};

use rusqlite::Connection;

use crate::{
    answers::problem::Problem,
    clients::{identity::caller::Caller, memory::Memory, share::Share},
    log::store::{ReadError, Until},
    shared::Shared,
};

/// Bytes of an answer, counted until its client has read it.
pub(crate) struct AnswerMemory {
    shared: Arc<Shared>,
    client: Arc<Memory>,
    bytes: usize,
}

impl AnswerMemory {
    /// Reserves memory for an answer, if it fits; a single answer always does.
    ///
    /// # Errors
    /// If this client, or all together, have not read too many answers.
    pub(super) fn reserve(
        shared: &Arc<Shared>,
        caller: &Caller,
        bytes: usize,
    ) -> Result<Self, Problem> {
        let client = caller.memory();
        if !client.answers.take_within_or_alone(bytes) {
            let problem = "this client has not read too many answers; try again";
            return Err(caller.refuse(429, problem));
        }
        let gauge = &shared.gauges.answer_bytes;
        let before = gauge.fetch_add(bytes, Ordering::Relaxed);
        // Gives the bytes back if they do not fit.
        let memory = Self {
            shared: Arc::clone(shared),
            client: Arc::clone(client),
            bytes,
        };
        if before > 0 && before + bytes > shared.settings.answers_max_bytes {
            return Err(too_many_answers());
        }
        Ok(memory)
    }

    /// Reserves more while an answer is made, so that it has at least this much in total, if that fits.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let max = self.shared.settings.answers_max_bytes;
        self.grow_within(max, bytes, Share::take)
    }

    /// The same, if at most half of the memory is taken with it: that of all clients, and that of this one.
    pub(super) fn grow_within_half(&mut self, bytes: usize) -> bool {
        let max = self.shared.settings.answers_max_bytes / 2;
        self.grow_within(max, bytes, Share::take_of_half)
    }

    fn grow_within(&mut self, max: usize, bytes: usize, take: fn(&Share, usize) -> bool) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 {
            return true;
        }
        let gauge = &self.shared.gauges.answer_bytes;
        let before = gauge.fetch_add(more, Ordering::Relaxed);
        let fits = before + more <= max;
        if !fits || !take(&self.client.answers, more) {
            gauge.fetch_sub(more, Ordering::Relaxed);
            return false;
        }
        self.bytes += more;
        true
    }

    /// The answer is complete and has this many bytes.
    pub(super) fn settle(&mut self, bytes: usize) {
        let gauge = &self.shared.gauges.answer_bytes;
        gauge.fetch_add(bytes, Ordering::Relaxed);
        gauge.fetch_sub(self.bytes, Ordering::Relaxed);
        self.client.answers.add(bytes);
        self.client.answers.give_back(self.bytes);
        self.bytes = bytes;
    }
}

impl Drop for AnswerMemory {
    fn drop(&mut self) {
        self.shared
            .gauges
            .answer_bytes
            .fetch_sub(self.bytes, Ordering::Relaxed);
        self.client.answers.give_back(self.bytes);
    }
}

/// An answer's body, and other results of its work.
pub(super) struct Read<T> {
    pub(super) body: Vec<u8>,
    pub(super) found: T,
}

/// An answer, with the memory that it takes until it is dropped.
pub(super) type Counted<T> = (Read<T>, Arc<AnswerMemory>);

/// What a read works with.
pub(super) struct Means<'a> {
    pub(super) connection: &'a Connection,
    pub(super) memory: &'a mut AnswerMemory,
    pub(super) until: &'a Until,
}

/// Does the work when a reader is free and it is the client's turn; the body is counted until the returned [`AnswerMemory`] is
/// dropped. `bytes` are reserved for it before.
pub(super) async fn read<T: Send + 'static>(
    shared: &Arc<Shared>,
    caller: &Caller,
    bytes: usize,
    work: impl FnOnce(Means<'_>) -> Result<Read<T>, ReadError> + Send + 'static,
) -> Result<Counted<T>, Problem> {
    let timeout = shared.settings.read_timeout;
    let turn = caller.client.reads.take(timeout).await;
    let _turn = turn.map_err(|_| too_many_reads(caller))?;
    let (shared_by_work, reader) = (Arc::clone(shared), caller.clone());
    let reserve = move || AnswerMemory::reserve(&shared_by_work, &reader, bytes);
    let readers = &shared.backend.embedded_store().readers;
    let work = move |connection: &Connection, until: &Until| match reserve() {
        Ok(memory) => read_counted(connection, until, memory, work).map(Ok),
        Err(problem) => Ok(Err(problem)),
    };
    let read = readers.read(timeout, work).await;
    read.map_err(|error| problem(caller, error))?
}

fn read_counted<T>(
    connection: &Connection,
    until: &Until,
    mut memory: AnswerMemory,
    work: impl FnOnce(Means<'_>) -> Result<Read<T>, ReadError>,
) -> Result<Counted<T>, ReadError> {
    let read = work(Means {
        connection,
        memory: &mut memory,
        until,
    })?;
    memory.settle(read.body.len());
    Ok((read, Arc::new(memory)))
}

fn too_many_reads(caller: &Caller) -> Problem {
    caller.refuse(429, "too many reads wait already; try again")
}

pub(super) fn too_many_answers() -> Problem {
    Problem::new(503, "clients have not read too many answers; try again")
}

/// A failed read as the client sees it; the full reason is logged.
fn problem(caller: &Caller, error: ReadError) -> Problem {
    match error {
        ReadError::Busy => return too_many_reads(caller),
        ReadError::NoMemory => return too_many_answers(),
        _ => {}
    }
    waggle_service::log::warn(format_args!("{error}"));
    Problem::new(500, "the store cannot be read")
}

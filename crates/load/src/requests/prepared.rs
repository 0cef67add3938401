//! Prepared requests: their bytes, and the slots in them that are rewritten on each send.

use serde::{Deserialize, Serialize};

/// The bytes of one complete request, and the slots for stamps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// Head and body. Slots hold digits already, so that the length never changes.
    pub bytes: Vec<u8>,
    pub slots: Vec<Slot>,
    /// Number of records in the body (0 if there are none).
    pub records: u32,
    /// An answer to HEAD never has a body.
    pub is_head: bool,
}

impl Prepared {
    /// Whether its head has `Connection: close`, after which no other request may be sent on the connection (RFC 9112, 9.6).
    pub(crate) fn asks_to_close(&self) -> bool {
        let lines = self.bytes.split(|byte| *byte == b'\n');
        let mut head = lines.take_while(|line| !line.trim_ascii().is_empty());
        head.any(is_connection_close)
    }
}

fn is_connection_close(line: &[u8]) -> bool {
    let mut parts = line.splitn(2, |byte| *byte == b':');
    let name = parts.next().unwrap_or_default().trim_ascii();
    let value = parts.next().unwrap_or_default().trim_ascii();
    name.eq_ignore_ascii_case(b"connection") && value.eq_ignore_ascii_case(b"close")
}

/// A part of a request's bytes that is rewritten each time it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Offset of its first byte in `Prepared::bytes`.
    pub at: usize,
    pub stamp: Stamp,
}

/// What is written into a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stamp {
    /// [`KEY_DIGITS`] digits: [`key_of`] the worker and `request index × records + record`.
    Key { record: u32 },
    /// [`TIME_DIGITS`] digits: nanoseconds since 1970 at sending, made unique: strictly increasing in a worker and, modulo the
    /// number of workers, equal to the worker's number, so that no two records share a time.
    Time,
    /// [`UUID_LENGTH`] characters: a random UUID (version 4).
    Uuid,
}

impl Stamp {
    /// Length in bytes.
    #[must_use]
    pub fn length(self) -> usize {
        match self {
            Self::Key { .. } => KEY_DIGITS,
            Self::Time => TIME_DIGITS,
            Self::Uuid => UUID_LENGTH,
        }
    }
}

/// Digits of a key.
pub const KEY_DIGITS: usize = 18;
/// Digits of a time in nanoseconds since 1970 (true from 2001 to 2286).
pub const TIME_DIGITS: usize = 19;
/// Characters of a UUID.
pub const UUID_LENGTH: usize = 36;
const KEY_STEP: u64 = 1_000_000_000_000_000;
const KEY_FIRST_WORKER: u64 = 100;

/// A record's key: `(100 + worker) × 10^15 + sequence`, always 18 digits for up to 900 workers.
#[must_use]
pub fn key_of(worker: usize, sequence: u64) -> u64 {
    (KEY_FIRST_WORKER + worker as u64) * KEY_STEP + sequence
}

/// The reverse of [`key_of`]; `None` if the number is not a key.
#[must_use]
pub fn worker_and_sequence(key: u64) -> Option<(usize, u64)> {
    let worker = (key / KEY_STEP).checked_sub(KEY_FIRST_WORKER)?;
    (worker < 900).then_some((usize::try_from(worker).ok()?, key % KEY_STEP))
}

//! The part of a log that was not sent yet. A log grows at its end; of a long one the end is written over when a life of its replica
//! begins or ends.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};

use super::message::Report;
use crate::components::supervise::LOG_HEAD_MAX_BYTES;

/// Most bytes in one message.
const PART_MAX_BYTES: u64 = 64 * 1024;

/// A log that is copied.
#[derive(Debug)]
pub(super) struct LogCopy {
    file: PathBuf,
    sent: u64,
}

impl LogCopy {
    pub(super) fn new(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            sent: 0,
        }
    }

    /// A life has begun or ended: what is behind the beginning of a long log may be another text now.
    pub(super) fn rewind(&mut self) {
        self.sent = self.sent.min(LOG_HEAD_MAX_BYTES);
    }

    /// The next part; `None`: all was sent.
    pub(super) fn next_part(&mut self) -> io::Result<Option<Report>> {
        let mut file = match File::open(&self.file) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let length = file.metadata()?.len();
        if length < self.sent {
            self.sent = length;
        }
        file.seek(SeekFrom::Start(self.sent))?;
        let mut bytes = Vec::new();
        file.take(PART_MAX_BYTES).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let from = self.sent;
        self.sent += bytes.len() as u64;
        Ok(Some(Report::Log {
            from,
            bytes: STANDARD.encode(bytes),
        }))
    }
}

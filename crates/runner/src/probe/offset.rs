//! The probe for stores that are read on over HTTP from an offset.

use tokio::time::Instant;
use waggle_study::Extract;

use super::{
    config::ProbeConfig,
    lines::{Lines, Markers, Marks},
    log::{ProbeLog, RecordTimes},
    pace::Pace,
};
use crate::{
    http::{Connection, HttpError, Request},
    placeholder::fill,
};

/// Reads a store from offset to offset and logs the records that it shows.
#[derive(Debug)]
pub(crate) struct Offset {
    get: String,
    limit: u32,
    run: Vec<u8>,
    markers: Markers,
    lines: Lines,
    pub(crate) log: ProbeLog,
    /// Offset of the next record to read.
    offset: u64,
    pub(crate) pace: Pace,
    /// Lines without an offset; reading cannot continue after them.
    pub(crate) without_offset: u64,
}

impl Offset {
    pub(crate) fn new(
        config: &ProbeConfig<'_>,
        get: &str,
        (offset_after, limit): (&str, u32),
    ) -> Self {
        Self {
            get: get.to_owned(),
            limit,
            run: config.run.as_bytes().to_vec(),
            markers: markers(&config.probe.extract, Some(offset_after)),
            lines: Lines::default(),
            log: ProbeLog::new(config),
            offset: 0,
            pace: Pace::new(),
            without_offset: 0,
        }
    }

    /// Polls once; true if the store has more than the answer shows.
    pub(crate) async fn poll(
        &mut self,
        connection: &mut impl Connection,
    ) -> Result<bool, HttpError> {
        let start = Instant::now();
        self.pace.polls += 1;
        // A poll that was aborted left an incomplete line, which is read again now.
        self.lines.forget();
        let path = page(&self.get, self.offset, self.limit);
        let rows_before = self.pace.rows_read;
        let answer = connection
            .send(&Request::get(&path), &mut |chunk| self.take(chunk))
            .await;
        match answer {
            Ok(200) => {
                let mut lines = std::mem::take(&mut self.lines);
                lines.end(|line| self.row(line, self.log.clock.unix_ns()));
                Ok(self.note_rows(start, self.pace.rows_read - rows_before))
            }
            Ok(status) => {
                self.pace.note_failure();
                Err(HttpError::Status { path, status })
            }
            Err(problem) => {
                self.pace.note_failure();
                Err(problem)
            }
        }
    }

    /// Reads from the beginning again.
    pub(crate) fn forget(&mut self) {
        self.offset = 0;
        self.log.restart();
        self.pace.restart();
    }

    /// Path and query of the first poll.
    pub(crate) fn first_page(&self) -> String {
        page(&self.get, 0, self.limit)
    }

    /// A poll that began at `start` returned this many rows; true if there may be more.
    fn note_rows(&mut self, start: Instant, rows: u64) -> bool {
        let has_more = rows >= u64::from(self.limit);
        if has_more {
            self.pace.is_behind(start);
        } else {
            self.pace.at_end(start, rows > 0);
        }
        has_more
    }

    fn take(&mut self, chunk: &[u8]) {
        let received_ns = self.log.clock.unix_ns();
        self.log.update_window();
        self.pace.bytes_read += chunk.len() as u64;
        let mut lines = std::mem::take(&mut self.lines);
        lines.add(chunk, |line| self.row(line, received_ns));
        self.lines = lines;
    }

    fn row(&mut self, line: &[u8], received_ns: u64) {
        if line.is_empty() {
            return;
        }
        self.pace.rows_read += 1;
        let row = self.markers.read(line, &self.run);
        match row.offset {
            Some(offset) => self.offset = self.offset.max(offset.saturating_add(1)),
            None => self.without_offset += 1,
        }
        match row.stamp {
            Some(stamp) => {
                let times = RecordTimes {
                    received_ns,
                    arrived_ns: None,
                };
                self.log.record(stamp, times);
            }
            None => self.log.note_foreign_record(),
        }
    }
}

/// The text directly before the numbers of a line.
pub(super) fn markers(extract: &Extract, offset: Option<&str>) -> Markers {
    match extract {
        Extract::After { key, run, time } => Markers::new(Marks {
            offset,
            key,
            run: run.as_deref(),
            time: time.as_deref(),
        }),
        // Only queries are answered in CSV; a line of it has none of these.
        Extract::Columns { key, time, run } => Markers::new(Marks {
            offset,
            key,
            run: run.as_deref(),
            time: Some(time),
        }),
    }
}

/// Path and query of one poll.
fn page(get: &str, offset: u64, limit: u32) -> String {
    let value = |name: &str| match name {
        "offset" => Some(offset.to_string()),
        "limit" => Some(limit.to_string()),
        _ => None,
    };
    // The system's file was checked, so there is no other placeholder.
    fill(get, value).unwrap_or_else(|_| get.to_owned())
}

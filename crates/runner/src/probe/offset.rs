//! Text over HTTP that is read on from an offset.

use tokio::time::Instant;
use waggle_study::Extract;

use super::{
    following::Following,
    lines::{Lines, Markers, Marks},
    notes::{Notes, Noticed},
    pace::Pace,
};
use crate::{
    placeholder::fill,
    web::{Ask, Line, WebError},
};

/// Reads on in a store and notes what it sees.
#[derive(Debug)]
pub(crate) struct Offset {
    get: String,
    limit: u32,
    run: Vec<u8>,
    markers: Markers,
    lines: Lines,
    pub(crate) notes: Notes,
    /// The next record to be read.
    offset: u64,
    pub(crate) pace: Pace,
    /// Lines without an offset, which cannot be read on from.
    pub(crate) without_offset: u64,
}

impl Offset {
    pub(crate) fn new(
        following: &Following<'_>,
        get: &str,
        (offset_after, limit): (&str, u32),
    ) -> Self {
        Self {
            get: get.to_owned(),
            limit,
            run: following.run.as_bytes().to_vec(),
            markers: markers(&following.probe.extract, Some(offset_after)),
            lines: Lines::default(),
            notes: Notes::new(following),
            offset: 0,
            pace: Pace::new(),
            without_offset: 0,
        }
    }

    /// Looks once; true where the store has more than it showed at once.
    pub(crate) async fn look(&mut self, line: &mut impl Line) -> Result<bool, WebError> {
        let start = Instant::now();
        self.pace.polls += 1;
        // A look that was given up left half a line, which is read again now.
        self.lines.forget();
        let path = page(&self.get, self.offset, self.limit);
        let rows_before = self.pace.rows_read;
        let answer = line
            .ask(&Ask::get(&path), &mut |chunk| self.take(chunk))
            .await;
        match answer {
            Ok(200) => {
                let mut lines = std::mem::take(&mut self.lines);
                lines.end(|line| self.row(line, self.notes.clock.unix_ns()));
                Ok(self.note_rows(start, self.pace.rows_read - rows_before))
            }
            Ok(status) => {
                self.pace.note_failure();
                Err(WebError::Status { path, status })
            }
            Err(problem) => {
                self.pace.note_failure();
                Err(problem)
            }
        }
    }

    /// Reads from the beginning on.
    pub(crate) fn forget(&mut self) {
        self.offset = 0;
        self.notes.begin_anew();
        self.pace.begin_anew();
    }

    /// Path and query of the first look.
    pub(crate) fn first_page(&self) -> String {
        page(&self.get, 0, self.limit)
    }

    /// A look that was begun at `start` brought so many rows; true where there may be more.
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
        let received_ns = self.notes.clock.unix_ns();
        self.notes.look_at_window();
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
                let noticed = Noticed {
                    received_ns,
                    arrived_ns: None,
                };
                self.notes.record(stamp, noticed);
            }
            None => self.notes.note_foreign_record(),
        }
    }
}

/// What stands right before the numbers of a line.
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

/// Path and query of one look.
fn page(get: &str, offset: u64, limit: u32) -> String {
    let value = |name: &str| match name {
        "offset" => Some(offset.to_string()),
        "limit" => Some(limit.to_string()),
        _ => None,
    };
    // A system's file is checked: there is nothing else in it.
    fill(get, value).unwrap_or_else(|_| get.to_owned())
}

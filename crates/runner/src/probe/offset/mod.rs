//! The probe for stores that are read on over HTTP from an offset.

use std::{ops::Range, time::Duration};

use tokio::time::{Instant, sleep};
use waggle_study::Extract;
use waggle_system::{
    http::client::{Connection, HttpError, Request},
    placeholder::fill,
};

use super::{
    config::ProbeConfig,
    lines::{Lines, Markers, Marks},
    log::{ProbeLog, RecordTimes},
    pace::Pace,
    sampling::{Sampling, Turn},
};

/// Most rows of a poll under load.
const ROWS_UNDER_LOAD: u32 = 16_384;
/// How near the end of the store is found before a window begins.
const NEAR_ROWS: u64 = 512;
/// Polls that read what came while the end of the store was looked for.
const POLLS_TO_END: u32 = 4;

/// Statuses of a store that refuses offsets beyond its end.
const NO_SUCH_OFFSET: [u16; 4] = [400, 404, 416, 422];

/// What a poll is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Records whose delays are known, because the last poll that reached the end of the store did not show them.
    Follow,
    /// Records that may have been there for long; they only count.
    Count,
    /// Skipped records before this offset; the same.
    CountBefore(u64),
    /// Only whether there is a row.
    Look,
}

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
    sampling: Sampling,
    purpose: Purpose,
    poll_interval: Duration,
    /// Whether the last poll looked at the end of the store.
    pub(crate) has_looked: bool,
    /// Offset and records followed when the first window began.
    first_window: Option<(u64, u64)>,
    /// When the last row came that was read on from the end of the store.
    last_row: Option<Instant>,
}

/// The page of a store that is read on from an offset, and the text before the offset and the time of arrival of its lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tail<'a> {
    pub(crate) get: &'a str,
    pub(crate) offset_after: &'a str,
    pub(crate) arrival_after: Option<&'a str>,
    pub(crate) limit: u32,
}

impl Offset {
    pub(crate) fn new(config: &ProbeConfig<'_>, tail: Tail<'_>) -> Self {
        let Tail {
            get,
            offset_after,
            arrival_after,
            limit,
        } = tail;
        Self {
            get: get.to_owned(),
            limit,
            run: config.run.as_bytes().to_vec(),
            markers: markers(&config.probe.extract, Some(offset_after), arrival_after),
            lines: Lines::default(),
            log: ProbeLog::new(config),
            offset: 0,
            pace: Pace::new(),
            without_offset: 0,
            sampling: Sampling::new(config.sample_limits),
            purpose: Purpose::Follow,
            poll_interval: config.delivery.poll_interval,
            has_looked: false,
            first_window: None,
            last_row: None,
        }
    }

    /// Polls once; true if the store has more than the answer shows.
    pub(crate) async fn poll(
        &mut self,
        connection: &mut impl Connection,
    ) -> Result<bool, HttpError> {
        self.pace.set_measured(self.log.measured_phase());
        self.has_looked = true;
        match self.sampling.turn(self.pace.bytes_read) {
            Turn::ReadOn => self.read_on(connection).await,
            Turn::Window => self.read_window(connection).await,
            Turn::Rest => {
                self.has_looked = false;
                Ok(false)
            }
            Turn::Skipped(range) => self.read_skipped(connection, range).await,
        }
    }

    async fn read_on(&mut self, connection: &mut impl Connection) -> Result<bool, HttpError> {
        let start = Instant::now();
        let limit = match self.sampling.is_under_load() {
            true => self.limit.min(ROWS_UNDER_LOAD),
            false => self.limit,
        };
        let rows = self
            .page(connection, Purpose::Follow, self.offset, limit)
            .await?;
        self.note_rows(rows);
        let has_more = rows >= u64::from(limit);
        if has_more {
            self.pace.is_behind(start);
        } else {
            self.pace.at_end(start, rows > 0);
            self.sampling.note_end(self.poll_interval);
        }
        Ok(has_more || self.sampling.reads_skipped())
    }

    /// Skips to the end of the store and reads what comes in a short time.
    async fn read_window(&mut self, connection: &mut impl Connection) -> Result<bool, HttpError> {
        let (began, before) = (Instant::now(), self.pace.rows_read);
        self.log.end_stretch();
        self.first_window
            .get_or_insert((self.offset, self.log.followed));
        let end = match self.find_end(connection).await {
            Ok(end) => end,
            Err(problem) => {
                if let HttpError::Status { status, .. } = problem
                    && NO_SUCH_OFFSET.contains(&status)
                {
                    self.sampling.give_up();
                }
                return Err(problem);
            }
        };
        self.sampling.skip(self.offset..end);
        self.offset = self.offset.max(end);
        self.pace.skip();
        let limit = self.limit.min(ROWS_UNDER_LOAD);
        for _ in 0..POLLS_TO_END {
            let start = Instant::now();
            let rows = self
                .page(connection, Purpose::Count, self.offset, limit)
                .await?;
            self.note_rows(rows);
            if rows < u64::from(limit) {
                self.pace.at_end(start, false);
                sleep(self.sampling.window()).await;
                let rows = self
                    .page(connection, Purpose::Follow, self.offset, limit)
                    .await?;
                self.note_rows(rows);
                self.pace.end_window(rows > 0);
                break;
            }
        }
        let rows = self.pace.rows_read - before;
        self.sampling.end_window(began, rows, self.offset);
        Ok(self.sampling.is_over())
    }

    /// An offset near the end of the store: it has records from there on, unless none came.
    async fn find_end(&mut self, connection: &mut impl Connection) -> Result<u64, HttpError> {
        let mut shown = self.offset;
        let mut step = self.sampling.expected_growth().max(NEAR_ROWS);
        let mut beyond = shown.saturating_add(step);
        while self.has_rows_at(connection, beyond).await? {
            shown = beyond;
            step = step.saturating_mul(2);
            beyond = shown.saturating_add(step);
        }
        while beyond - shown > NEAR_ROWS {
            let middle = shown + (beyond - shown) / 2;
            match self.has_rows_at(connection, middle).await? {
                true => shown = middle,
                false => beyond = middle,
            }
        }
        Ok(shown)
    }

    async fn has_rows_at(
        &mut self,
        connection: &mut impl Connection,
        offset: u64,
    ) -> Result<bool, HttpError> {
        let rows = self.page(connection, Purpose::Look, offset, 1).await?;
        Ok(rows > 0)
    }

    /// Reads a page of what was skipped under load.
    async fn read_skipped(
        &mut self,
        connection: &mut impl Connection,
        range: Range<u64>,
    ) -> Result<bool, HttpError> {
        let left = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
        let limit = self.limit.min(left);
        let purpose = Purpose::CountBefore(range.end);
        let rows = self.page(connection, purpose, range.start, limit).await?;
        // An answer may be shorter than its limit because of its bytes, so that only an empty one shows that there is no more.
        if rows == 0 || self.sampling.is_read_to(range.end) {
            self.sampling.end_range();
        }
        self.has_looked = false;
        Ok(true)
    }

    /// Reads a page, and returns the number of its rows.
    async fn page(
        &mut self,
        connection: &mut impl Connection,
        purpose: Purpose,
        offset: u64,
        limit: u32,
    ) -> Result<u64, HttpError> {
        self.pace.polls += 1;
        self.purpose = purpose;
        // A poll that was aborted left an incomplete line, which is read again now.
        self.lines.forget();
        let path = page(&self.get, offset, limit);
        let before = self.pace.rows_read;
        let answer = connection
            .send(&Request::get(&path), &mut |chunk| self.take(chunk))
            .await;
        match answer {
            Ok(200) => {
                let mut lines = std::mem::take(&mut self.lines);
                lines.end(|line| self.row(line, self.log.clock.unix_ns()));
                Ok(self.pace.rows_read - before)
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

    /// The load is over: everything is read from here on.
    pub(crate) fn end_load(&mut self) {
        self.sampling.end_load();
        self.log.end_stretch();
        // After the load all that comes can be followed. Of it as large a share is taken as in the windows, so that late records
        // weigh as much as others.
        if let Some((offset, followed)) = self.first_window {
            let followed = self.log.followed - followed;
            let came = self.offset.saturating_sub(offset);
            self.log.follow_one_in(came / followed.max(1));
        }
    }

    /// Whether some records were skipped under load, so that delays are those of a sample.
    pub(crate) fn is_sample(&self) -> bool {
        self.sampling.has_skipped()
    }

    /// How many different records are in the store, as far as it is known. What was skipped counts as the same share of this run's
    /// records as what was read.
    pub(crate) fn visible(&self) -> u64 {
        let (skipped, distinct) = (self.sampling.skipped_count(), self.log.seen.distinct);
        let read = self.offset.saturating_sub(skipped);
        if skipped == 0 || read == 0 {
            return distinct + skipped;
        }
        let all = u128::from(distinct) * u128::from(self.offset) / u128::from(read);
        u64::try_from(all).unwrap_or(u64::MAX)
    }

    /// When the last record came, if that is known although it was counted later.
    pub(crate) fn last_row(&self) -> Option<Instant> {
        self.last_row.filter(|_| self.sampling.has_skipped())
    }

    /// Reads from the beginning again.
    pub(crate) fn forget(&mut self) {
        self.offset = 0;
        self.sampling.restart();
        self.first_window = None;
        self.log.restart();
        self.pace.restart();
    }

    /// Path and query of the first poll.
    pub(crate) fn first_page(&self) -> String {
        page(&self.get, 0, self.limit)
    }

    fn note_rows(&mut self, rows: u64) {
        if rows > 0 {
            self.last_row = Some(Instant::now());
        }
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
        let row = match self.purpose {
            Purpose::Look => return,
            _ => self.markers.read(line, &self.run),
        };
        match (row.offset, self.purpose) {
            // It was read, or will be, on its own.
            (Some(offset), Purpose::CountBefore(end)) if offset >= end => {
                return self.sampling.note_read(end);
            }
            (Some(offset), Purpose::CountBefore(_)) => self.sampling.note_read(offset + 1),
            (Some(offset), _) => self.offset = self.offset.max(offset.saturating_add(1)),
            (None, _) => self.without_offset += 1,
        }
        let Some(stamp) = row.stamp else {
            return self.log.note_foreign_record();
        };
        let arrived_ns = self.markers.arrived_ns(line);
        if self.purpose != Purpose::Follow {
            return self.log.count(stamp, arrived_ns);
        }
        // A store that shows when a record arrived has shown it since; two clocks may differ a little.
        let visible_ns =
            arrived_ns.map(|at_ns| at_ns.clamp(stamp.time_ns.min(received_ns), received_ns));
        let caught_up_ns = self.log.clock.unix_ns_at(self.pace.caught_up());
        let times = RecordTimes {
            received_ns: visible_ns.unwrap_or(received_ns),
            since_ns: visible_ns.unwrap_or(caught_up_ns),
            arrived_ns,
        };
        self.log.record(stamp, times);
    }
}

/// The text directly before the numbers of a line.
pub(super) fn markers(extract: &Extract, offset: Option<&str>, arrival: Option<&str>) -> Markers {
    match extract {
        Extract::After { key, run, time } => Markers::new(Marks {
            offset,
            arrival,
            key,
            run: run.as_deref(),
            time: time.as_deref(),
        }),
        // Only queries are answered in CSV; a line of it has none of these.
        Extract::Columns { key, time, run } => Markers::new(Marks {
            offset,
            arrival,
            key,
            run: run.as_deref(),
            time: Some(time),
        }),
    }
}

/// Path and query of one poll.
pub(super) fn page(get: &str, offset: u64, limit: u32) -> String {
    let value = |name: &str| match name {
        "offset" => Some(offset.to_string()),
        "limit" => Some(limit.to_string()),
        _ => None,
    };
    // The system's file was checked, so there is no other placeholder.
    fill(get, value).unwrap_or_else(|_| get.to_owned())
}

#[cfg(test)]
mod tests;

//! The probe for servers that show changes in an answer that goes on, one document of JSON a line.
//!
//! The answer is read as it comes, so a delay ends when the bytes of its line were read. Nothing waits for a poll: a poll of this
//! probe reads for one poll interval. If the answer ends, the next one goes on from the version of the last line. What the server
//! sent meanwhile has waited since then at the longest.

mod stream;

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use waggle_system::{http::client::HttpError, problem::Problem};

use self::stream::Values;
pub(crate) use self::stream::WatchStream;
use super::{
    config::{ProbeConfig, ProbeError},
    lines::{LINE_MAX_BYTES, Lines, Markers, RowStamp},
    log::{Observation, ProbeLog, RecordTimes},
    offset::markers,
    pace::Pace,
};

/// After this time without a byte the last poll requests another answer: the connection may be broken without a sign.
const SILENT_AT_LEAST: Duration = Duration::from_secs(10);
/// While the server is silent, this often it is noted that nothing waits to be read. A thread that is busy wakes too late to say
/// when bytes have come, so they may have come since the last note.
const QUIET_INTERVAL: Duration = Duration::from_millis(1);

/// Reads the stream and logs the records that it shows.
#[derive(Debug)]
pub(crate) struct Watch {
    stream: WatchStream,
    conditions: Values,
    gone: Values,
    run: Vec<u8>,
    markers: Markers,
    lines: Lines,
    pub(crate) log: ProbeLog,
    pub(crate) pace: Pace,
    poll: Duration,
    /// When it was last known that nothing waited to be read, in nanoseconds since 1970: what is read later came later.
    quiet_ns: u64,
    /// When the answer began: a record that was sent before may have waited for it.
    opened_ns: u64,
    /// Since when such a record may have waited.
    interrupted_ns: u64,
    /// The current answer shows what is new. Until then it may list what was there in any order, and cannot be gone on from in
    /// between.
    shows_new: bool,
    /// Lines of the current answer.
    lines_read: u64,
    last_read: Instant,
    /// When the last new record came.
    pub(crate) last_new: Option<Instant>,
}

impl Watch {
    /// `stream` may be requested already: then it was before the load began.
    pub(crate) fn new(
        config: &ProbeConfig<'_>,
        watch: &waggle_study::Watch,
        stream: WatchStream,
    ) -> Result<Self, Problem> {
        Ok(Self {
            stream,
            conditions: Values::new(&watch.conditions)?,
            gone: Values::new(&watch.gone)?,
            run: config.run.as_bytes().to_vec(),
            markers: markers(&config.probe.extract, None, None),
            lines: Lines::default(),
            log: ProbeLog::new(config),
            pace: Pace::new(),
            poll: config.delivery.poll_interval,
            quiet_ns: 0,
            opened_ns: 0,
            interrupted_ns: 0,
            shows_new: false,
            lines_read: 0,
            last_read: Instant::now(),
            last_new: None,
        })
    }

    /// Reads for one poll interval; true if more waits to be read.
    pub(crate) async fn poll(&mut self) -> Result<bool, ProbeError> {
        self.pace.set_measured(self.log.measured_phase());
        self.pace.polls += 1;
        let polled = self.read_for_poll().await;
        self.log.seen.end_poll();
        if polled.is_err() {
            self.interrupt();
            self.pace.note_failure();
        }
        polled
    }

    async fn read_for_poll(&mut self) -> Result<bool, ProbeError> {
        let start = Instant::now();
        let mut deadline = start + self.poll;
        let (mut was_quiet, mut is_fresh) = (false, false);
        loop {
            let Some(answer) = &mut self.stream.answer else {
                self.open().await?;
                is_fresh = true;
                // However long that took, what it shows is read.
                deadline = Instant::now() + self.poll;
                continue;
            };
            let asked = Instant::now();
            let mut read = answer.read_ready().await;
            if read.is_none() {
                let until = deadline.min(Instant::now() + QUIET_INTERVAL);
                read = timeout_at(until, answer.read()).await.ok();
                self.note_quiet(asked);
                was_quiet = true;
            }
            let Some(read) = read else {
                match Instant::now() >= deadline {
                    true => return Ok(false),
                    false => continue,
                }
            };
            let is_broken = read.is_err();
            self.take(read)?;
            if is_broken {
                // Whatever breaks answers would most likely break the next one, too.
                return Ok(false);
            }
            if is_fresh && self.stream.answer.is_none() && self.lines_read == 0 {
                // Another one at once would most likely end as soon.
                let problem = "the answer ended before its first line".to_owned();
                return Err(self.stream.problem(problem));
            }
            if Instant::now() >= deadline {
                if !was_quiet {
                    self.pace.is_behind(start);
                }
                return Ok(true);
            }
        }
    }

    /// Requests the next answer.
    async fn open(&mut self) -> Result<(), ProbeError> {
        let opened = self.stream.open().await;
        self.pace.bytes_read += std::mem::take(&mut self.stream.bytes_read);
        opened?;
        self.interrupted_ns = self.quiet_ns;
        self.opened_ns = self.log.clock.unix_ns();
        self.shows_new = !self.stream.shows_existing();
        self.lines_read = 0;
        self.last_read = Instant::now();
        Ok(())
    }

    /// At this instant nothing waited to be read.
    fn note_quiet(&mut self, instant: Instant) {
        self.quiet_ns = self.log.clock.unix_ns_at(instant);
        self.pace.at_end(instant, false);
    }

    /// The answer ends, and what is left of a line is sent again.
    fn interrupt(&mut self) {
        self.lines.forget();
        self.stream.close();
    }

    fn take(&mut self, read: Result<Option<Bytes>, HttpError>) -> Result<(), ProbeError> {
        let received_ns = self.log.clock.unix_ns();
        self.log.update_window();
        let mut lines = std::mem::take(&mut self.lines);
        let mut taken = Ok(());
        match read {
            Ok(Some(bytes)) => {
                self.last_read = Instant::now();
                self.pace.bytes_read += bytes.len() as u64;
                lines.add(&bytes, |line| {
                    if taken.is_ok() {
                        taken = self.line(line, received_ns);
                    }
                });
            }
            Ok(None) => {
                // Without its line feed a line may be cut off, and a document that is cut off is no document.
                lines.end(|line| {
                    if serde_json::from_slice::<Value>(line).is_ok_and(|value| value.is_object()) {
                        taken = self.line(line, received_ns);
                    }
                });
                self.stream.close();
            }
            Err(problem) => self.stream.end_broken(&problem),
        }
        self.lines = lines;
        if self.stream.answer.is_none() {
            self.lines.forget();
        }
        taken
    }

    fn line(&mut self, line: &[u8], received_ns: u64) -> Result<(), ProbeError> {
        // What comes after the server could not go on is not of the stream.
        if line.trim_ascii().is_empty() || self.stream.answer.is_none() {
            return Ok(());
        }
        self.lines_read += 1;
        self.pace.rows_read += 1;
        let document: Value = serde_json::from_slice(line)
            .map_err(|why| self.stream.problem(format!("a line is not JSON: {why}")))?;
        if !self.gone.is_empty() && self.gone.hold(&document) {
            if self.stream.went_on_from.is_none() && self.lines_read == 1 {
                let problem = "the server cannot begin where begin says".to_owned();
                return Err(self.stream.problem(problem));
            }
            self.stream.lose_place();
            return Ok(());
        }
        let version = self.stream.version_of(&document);
        if self.conditions.hold(&document) {
            if let (None, Some(path)) = (&version, self.stream.version_path()) {
                let problem = format!("a line with a record has no version at {path}");
                return Err(self.stream.problem(problem));
            }
            self.record(&document, version.as_deref(), received_ns);
        } else {
            // A list of what is there has records alone.
            self.shows_new = true;
        }
        if self.shows_new {
            self.stream.go_on_from(version);
        }
        Ok(())
    }

    /// Logs the record of a line.
    fn record(&mut self, document: &Value, version: Option<&str>, received_ns: u64) {
        let shows_existing = self.stream.shows_existing();
        let text = document.to_string();
        let Some(stamp) = self.markers.stamp(text.as_bytes(), &self.run) else {
            return match shows_existing {
                true => self.log.note_foreign_repeat(),
                false => self.log.note_foreign_record(),
            };
        };
        let is_older = stamp.time_ns < self.opened_ns;
        self.shows_new |= !is_older;
        // A server may repeat the line from which it goes on.
        let is_place = version.is_some() && version == self.stream.went_on_from.as_deref();
        let since_ns = match is_older {
            true => self.interrupted_ns,
            false => self.quiet_ns,
        };
        let times = RecordTimes {
            received_ns,
            since_ns: since_ns.clamp(stamp.time_ns.min(received_ns), received_ns),
            arrived_ns: None,
        };
        let is_listed = is_older && shows_existing;
        let out_of_order = self.log.seen.out_of_order;
        let observation = match is_place || is_listed {
            true => self.log.record_again(stamp, times),
            false => self.log.record(stamp, times),
        };
        if is_listed {
            // The order of a list is not that of arrival.
            self.log.seen.out_of_order = out_of_order;
        }
        self.note_observation(observation, stamp, times);
    }

    fn note_observation(&mut self, observation: Observation, stamp: RowStamp, times: RecordTimes) {
        if observation == Observation::Known {
            return;
        }
        self.last_new = Some(Instant::now());
        if observation == Observation::First {
            let since_ns = times.since_ns.max(stamp.time_ns);
            let gap_ns = times.received_ns.saturating_sub(since_ns);
            self.pace.gap(Duration::from_nanos(gap_ns));
        }
    }

    /// The last poll: if the server has been silent for long, another answer is requested, which goes on from the last version.
    pub(crate) fn restart(&mut self) {
        let can_go_on = self.stream.version_path().is_some();
        if can_go_on && self.last_read.elapsed() >= SILENT_AT_LEAST {
            self.interrupt();
        }
    }

    /// Reads from the beginning again.
    pub(crate) fn forget(&mut self) {
        self.lines.forget();
        self.stream.begin_anew();
        self.log.restart();
        self.pace.restart();
    }

    pub(crate) fn remark(&self) -> Option<String> {
        let mut remarks: Vec<String> = self.stream.remark().into_iter().collect();
        if self.lines.skipped > 0 {
            remarks.push(format!(
                "lines longer than {LINE_MAX_BYTES} bytes, which were left out: {}",
                self.lines.skipped
            ));
        }
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }
}

#[cfg(test)]
mod tests;

//! The probe for stores that are queried over HTTP by the time of records, because they cannot be read on from an offset.
//!
//! A poll asks for the records that were sent between an instant and now. The missing records decide where it begins
//! (`time_cursor`). A long range is split into stretches, so that no answer is much longer than the limit in the system's file.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;
use waggle_study::{Extract, ProbeQuery};
use waggle_system::{
    http::client::{Connection, HttpError, Request},
    placeholder::fill,
    secrets::{tokens::Tokens, words::TOKEN},
};

use super::{
    config::{ProbeConfig, ProbeError},
    csv::{Csv, CsvLine},
    lines::{Lines, Markers, RowStamp},
    log::{Observation, ProbeLog, RecordTimes},
    offset::markers,
    pace::Pace,
    time_cursor::{Depth, Stretches, TimeCursor},
};

/// Number of earlier polls that are remembered, to know since when a record may have been there.
const POLLS_MAX: usize = 64;
/// Polls that go far back are postponed if they have taken more than a share of 1 in this number of the time.
const SHARE_OF_TIME: u32 = 4;

/// Polls a store and logs the records that it shows.
#[derive(Debug)]
pub(crate) struct ByTime {
    query: ProbeQuery,
    tokens: Tokens,
    run: String,
    reader: Reader,
    lines: Lines,
    pub(crate) log: ProbeLog,
    time_cursor: TimeCursor,
    stretches: Stretches,
    /// What was asked for when, the latest last.
    polls: VecDeque<Poll>,
    pub(crate) pace: Pace,
    /// Start and total time of rounds that go far back; and whether the current one does.
    began: Instant,
    spent_far_back: Duration,
    is_far_back: bool,
    last_took: Duration,
    /// The stretch with the most rows, for measuring the cost of a poll.
    fullest: (u64, (u64, u64)),
    /// What an answer contained in place of rows.
    refusal: Option<String>,
}

/// The parser for a row.
#[derive(Debug)]
enum Reader {
    Marked(Box<Markers>),
    Csv(Box<Csv>),
}

#[derive(Debug, Clone, Copy)]
struct Poll {
    begun_ns: u64,
    from_ns: u64,
    to_ns: u64,
}

/// A request with all its texts filled.
#[derive(Debug)]
pub(crate) struct Filled {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Filled {
    pub(crate) fn borrow(&self) -> Request<'_> {
        Request {
            method: &self.method,
            path: &self.path,
            headers: &self.headers,
            body: &self.body,
        }
    }
}

impl ByTime {
    pub(crate) fn new(config: &ProbeConfig<'_>, query: ProbeQuery, limit: u32) -> Self {
        let start_ns = config.since_ns;
        Self {
            query,
            tokens: config.secrets.tokens.clone(),
            run: config.run.clone(),
            reader: match &config.probe.extract {
                Extract::Columns { key, time, run } => {
                    Reader::Csv(Box::new(Csv::new(key, time, run.as_deref())))
                }
                extract @ Extract::After { .. } => {
                    Reader::Marked(Box::new(markers(extract, None, None)))
                }
            },
            lines: Lines::default(),
            log: ProbeLog::new(config),
            time_cursor: TimeCursor::new(config.workers, start_ns),
            stretches: Stretches::new(limit),
            polls: VecDeque::new(),
            pace: Pace::new(),
            began: Instant::now(),
            spent_far_back: Duration::ZERO,
            is_far_back: false,
            last_took: Duration::ZERO,
            fullest: (0, (start_ns, start_ns)),
            refusal: None,
        }
    }

    /// Asks for the next stretch; true if it does not reach up to now.
    pub(crate) async fn poll(
        &mut self,
        connection: &mut impl Connection,
        depth: Depth,
    ) -> Result<bool, ProbeError> {
        let (start, now_ns) = (Instant::now(), self.log.clock.unix_ns());
        self.pace.polls += 1;
        self.pace.set_measured(self.log.measured_phase());
        let begin = if self.stretches.is_new_round() {
            let (begin, is_far_back) = self.time_cursor.begin(self.affordable(depth));
            self.is_far_back = is_far_back;
            begin
        } else {
            now_ns
        };
        let stretch = self.stretches.next(begin, now_ns);
        self.lines.forget();
        if let Reader::Csv(csv) = &mut self.reader {
            csv.begin();
        }
        let filled = self.fill_times(stretch);
        let rows_before = self.pace.rows_read;
        let answer = connection
            .send(&filled.borrow(), &mut |chunk| self.take(chunk))
            .await;
        let refused = match answer {
            Ok(200) => {
                let mut lines = std::mem::take(&mut self.lines);
                lines.end(|line| self.row(line, self.log.clock.unix_ns()));
                self.refusal.take().map(|problem| ProbeError::Answer {
                    path: filled.path.clone(),
                    problem,
                })
            }
            Ok(status) => Some(ProbeError::Http(HttpError::Status {
                path: filled.path.clone(),
                status,
            })),
            Err(problem) => Some(problem.into()),
        };
        self.last_took = start.elapsed();
        if self.is_far_back {
            self.spent_far_back += self.last_took;
        }
        self.log.seen.end_poll();
        if let Some(problem) = refused {
            self.refusal = None;
            self.pace.note_failure();
            self.stretches.handle_failure(stretch);
            return Err(problem);
        }
        let rows = self.pace.rows_read - rows_before;
        self.remember(stretch, now_ns, rows);
        let has_more = self.stretches.handle_rows(stretch, now_ns, rows);
        // The delay of each record has its own bound, so the pace needs only to know whether the end was reached.
        if has_more {
            self.pace.is_behind(start);
        } else {
            self.pace.at_end(start, false);
        }
        Ok(has_more)
    }

    /// A poll was aborted in the middle.
    pub(crate) fn abandon(&mut self) {
        self.stretches.restart();
    }

    /// Asks for everything again. The earlier cost of polls that go far back says nothing about their cost now.
    pub(crate) fn forget(&mut self) {
        self.began = Instant::now();
        self.spent_far_back = Duration::ZERO;
        self.time_cursor.restart();
        self.stretches.restart();
        self.log.restart();
        self.pace.restart();
    }

    /// As long as the last poll took: a store spends at most half of its time on polls.
    pub(crate) fn min_pause(&self) -> Duration {
        self.last_took
    }

    /// The request with the most rows.
    pub(crate) fn largest_query(&self) -> Filled {
        self.fill_times(self.fullest.1)
    }

    fn affordable(&self, depth: Depth) -> Depth {
        let is_dear = self.spent_far_back * SHARE_OF_TIME > self.began.elapsed();
        if depth == Depth::Turn && is_dear {
            Depth::Shallow
        } else {
            depth
        }
    }

    fn remember(&mut self, (from_ns, to_ns): (u64, u64), begun_ns: u64, rows: u64) {
        if rows > self.fullest.0 {
            self.fullest = (rows, (from_ns, to_ns));
        }
        if self.polls.len() == POLLS_MAX {
            self.polls.pop_front();
        }
        self.polls.push_back(Poll {
            begun_ns,
            from_ns,
            to_ns,
        });
    }

    fn fill_times(&self, (from, to): (u64, u64)) -> Filled {
        let value = |name: &str| match name {
            "from" => Some(from.to_string()),
            "to" => Some(to.to_string()),
            "run" => Some(self.run.clone()),
            TOKEN => self.tokens.newest().map(|token| token.value),
            _ => None,
        };
        // The system's file was checked, so there is no other placeholder.
        let text = |text: &str| fill(text, value).unwrap_or_else(|_| text.to_owned());
        Filled {
            method: self.query.method.clone(),
            path: text(&self.query.path),
            headers: self
                .query
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), text(value)))
                .collect(),
            body: text(&self.query.body),
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
        let run = self.run.as_bytes();
        let stamp = match &mut self.reader {
            Reader::Marked(_) if line.is_empty() => return,
            Reader::Marked(markers) => markers.stamp(line, run),
            Reader::Csv(csv) => match csv.read(line, run) {
                CsvLine::Other => return,
                CsvLine::Record(stamp) => Some(stamp),
                CsvLine::Foreign => None,
                CsvLine::Refusal(why) => {
                    self.refusal.get_or_insert(why);
                    return;
                }
            },
        };
        if self.refusal.is_some() {
            return;
        }
        self.pace.rows_read += 1;
        match stamp {
            Some(stamp) => self.record(stamp, received_ns),
            // Every further poll shows it again.
            None => self.log.note_foreign_repeat(),
        }
    }

    fn record(&mut self, stamp: RowStamp, received_ns: u64) {
        // It may have been there since the start of the last poll that did not show it, or since it was sent.
        let sent_ns = stamp.time_ns;
        let covers = |poll: &&Poll| (poll.from_ns..poll.to_ns).contains(&sent_ns);
        let before = self.polls.iter().rev().find(covers);
        let times = RecordTimes {
            received_ns,
            since_ns: before.map_or(sent_ns, |poll| poll.begun_ns.max(sent_ns)),
            arrived_ns: None,
        };
        let sight = self.log.record_again(stamp, times);
        if sight != Observation::Known {
            self.time_cursor.note(stamp.key, stamp.time_ns);
        }
        if sight == Observation::First {
            let gap = Duration::from_nanos(received_ns.saturating_sub(times.since_ns));
            self.pace.gap(gap);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waggle_load::key_of;
    use waggle_study::{Extract, ProbeKind, ProbeQuery};
    use waggle_system::http::client::{Connection, HttpError, Request};

    use super::{ByTime, Depth};
    use crate::probe::tests::Bench;

    /// Shows what was sent between two instants, which are in the path: `/FROM/TO`.
    struct Store(Vec<(u64, u64)>);

    impl Connection for Store {
        async fn send(
            &mut self,
            request: &Request<'_>,
            chunk: &mut dyn FnMut(&[u8]),
        ) -> Result<u16, HttpError> {
            let mut numbers = request.path.split('/').filter_map(|part| part.parse().ok());
            let (from, to) = (numbers.next().unwrap(), numbers.next().unwrap());
            for (key, time) in self.0.iter().filter(|(_, time)| (from..to).contains(time)) {
                chunk(format!("key={key} time={time}\n").as_bytes());
            }
            Ok(200)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn cost_of_deep_polls_before_a_kill_postpones_none_after_it() {
        let query = ProbeQuery {
            method: "GET".to_owned(),
            path: "/${from}/${to}".to_owned(),
            headers: Vec::new(),
            body: String::new(),
        };
        let limit = 1_000_000;
        let kind = ProbeKind::Query {
            query: query.clone(),
            limit,
        };
        let extract = Extract::After {
            key: "key=".to_owned(),
            run: None,
            time: Some("time=".to_owned()),
        };
        let bench = Bench::new(kind, extract);
        let config = bench.start_probe();
        let since_ns = config.since_ns;
        let mut by_time = ByTime::new(&config, query, limit);
        // The first record never comes, so polls go back to it.
        let record = |sequence: u64| (key_of(0, sequence), since_ns + sequence);
        let mut store = Store((1..1_000).map(record).collect());
        by_time.spent_far_back = Duration::from_secs(3600);
        by_time.forget();
        let mut read = Vec::new();
        for poll in 0..5 {
            let before = by_time.pace.rows_read;
            by_time.poll(&mut store, Depth::Turn).await.unwrap();
            read.push(by_time.pace.rows_read - before);
            store.0.push(record(1_000 + poll));
        }
        assert_eq!(by_time.log.seen.distinct, 1_003);
        // The first poll reads everything. Every second one after it goes back, the others read on.
        assert_eq!(read[0], 999);
        assert!(read[2] <= 3 && read[4] <= 3, "{read:?}");
    }
}

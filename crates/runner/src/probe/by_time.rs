//! Text over HTTP that is asked for by the records' times, for stores that cannot be read on from an offset.
//!
//! A look asks for what was sent between an instant and now. Where it begins is decided by what is still missing (`frontier`);
//! a long way is cut into stretches, so that no answer is much longer than the system's file wants it.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;
use waggle_study::{Extract, ProbeQuery};

use super::{
    csv::{Csv, CsvLine},
    following::{Following, ProbeError},
    frontier::{Depth, Frontier, Stretches},
    lines::{Lines, Markers, RowStamp},
    notes::{Notes, Noticed, Sight},
    offset::markers,
    pace::Pace,
};
use crate::{
    placeholder::fill,
    web::{Ask, Line, WebError},
};

/// Earlier looks that are remembered, for knowing since when a record may have been there.
const LOOKS_MAX: usize = 64;
/// Looks that go far back wait while more than this share of the time was spent on such ones.
const SHARE_OF_TIME: u32 = 4;

/// Asks a store again and again and notes what it sees.
#[derive(Debug)]
pub(crate) struct ByTime {
    query: ProbeQuery,
    run: String,
    reader: Reader,
    lines: Lines,
    pub(crate) notes: Notes,
    frontier: Frontier,
    stretches: Stretches,
    /// What was asked for when, the latest last.
    looks: VecDeque<Look>,
    pub(crate) pace: Pace,
    /// Since when, and how much, is spent on rounds that go far back; and whether the one under way does.
    began: Instant,
    spent_far_back: Duration,
    is_far_back: bool,
    last_took: Duration,
    /// The stretch that brought the most rows, to be asked for once more.
    fullest: (u64, (u64, u64)),
    /// What an answer said in place of rows.
    refusal: Option<String>,
}

/// How a row says what it says.
#[derive(Debug)]
enum Reader {
    Marked(Box<Markers>),
    Csv(Box<Csv>),
}

#[derive(Debug, Clone, Copy)]
struct Look {
    begun_ns: u64,
    from_ns: u64,
    to_ns: u64,
}

/// A question with all its texts filled.
#[derive(Debug)]
pub(crate) struct Filled {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Filled {
    pub(crate) fn borrow(&self) -> Ask<'_> {
        Ask {
            method: &self.method,
            path: &self.path,
            headers: &self.headers,
            body: &self.body,
        }
    }
}

impl ByTime {
    pub(crate) fn new(following: &Following<'_>, query: ProbeQuery, limit: u32) -> Self {
        let start_ns = following.since_ns;
        Self {
            query,
            run: following.run.clone(),
            reader: match &following.probe.extract {
                Extract::Columns { key, time, run } => {
                    Reader::Csv(Box::new(Csv::new(key, time, run.as_deref())))
                }
                extract @ Extract::After { .. } => Reader::Marked(Box::new(markers(extract, None))),
            },
            lines: Lines::default(),
            notes: Notes::new(following),
            frontier: Frontier::new(following.workers, start_ns),
            stretches: Stretches::new(limit),
            looks: VecDeque::new(),
            pace: Pace::new(),
            began: Instant::now(),
            spent_far_back: Duration::ZERO,
            is_far_back: false,
            last_took: Duration::ZERO,
            fullest: (0, (start_ns, start_ns)),
            refusal: None,
        }
    }

    /// Asks for the next stretch; true where the way to now is not at its end.
    pub(crate) async fn look(
        &mut self,
        line: &mut impl Line,
        depth: Depth,
    ) -> Result<bool, ProbeError> {
        let (start, now_ns) = (Instant::now(), self.notes.clock.unix_ns());
        self.pace.polls += 1;
        let begin = if self.stretches.is_new_round() {
            let (begin, is_far_back) = self.frontier.begin(self.affordable(depth));
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
        let answer = line
            .ask(&filled.borrow(), &mut |chunk| self.take(chunk))
            .await;
        let refused = match answer {
            Ok(200) => {
                let mut lines = std::mem::take(&mut self.lines);
                lines.end(|line| self.row(line, self.notes.clock.unix_ns()));
                self.refusal.take().map(|problem| ProbeError::Answer {
                    path: filled.path.clone(),
                    problem,
                })
            }
            Ok(status) => Some(ProbeError::Web(WebError::Status {
                path: filled.path.clone(),
                status,
            })),
            Err(problem) => Some(problem.into()),
        };
        self.last_took = start.elapsed();
        if self.is_far_back {
            self.spent_far_back += self.last_took;
        }
        self.notes.seen.look_ends();
        if let Some(problem) = refused {
            self.refusal = None;
            self.pace.note_failure();
            self.stretches.handle_failure(stretch);
            return Err(problem);
        }
        let rows = self.pace.rows_read - rows_before;
        self.remember(stretch, now_ns, rows);
        let has_more = self.stretches.handle_rows(stretch, now_ns, rows);
        // How long a record may have been there is known for each; here it is only whether the end was reached.
        if has_more {
            self.pace.is_behind(start);
        } else {
            self.pace.at_end(start, false);
        }
        Ok(has_more)
    }

    /// A look was given up in its middle.
    pub(crate) fn given_up(&mut self) {
        self.stretches.begin_anew();
    }

    /// Asks for everything again. What was spent on looks far back before says nothing of what they cost now.
    pub(crate) fn forget(&mut self) {
        self.began = Instant::now();
        self.spent_far_back = Duration::ZERO;
        self.frontier.begin_anew();
        self.stretches.begin_anew();
        self.notes.begin_anew();
        self.pace.begin_anew();
    }

    /// As long as the last look took: a store must not spend more than half of its time on being looked at.
    pub(crate) fn rest(&self) -> Duration {
        self.last_took
    }

    /// The question that brought the most rows.
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
        if self.looks.len() == LOOKS_MAX {
            self.looks.pop_front();
        }
        self.looks.push_back(Look {
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
            _ => None,
        };
        // A system's file is checked: there is nothing else in it.
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
        let received_ns = self.notes.clock.unix_ns();
        self.notes.look_at_window();
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
            // It is shown again at each look that comes by.
            None => self.notes.other_again(),
        }
    }

    fn record(&mut self, stamp: RowStamp, received_ns: u64) {
        let noticed = Noticed {
            received_ns,
            arrived_ns: None,
        };
        let sight = self.notes.record_again(stamp, noticed);
        if sight != Sight::Known {
            self.frontier.note(stamp.key, stamp.time_ns);
        }
        if sight != Sight::First {
            return;
        }
        // It may have been there ever since the last look that did not show it was begun, or since it was sent.
        let sent_ns = stamp.time_ns;
        let covers = |look: &&Look| (look.from_ns..look.to_ns).contains(&sent_ns);
        let before = self.looks.iter().rev().find(covers);
        let since_ns = before.map_or(sent_ns, |look| look.begun_ns.max(sent_ns));
        let gap = Duration::from_nanos(received_ns.saturating_sub(since_ns));
        self.pace.gap(gap);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waggle_load::key_of;
    use waggle_study::{Extract, ProbeKind, ProbeQuery};

    use super::{ByTime, Depth};
    use crate::{
        probe::tests::Bench,
        web::{Ask, Line, WebError},
    };

    /// Shows what was sent between two instants, which stand in the path: `/FROM/TO`.
    struct Store(Vec<(u64, u64)>);

    impl Line for Store {
        async fn ask(
            &mut self,
            ask: &Ask<'_>,
            chunk: &mut dyn FnMut(&[u8]),
        ) -> Result<u16, WebError> {
            let mut numbers = ask.path.split('/').filter_map(|part| part.parse().ok());
            let (from, to) = (numbers.next().unwrap(), numbers.next().unwrap());
            for (key, time) in self.0.iter().filter(|(_, time)| (from..to).contains(time)) {
                chunk(format!("key={key} time={time}\n").as_bytes());
            }
            Ok(200)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_looks_far_back_cost_before_a_kill_puts_off_none_after_it() {
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
        let following = bench.start_probe();
        let since_ns = following.since_ns;
        let mut by_time = ByTime::new(&following, query, limit);
        // The first one never comes, so that what lies behind it is gone back to.
        let record = |sequence: u64| (key_of(0, sequence), since_ns + sequence);
        let mut store = Store((1..1_000).map(record).collect());
        by_time.spent_far_back = Duration::from_secs(3600);
        by_time.forget();
        let mut read = Vec::new();
        for look in 0..5 {
            let before = by_time.pace.rows_read;
            by_time.look(&mut store, Depth::Turn).await.unwrap();
            read.push(by_time.pace.rows_read - before);
            store.0.push(record(1_000 + look));
        }
        assert_eq!(by_time.notes.seen.distinct, 1_003);
        // The first one reads all; of those that follow every second one goes back, and the others read on.
        assert_eq!(read[0], 999);
        assert!(read[2] <= 3 && read[4] <= 3, "{read:?}");
    }
}

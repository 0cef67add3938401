//! A load that records which requests the gateway acknowledged, which it refused, and which are unknown.
//!
//! A record has a key (writer and sequence) in its text and a unique time, so that each can be queried.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime},
};

use crate::http::{Answer, Connection, put};

/// Interval of attempts to connect.
const CONNECT_EVERY: Duration = Duration::from_millis(50);
/// Time between two records of a writer.
const STEP_NS: u64 = 1_000;
/// Bits of a key for the writer.
const WRITERS_BITS: u32 = 8;

/// The load of the writers.
#[derive(Debug, Clone)]
pub struct Load {
    pub gateway: SocketAddr,
    pub topic: String,
    /// Every second one resends what was not acknowledged, as clients do; the others continue, so that refusals can be checked.
    pub writers: u32,
    /// Requests of one record that a writer sends at once.
    pub pipelined: u32,
    /// Extra bytes per record.
    pub filling: usize,
}

/// The outcome of a record, as its writer knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Answered with 204; if it was resent, by one of the requests.
    Acknowledged,
    /// Never in the log, if answers are true.
    Refused,
    Unknown,
}

/// Answers of all writers; a record that is resent counts again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnswerCounts {
    pub acknowledged: u64,
    pub refused: u64,
    pub unknown: u64,
    /// Requests that resent a record.
    pub repeated: u64,
}

/// One writer's records.
#[derive(Debug)]
pub struct WriterLog {
    pub writer: u32,
    /// By sequence.
    pub fates: Vec<Fate>,
    /// An answer that no gateway should send.
    pub unexpected: Option<Answer>,
}

/// The first time of the records.
#[derive(Debug, Clone, Copy)]
pub struct Epoch(pub u64);

/// Running writers.
#[derive(Debug)]
pub struct Writers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<WriterLog>>,
    pub epoch: Epoch,
}

#[derive(Debug)]
struct Shared {
    load: Load,
    epoch: Epoch,
    stop: AtomicBool,
    /// Requests per second of all writers; 0: no limit.
    rate: AtomicU64,
    acknowledged: AtomicU64,
    refused: AtomicU64,
    unknown: AtomicU64,
    repeated: AtomicU64,
}

/// The key of a record.
pub fn key(writer: u32, sequence: usize) -> u64 {
    (sequence as u64) << WRITERS_BITS | u64::from(writer)
}

/// Writer and sequence of a key.
pub fn writer_and_sequence(key: u64) -> (u32, usize) {
    let writer = u32::try_from(key & ((1 << WRITERS_BITS) - 1)).expect("a few bits");
    (
        writer,
        usize::try_from(key >> WRITERS_BITS).expect("a sequence"),
    )
}

impl Epoch {
    /// The time of a record, in nanoseconds.
    pub fn time_of(self, sequence: usize) -> u64 {
        self.0 + sequence as u64 * STEP_NS
    }
}

impl Writers {
    pub fn start(load: Load) -> Self {
        assert!(load.writers <= 1 << WRITERS_BITS, "too many writers");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.expect("a clock that is right").as_nanos();
        let epoch = Epoch(u64::try_from(now).expect("this century"));
        let shared = Arc::new(Shared {
            load,
            epoch,
            stop: AtomicBool::new(false),
            rate: AtomicU64::new(0),
            acknowledged: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
        });
        let threads = (0..shared.load.writers)
            .map(|number| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || Writer::new(&shared, number).run())
            })
            .collect();
        Self {
            shared,
            threads,
            epoch,
        }
    }

    pub fn counts(&self) -> AnswerCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        AnswerCounts {
            acknowledged: count(&self.shared.acknowledged),
            refused: count(&self.shared.refused),
            unknown: count(&self.shared.unknown),
            repeated: count(&self.shared.repeated),
        }
    }

    /// Limits the requests per second of all writers together.
    pub fn set_rate(&self, per_second: u64) {
        self.shared.rate.store(per_second.max(1), Ordering::Relaxed);
    }

    /// Waits until this many more are acknowledged; returns how long that took, `None` if longer than `at_most`.
    pub fn wait_for_more(&self, records: u64, at_most: Duration) -> Option<Duration> {
        let begun = Instant::now();
        let enough = self.counts().acknowledged + records;
        while self.counts().acknowledged < enough {
            if begun.elapsed() > at_most {
                return None;
            }
            thread::sleep(Duration::from_millis(10));
        }
        Some(begun.elapsed())
    }

    /// Ends the load; each writer reads its pending answers.
    pub fn stop(self) -> Vec<WriterLog> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let ended = self.threads.into_iter().map(JoinHandle::join);
        ended.map(|log| log.expect("a writer")).collect()
    }
}

struct Writer<'a> {
    shared: &'a Shared,
    log: WriterLog,
    repeats: bool,
    /// To be resent.
    again: VecDeque<usize>,
    connection: Option<Connection>,
}

impl<'a> Writer<'a> {
    fn new(shared: &'a Shared, number: u32) -> Self {
        Self {
            shared,
            log: WriterLog {
                writer: number,
                fates: Vec::new(),
                unexpected: None,
            },
            repeats: number.is_multiple_of(2),
            again: VecDeque::new(),
            connection: None,
        }
    }

    fn run(mut self) -> WriterLog {
        let mut due = Instant::now();
        while !self.shared.stop.load(Ordering::Relaxed) && self.log.unexpected.is_none() {
            let Some(connection) = self.open_connection() else {
                thread::sleep(CONNECT_EVERY);
                continue;
            };
            self.send_round(connection);
            due = self.wait_until_due(due);
        }
        self.log
    }

    fn open_connection(&mut self) -> Option<Connection> {
        let kept = self.connection.take();
        kept.or_else(|| Connection::open(self.shared.load.gateway).ok())
    }

    /// When the next round is due. Rounds that were missed are not made up for.
    fn wait_until_due(&self, due: Instant) -> Instant {
        let rate = self.shared.rate.load(Ordering::Relaxed);
        if rate == 0 {
            return Instant::now();
        }
        let load = &self.shared.load;
        let all = f64::from(load.pipelined * load.writers);
        #[expect(
            clippy::cast_precision_loss,
            reason = "requests per second are far below 2^52"
        )]
        let due = (due + Duration::from_secs_f64(all / rate as f64)).max(Instant::now());
        thread::sleep(due.saturating_duration_since(Instant::now()));
        due
    }

    /// Sends some records and reads their answers.
    fn send_round(&mut self, mut connection: Connection) {
        let load = &self.shared.load;
        let (mut sequences, mut requests) = (Vec::new(), String::new());
        for _ in 0..load.pipelined {
            let sequence = self.next();
            requests += &put(&load.topic, &self.line(sequence));
            sequences.push(sequence);
        }
        let mut answers = 0;
        if connection.send(&requests).is_ok() {
            for sequence in &sequences {
                let Ok(answer) = connection.answer() else {
                    break;
                };
                answers += 1;
                self.note_answer(*sequence, answer);
            }
        }
        for sequence in &sequences[answers..] {
            self.settle(*sequence, Fate::Unknown);
        }
        if answers == sequences.len() {
            self.connection = Some(connection);
        }
    }

    fn next(&mut self) -> usize {
        if let Some(sequence) = self.again.pop_front() {
            self.shared.repeated.fetch_add(1, Ordering::Relaxed);
            return sequence;
        }
        self.log.fates.push(Fate::Unknown);
        self.log.fates.len() - 1
    }

    fn line(&self, sequence: usize) -> String {
        let writer = self.log.writer;
        let (key, time) = (key(writer, sequence), self.shared.epoch.time_of(sequence));
        let filling = "x".repeat(self.shared.load.filling);
        format!("reading,writer=w{writer} key={key}i,filling=\"{filling}\" {time}")
    }

    fn note_answer(&mut self, sequence: usize, answer: Answer) {
        let fate = match answer.status {
            204 => Fate::Acknowledged,
            // The problem document shows which of the two it is.
            503 if answer.body.contains("may be in the log") => Fate::Unknown,
            503 => Fate::Refused,
            _ => {
                self.log.unexpected = Some(answer);
                Fate::Unknown
            }
        };
        self.settle(sequence, fate);
    }

    fn settle(&mut self, sequence: usize, fate: Fate) {
        let (counter, repeats) = match fate {
            Fate::Acknowledged => (&self.shared.acknowledged, false),
            Fate::Refused => (&self.shared.refused, self.repeats),
            Fate::Unknown => (&self.shared.unknown, self.repeats),
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if repeats {
            self.again.push_back(sequence);
        }
        // A record that may be in the log by an earlier request stays so, whatever this answer is.
        let is_all = !self.repeats || fate == Fate::Acknowledged;
        self.log.fates[sequence] = if is_all { fate } else { Fate::Unknown };
    }
}

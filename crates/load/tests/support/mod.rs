//! What the engine's tests share: a server that does what a test tells it, and a job to begin with.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses its own part of it"
)]
#![allow(clippy::unwrap_used, reason = "part of tests only")]

pub mod certificates;
pub mod child;
pub mod cutter;
pub mod delays;
pub mod scenarios;
pub mod secure;
pub mod shop;
pub mod streams;

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use hdrhistogram::Histogram;
use waggle_load::{
    BodyCheck, Counts, Expect, Failure, Interval, Job, Limits, Model, Outcome, Prepared, Running,
    StepCounts, Target, Transport, What, start,
};

pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What the server does with one request.
#[derive(Debug, Clone)]
pub enum Reply {
    Answer(Vec<u8>),
    /// Sends this and closes.
    Last(Vec<u8>),
    /// Sends this, which is not a whole answer, and closes.
    Cut(Vec<u8>),
    /// Closes without reading what has come, so that the kernel resets the connection and throws away what the client
    /// has not received yet.
    Abort,
    /// Waits, then answers.
    After(Duration, Vec<u8>),
    /// Never answers.
    Silence,
}

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub struct Request {
    /// Counted over all connections.
    pub number: u64,
    pub connection: u64,
    pub on_connection: u64,
    /// All lines before the body.
    pub head: String,
    pub body: String,
}

/// One thread for each connection; ends when dropped.
pub struct Server {
    pub address: SocketAddr,
    seen: Arc<Seen>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    received: AtomicU64,
    answered: AtomicU64,
    connections: AtomicU64,
    bodies: Mutex<Vec<String>>,
}

impl Server {
    pub fn start(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, stop) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
        let (theirs, must_stop, reply) = (Arc::clone(&seen), Arc::clone(&stop), Arc::new(reply));
        let thread = std::thread::spawn(move || {
            let mut connections = Vec::new();
            for stream in listener.incoming() {
                if must_stop.load(Ordering::Relaxed) {
                    break;
                }
                let (seen, reply) = (Arc::clone(&theirs), Arc::clone(&reply));
                let number = seen.connections.fetch_add(1, Ordering::Relaxed);
                connections.push(std::thread::spawn(move || {
                    serve(stream.unwrap(), number, &seen, &*reply)
                }));
            }
            for connection in connections {
                connection.join().unwrap();
            }
        });
        Self {
            address,
            seen,
            stop,
            thread: Some(thread),
        }
    }

    /// Requests that came whole.
    pub fn received(&self) -> u64 {
        self.seen.received.load(Ordering::SeqCst)
    }

    /// Requests that were answered whole.
    pub fn answered(&self) -> u64 {
        self.seen.answered.load(Ordering::SeqCst)
    }

    pub fn connections(&self) -> u64 {
        self.seen.connections.load(Ordering::SeqCst)
    }

    pub fn bodies(&self) -> Vec<String> {
        self.seen.bodies.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the listener; whether it is still there does not matter.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "the server has panicked"
            );
        }
    }
}

fn serve(
    mut stream: TcpStream,
    connection: u64,
    seen: &Seen,
    reply: &(impl Fn(&Request) -> Reply + ?Sized),
) {
    stream.set_nodelay(true).unwrap();
    let mut bytes = Vec::new();
    let mut on_connection = 0;
    loop {
        while let Some((length, head, body)) = whole_request(&bytes) {
            bytes.drain(..length);
            let number = seen.received.fetch_add(1, Ordering::SeqCst);
            if !body.is_empty() {
                seen.bodies.lock().unwrap().push(body.clone());
            }
            let reply = reply(&Request {
                number,
                connection,
                on_connection,
                head,
                body,
            });
            on_connection += 1;
            if !is_kept(&mut stream, seen, &reply) {
                return;
            }
        }
        let mut buffer = [0; 65_536];
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
        }
    }
}

fn is_kept(stream: &mut TcpStream, seen: &Seen, reply: &Reply) -> bool {
    if let Reply::After(pause, _) = reply {
        std::thread::sleep(*pause);
    }
    match reply {
        Reply::Answer(bytes) | Reply::After(_, bytes) | Reply::Last(bytes) => {
            // Counted first: whoever has the answer may look at once.
            seen.answered.fetch_add(1, Ordering::SeqCst);
            if stream.write_all(bytes).is_err() {
                seen.answered.fetch_sub(1, Ordering::SeqCst);
                return false;
            }
        }
        Reply::Cut(bytes) => {
            let _ = stream.write_all(bytes);
        }
        Reply::Silence => {}
        Reply::Abort => return false,
    }
    if matches!(reply, Reply::Last(_) | Reply::Cut(_)) {
        // What was written must arrive, or this count of answers would be wrong: a close with bytes unread is a reset.
        let _ = stream.shutdown(Shutdown::Write);
        let _ = std::io::copy(stream, &mut std::io::sink());
        return false;
    }
    true
}

/// Length, head and body of the request at the beginning, if it is whole.
pub fn whole_request(bytes: &[u8]) -> Option<(usize, String, String)> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).unwrap();
    let lower = text.to_ascii_lowercase();
    let length = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse::<usize>().unwrap());
    let body = bytes.get(head..head + length)?;
    let body = String::from_utf8(body.to_vec()).unwrap();
    Some((head + length, text.to_owned(), body))
}

pub fn get() -> Prepared {
    Prepared {
        bytes: b"GET / HTTP/1.1\r\nHost: test\r\n\r\n".to_vec(),
        slots: Vec::new(),
        records: 0,
        is_head: false,
    }
}

/// A job of GETs that ends after half a minute at the latest.
pub fn job(address: SocketAddr, model: Model) -> Job {
    Job {
        name: "get".to_owned(),
        targets: vec![Target { address }],
        transport: Transport::default(),
        model,
        what: What::Requests {
            requests: vec![get()],
            expect: Expect {
                status: Vec::new(),
                body: BodyCheck::Any,
            },
        },
        limits: Limits::default(),
        workers: vec![None],
        interval: Duration::from_millis(50),
        at_most: Duration::from_secs(30),
        requests_at_most: None,
        account_at_most: None,
        seed: 7,
    }
}

/// The requests of a job that has some.
pub fn requests(job: &mut Job) -> &mut Vec<Prepared> {
    match &mut job.what {
        What::Requests { requests, .. } => requests,
        What::Scenario(_) => panic!("a scenario has no requests made ahead"),
    }
}

/// What the answers of such a job must be.
pub fn expect(job: &mut Job) -> &mut Expect {
    match &mut job.what {
        What::Requests { expect, .. } => expect,
        What::Scenario(_) => panic!("a scenario expects by step"),
    }
}

pub fn closed(connections: usize, pipelining: usize) -> Model {
    Model::Closed {
        connections,
        pipelining,
    }
}

/// A run that has ended.
pub struct Ended {
    pub outcome: Outcome,
    pub intervals: Vec<Interval>,
}

pub fn run(job: Job) -> Ended {
    take_all(start(job).unwrap())
}

pub fn take_all(running: Running) -> Ended {
    let mut intervals = Vec::new();
    while !running.has_ended() {
        intervals.extend(running.next_interval(Duration::from_millis(100)));
    }
    Ended {
        outcome: running.join(),
        intervals,
    }
}

impl Ended {
    pub fn counts(&self) -> &Counts {
        &self.outcome.totals
    }

    pub fn failures(&self) -> Vec<(Failure, u64)> {
        self.outcome.totals.failures.0.clone()
    }

    pub fn merged(&self, histogram: impl Fn(&Interval) -> &Histogram<u64>) -> Histogram<u64> {
        let mut sum = histogram(&self.intervals[0]).clone();
        for interval in &self.intervals[1..] {
            sum.add(histogram(interval)).unwrap();
        }
        sum
    }

    /// What must hold after every run, whatever happened in it.
    pub fn check_sums(&self) {
        let totals = self.counts();
        assert_eq!(
            totals.sent,
            totals.succeeded + totals.failed + totals.in_flight,
            "{totals:?}"
        );
        assert_eq!(totals.due, totals.sent + totals.skipped, "{totals:?}");
        let mut sum = Counts::default();
        for (place, interval) in self.intervals.iter().enumerate() {
            sum.follow(&interval.counts);
            let start = self.intervals[..place]
                .last()
                .map_or(Duration::ZERO, |last| last.start + last.length);
            assert_eq!(interval.start, start, "intervals must follow each other");
            check_littles_law(interval);
        }
        sum.engine_cpu_busiest = totals.engine_cpu_busiest;
        sum.engine_wanted_busiest = totals.engine_wanted_busiest;
        assert_eq!(&sum, totals, "the intervals must add up to the totals");
        assert_eq!(
            self.merged(|interval| &interval.response_time).len(),
            totals.succeeded
        );
        assert_eq!(
            self.merged(|interval| &interval.service_time).len(),
            totals.succeeded
        );
        assert_eq!(self.merged(|interval| &interval.lag).len(), totals.sent);
        self.check_steps();
    }

    /// The steps of a scenario are all of it.
    fn check_steps(&self) {
        let totals = self.counts();
        let mut all = StepCounts::default();
        for (number, step) in self.outcome.steps.iter().enumerate() {
            all.join(step);
            let mut sum = StepCounts::default();
            for interval in &self.intervals {
                sum.join(&interval.steps[number].counts);
            }
            assert_eq!(&sum, step, "the intervals of step {number} must add up");
            let response_time = self.merged(|interval| &interval.steps[number].response_time);
            let service_time = self.merged(|interval| &interval.steps[number].service_time);
            assert_eq!(response_time.len(), step.succeeded, "step {number}");
            assert_eq!(service_time.len(), step.succeeded, "step {number}");
        }
        if !self.outcome.steps.is_empty() {
            let found = (all.sent, all.succeeded, all.failed);
            assert_eq!(found, (totals.sent, totals.succeeded, totals.failed));
        }
        let sessions = totals.sessions;
        let under_way = sessions.started - sessions.completed - sessions.failed;
        assert!(under_way <= self.outcome.connections_asked, "{sessions:?}");
    }
}

/// The time in flight is that of the successes and what is told to lie beside it, over any stretch and whatever happens
/// at its ends: but for half a microsecond a request and the three digits of a histogram there is nothing between.
fn check_littles_law(interval: &Interval) {
    let counts = &interval.counts;
    let succeeded = counts.succeeded as f64;
    let service_time = &interval.service_time;
    let served_us = if service_time.is_empty() {
        0.0
    } else {
        service_time.mean() * succeeded
    };
    let in_flight_us = counts.in_flight_time.as_secs_f64() * 1e6;
    let landed_us = served_us + counts.in_flight_beside_ns as f64 / 1e3;
    let allowed_us = succeeded + served_us / 1e3 + 1.0;
    assert!(
        (in_flight_us - landed_us).abs() <= allowed_us,
        "{in_flight_us} µs in flight, {landed_us} µs landed: {counts:?}"
    );
}

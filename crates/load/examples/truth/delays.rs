//! A server that delays each answer for a time drawn from a seed, and records how long it really took.
//!
//! One thread with its own event loop; answers of a connection go out in order, as in any pipeline. All its instants are of the
//! monotonic clock, converted to nanoseconds since 1970 so that they can be compared with the stamps that the engine writes into
//! its requests.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, EventData, EventFlags},
    fd::OwnedFd,
    io::Errno,
    net::{RecvFlags, SendFlags},
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};
use waggle_load::{KEY_DIGITS, TIME_DIGITS};
use waggle_testkit::random::fraction;

use crate::stamped::stamped_request;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const LISTENER: u64 = u64::MAX;
const ALARM: u64 = u64::MAX - 1;
/// How often it checks whether it should stop.
const TICK_NS: u64 = 20_000_000;
const US: f64 = 1e3;
const MS: f64 = 1e6;

/// The server's record of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Note {
    /// As made by [`waggle_load::key_of`].
    pub(crate) key: u64,
    pub(crate) connection: usize,
    /// When the engine sent it, by its stamp.
    pub(crate) sent: u64,
    /// When the server had read it.
    pub(crate) read: u64,
    /// When the server meant to answer it.
    pub(crate) meant: u64,
    /// When it began to write the answer, which cannot have arrived earlier.
    pub(crate) written: u64,
}

/// Lognormal around 5 ms, one in two hundred from 30 to 50 ms; never under 0.2 ms or above 50 ms.
pub(crate) fn delay(seed: u64, n: u64) -> Duration {
    let draw = |part| fraction(seed ^ part, n);
    let ns = if draw(1) < 0.005 {
        (30.0 + 20.0 * draw(2)) * MS
    } else {
        let radius = (-2.0 * (1.0 - draw(3)).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * draw(4)).cos();
        5.0 * MS * (0.5 * normal).exp()
    };
    Duration::from_nanos(ns.clamp(200.0 * US, 50.0 * MS) as u64)
}

/// A server that runs until it is stopped.
pub(crate) struct DelayServer {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Note>>>,
}

impl DelayServer {
    pub(crate) fn start(seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let must_stop = Arc::clone(&stop);
        let thread = std::thread::spawn(move || Serving::new(listener, seed).run(&must_stop));
        Self {
            address,
            stop,
            thread: Some(thread),
        }
    }

    /// Stops it; returns its records, in the order of the answers.
    pub(crate) fn stop(mut self) -> Vec<Note> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for DelayServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The monotonic clock, tied to the wall clock at the instant, of many, at which they were read closest together.
#[derive(Clone, Copy)]
pub(crate) struct Wall {
    at: Instant,
    unix: u64,
}

impl Wall {
    pub(crate) fn tie() -> Self {
        (0..50)
            .map(|_| {
                let before = Instant::now();
                let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                let instant = Instant::now();
                let unix = u64::try_from(unix.as_nanos()).unwrap();
                (instant - before, Self { at: instant, unix })
            })
            .min_by_key(|(apart, _)| *apart)
            .unwrap()
            .1
    }

    pub(crate) fn now(&self) -> u64 {
        self.unix + u64::try_from(self.at.elapsed().as_nanos()).unwrap()
    }
}

struct Serving {
    listener: TcpListener,
    epoll: OwnedFd,
    /// Its own alarm, independent of the engine's.
    alarm: OwnedFd,
    seed: u64,
    wall: Wall,
    clients: Vec<Client>,
    /// When the next answer of which connection is due.
    meant: BinaryHeap<Reverse<(u64, usize)>>,
    notes: Vec<Note>,
}

struct Client {
    socket: OwnedFd,
    input: Vec<u8>,
    waiting: VecDeque<Note>,
}

impl Serving {
    fn new(listener: TcpListener, seed: u64) -> Self {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let number = EventData::new_u64(LISTENER);
        epoll::add(&epoll, &listener, number, EventFlags::IN).unwrap();
        let alarm = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK).unwrap();
        let number = EventData::new_u64(ALARM);
        epoll::add(&epoll, &alarm, number, EventFlags::IN | EventFlags::ET).unwrap();
        Self {
            listener,
            epoll,
            alarm,
            seed,
            wall: Wall::tie(),
            clients: Vec::new(),
            meant: BinaryHeap::new(),
            notes: Vec::new(),
        }
    }

    fn run(mut self, must_stop: &AtomicBool) -> Vec<Note> {
        // The default slack of 50 µs would be added to each delay.
        rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1)).unwrap();
        let mut events = Vec::with_capacity(1_024);
        while !must_stop.load(Ordering::Relaxed) {
            self.set_alarm();
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => panic!("waiting for events: {error}"),
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    // It need not be read: setting it again is enough.
                    ALARM => {}
                    number => self.read(usize::try_from(number).unwrap()),
                }
            }
            self.answer();
        }
        self.notes
    }

    fn set_alarm(&self) {
        let next = self
            .meant
            .peek()
            .map_or(u64::MAX, |Reverse((meant, _))| *meant);
        let wait = next.saturating_sub(self.wall.now()).clamp(1, TICK_NS);
        let never = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let once = Itimerspec {
            it_interval: never,
            it_value: Timespec {
                tv_sec: 0,
                tv_nsec: wait.cast_signed(),
            },
        };
        timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &once).unwrap();
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true).unwrap();
            stream.set_nodelay(true).unwrap();
            let socket = OwnedFd::from(stream);
            let number = EventData::new_u64(self.clients.len() as u64);
            epoll::add(&self.epoll, &socket, number, EventFlags::IN).unwrap();
            self.clients.push(Client {
                socket,
                input: Vec::new(),
                waiting: VecDeque::new(),
            });
        }
    }

    fn read(&mut self, number: usize) {
        let mut buffer = [0; 65_536];
        let client = &mut self.clients[number];
        match rustix::net::recv(&client.socket, &mut buffer, RecvFlags::empty()) {
            Ok((0, _)) | Err(Errno::CONNRESET) => {
                epoll::delete(&self.epoll, &client.socket).unwrap();
            }
            Ok((length, _)) => client.input.extend_from_slice(&buffer[..length]),
            Err(Errno::AGAIN) => {}
            Err(error) => panic!("reading: {error}"),
        }
        let read = self.wall.now();
        let length = stamped_request().bytes.len();
        while client.input.len() >= length {
            let stamps = &client.input[length - KEY_DIGITS - TIME_DIGITS..length];
            let (key, sent) = std::str::from_utf8(stamps).unwrap().split_at(KEY_DIGITS);
            let (key, sent) = (key.parse().unwrap(), sent.parse().unwrap());
            client.input.drain(..length);
            let delay = u64::try_from(delay(self.seed, key).as_nanos()).unwrap();
            let before = client.waiting.back().map_or(0, |note| note.meant);
            let meant = (read + delay).max(before);
            client.waiting.push_back(Note {
                key,
                connection: number,
                sent,
                read,
                meant,
                written: 0,
            });
            self.meant.push(Reverse((meant, number)));
        }
    }

    /// Sends the answers that are due.
    fn answer(&mut self) {
        while let Some(&Reverse((meant, number))) = self.meant.peek()
            && meant <= self.wall.now()
        {
            self.meant.pop();
            let client = &mut self.clients[number];
            let mut note = client.waiting.pop_front().unwrap();
            note.written = self.wall.now();
            let sent = rustix::net::send(&client.socket, OK, SendFlags::NOSIGNAL);
            assert_eq!(
                sent,
                Ok(OK.len()),
                "an answer is small enough for any socket"
            );
            self.notes.push(note);
        }
    }
}

//! A small store of readings with faults on request, for the tests of verdicts: it is the system under study there.
//!
//! `faulty_store LISTEN FAULT`: takes `PUT …` bodies of stamped line protocol, keeps keys and times in memory and
//! gives them back by offset. FAULT is `none`, `drop` (the 100,000th record is acknowledged and forgotten), `twice` (it is
//! stored twice), `late` (it shows up three and a half seconds later), `slow` (one request at a time, 2 ms each), `worsens`
//! (one at a time, twenty times slower from four and a half seconds after the fiftieth request on), `slots` (sixteen at a time, 400 ms each: 40 a second are all
//! it can do) or `dies` (with its last words, two seconds after somebody first connected).

#![expect(
    clippy::unwrap_used,
    reason = "a test's program: any surprise should end it, loudly"
)]

mod wire;

use std::{
    io::{BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use wire::{between, request};

/// Which record, counted from 1, the fault is about.
const FAULTY_RECORD: usize = 1_000;
const DROPPED_RECORD: usize = 100_000;
/// More than a check makes: with this one the load has begun.
const LOADED_AT: u32 = 50;
const WORSENS_AFTER: Duration = Duration::from_millis(4_500);
const LATE_BY: Duration = Duration::from_millis(3_500);
const SLOTS: usize = 16;
const SLOT_TAKES: Duration = Duration::from_millis(400);
const DIES_AFTER: Duration = Duration::from_secs(2);
const DIED: i32 = 7;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let listen = arguments.next().unwrap();
    if listen == "--version" {
        return;
    }
    let fault = arguments.next().unwrap();
    let store = Arc::new(Mutex::new(Store::default()));
    let desk = Arc::new(Mutex::new(Desk::default()));
    let slots = Arc::new((Mutex::new(SLOTS), Condvar::new()));
    let listener = TcpListener::bind(listen).unwrap();
    for (number, stream) in listener.incoming().enumerate() {
        if number == 0 && fault == "dies" {
            std::thread::spawn(die);
        }
        let serving = Serving {
            store: Arc::clone(&store),
            desk: Arc::clone(&desk),
            slots: Arc::clone(&slots),
            fault: fault.clone(),
        };
        std::thread::spawn(move || serving.connection(stream.unwrap()));
    }
}

fn die() {
    std::thread::sleep(DIES_AFTER);
    let mut log = std::io::stderr();
    writeln!(log, "fatal: the last words of a store").unwrap();
    std::process::exit(DIED);
}

#[derive(Default)]
struct Store {
    lines: Vec<String>,
    taken: usize,
    held_back: Option<(Instant, String)>,
}

/// Where one request at a time is worked on.
#[derive(Default)]
struct Desk {
    done: u32,
    loaded_since: Option<Instant>,
}

struct Serving {
    store: Arc<Mutex<Store>>,
    /// Held by the one request that is being worked on.
    desk: Arc<Mutex<Desk>>,
    /// How many are free.
    slots: Arc<(Mutex<usize>, Condvar)>,
    fault: String,
}

impl Serving {
    fn connection(&self, stream: TcpStream) {
        stream.set_nodelay(true).unwrap();
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some((request, body)) = request(&mut reader) {
            let answer = if request.starts_with("PUT") {
                self.put(&body)
            } else {
                self.get(&request)
            };
            if writer.write_all(&answer).is_err() {
                return;
            }
        }
    }

    fn put(&self, body: &str) -> Vec<u8> {
        self.work();
        let mut store = self.store.lock().unwrap();
        for line in body.lines() {
            store.taken += 1;
            let faulty = store.taken == FAULTY_RECORD;
            let run = between(line, "waggle_run=", &[' ', ',']);
            let key = between(line, "waggle_key=", &['i']);
            let time = line.rsplit(' ').next().unwrap();
            let record = format!(
                "\"time\":{time},\"tags\":{{\"waggle_run\":\"{run}\"}},\"fields\":{{\"waggle_key\":{key}}}}}\n"
            );
            match self.fault.as_str() {
                "drop" if store.taken == DROPPED_RECORD => {}
                "late" if faulty => store.held_back = Some((Instant::now(), record)),
                "twice" if faulty => store.lines.extend([record.clone(), record]),
                _ => store.lines.push(record),
            }
        }
        b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()
    }

    /// The time a request takes, where one is worked on at a time.
    fn work(&self) {
        let worsens = match self.fault.as_str() {
            "slow" => false,
            "worsens" => true,
            "slots" => return self.in_a_slot(),
            _ => return,
        };
        let mut desk = self.desk.lock().unwrap();
        // By time and not by requests, of which a busy machine makes fewer; and by the time of the load alone, whatever passes
        // between the check and it.
        let is_worse = worsens
            && desk
                .loaded_since
                .is_some_and(|since| since.elapsed() > WORSENS_AFTER);
        std::thread::sleep(Duration::from_millis(if is_worse { 40 } else { 2 }));
        desk.done += 1;
        if desk.done == LOADED_AT {
            desk.loaded_since = Some(Instant::now());
        }
    }

    fn in_a_slot(&self) {
        let (free, freed) = &*self.slots;
        let slots = free.lock().unwrap();
        *freed.wait_while(slots, |free| *free == 0).unwrap() -= 1;
        std::thread::sleep(SLOT_TAKES);
        *free.lock().unwrap() += 1;
        freed.notify_one();
    }

    fn get(&self, request: &str) -> Vec<u8> {
        let offset: usize = between(request, "offset=", &['&', ' '])
            .parse()
            .unwrap_or(0);
        let limit: usize = between(request, "limit=", &['&', ' ']).parse().unwrap_or(0);
        let mut store = self.store.lock().unwrap();
        if store
            .held_back
            .as_ref()
            .is_some_and(|(since, _)| since.elapsed() > LATE_BY)
        {
            let (_, record) = store.held_back.take().unwrap();
            store.lines.push(record);
        }
        let numbered = store.lines.iter().enumerate().skip(offset).take(limit);
        let body: String = numbered
            .map(|(offset, line)| format!("{{\"offset\":{offset},{line}"))
            .collect();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }
}

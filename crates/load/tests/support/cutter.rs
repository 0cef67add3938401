//! A server that cuts connections at places drawn from a seed, and keeps its own account of every request by its key.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses its own part of it"
)]

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use rustix::net::sockopt::set_socket_linger;
use waggle_load::{KEY_DIGITS, TIME_DIGITS};

use super::{
    OK,
    delays::{random, stamped},
};

/// How a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// In order: what was written arrives.
    Fin,
    /// By a reset, on which what was written may be thrown away.
    Rst,
    /// Now so, now so.
    Either,
}

/// What the server did with a request that it had read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    Answered,
    Cut,
}

/// Where one is cut.
enum Cut {
    Nowhere,
    BeforeAnswer,
    InHead,
    InBody,
    AfterAnswer,
}

pub struct Cutter {
    pub address: SocketAddr,
    rules: Arc<Rules>,
    thread: Option<JoinHandle<Vec<JoinHandle<()>>>>,
}

struct Rules {
    close: Close,
    seed: u64,
    done: Mutex<BTreeMap<u64, Done>>,
    stop: AtomicBool,
}

impl Cutter {
    pub fn start(close: Close, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let rules = Arc::new(Rules {
            close,
            seed,
            done: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&rules);
        let thread = std::thread::spawn(move || {
            let mut connections = Vec::new();
            for (number, stream) in (0..).zip(listener.incoming()) {
                if theirs.stop.load(Ordering::SeqCst) {
                    break;
                }
                let (stream, rules) = (stream.unwrap(), Arc::clone(&theirs));
                connections.push(std::thread::spawn(move || rules.serve(stream, number)));
            }
            connections
        });
        Self {
            address,
            rules,
            thread: Some(thread),
        }
    }

    /// Ends it, once the other side has closed its connections; gives what was done with each request, by its key.
    pub fn stop(mut self) -> BTreeMap<u64, Done> {
        self.rules.stop.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        for connection in self.thread.take().unwrap().join().unwrap() {
            connection.join().unwrap();
        }
        std::mem::take(&mut *self.rules.done.lock().unwrap())
    }
}

impl Rules {
    fn serve(&self, mut stream: TcpStream, number: u64) {
        stream.set_nodelay(true).unwrap();
        let chance = random(self.seed, number);
        if chance.is_multiple_of(8) {
            return self.close(stream, chance);
        }
        let length = stamped().bytes.len();
        let mut request = vec![0; length];
        while stream.read_exact(&mut request).is_ok() {
            let key = &request[length - KEY_DIGITS - TIME_DIGITS..length - TIME_DIGITS];
            let key: u64 = std::str::from_utf8(key).unwrap().parse().unwrap();
            let chance = random(self.seed, key);
            let cut = match chance >> 8 & 127 {
                0 => Cut::BeforeAnswer,
                1 => Cut::InHead,
                2 => Cut::InBody,
                3 => Cut::AfterAnswer,
                _ => Cut::Nowhere,
            };
            let part = match cut {
                Cut::Nowhere | Cut::AfterAnswer => OK,
                Cut::BeforeAnswer => &[],
                Cut::InHead => &OK[..20],
                Cut::InBody => &OK[..OK.len() - 1],
            };
            let is_written = stream.write_all(part).is_ok();
            let done = if is_written && part == OK {
                Done::Answered
            } else {
                Done::Cut
            };
            let before = self.done.lock().unwrap().insert(key, done);
            assert_eq!(before, None, "request {key} was sent twice");
            if !is_written {
                return;
            }
            if !matches!(cut, Cut::Nowhere) {
                return self.close(stream, chance);
            }
        }
    }

    fn close(&self, mut stream: TcpStream, chance: u64) {
        let is_reset = match self.close {
            Close::Fin => false,
            Close::Rst => true,
            Close::Either => chance >> 16 & 1 == 0,
        };
        if is_reset {
            // To linger for no time at all is to reset.
            set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        } else {
            // A close with bytes unread would be a reset.
            let _ = stream.shutdown(Shutdown::Write);
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    }
}

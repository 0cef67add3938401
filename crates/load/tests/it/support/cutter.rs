//! A server that cuts connections at points drawn from a seed, and records every request by its key.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use rustix::net::sockopt::set_socket_linger;
use waggle_load::{KEY_DIGITS, TIME_DIGITS};
use waggle_testkit::{Listener, Socket, random::random};

use super::{OK, stamped::stamped_request};

/// How a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Close {
    /// In order: what was written arrives.
    Fin,
    /// By a reset, on which what was written may be thrown away.
    Rst,
    /// One or the other, at random.
    Either,
}

/// What the server did with a request that it had read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    Answered,
    Cut,
}

/// Where a connection is cut.
enum Cut {
    Nowhere,
    BeforeAnswer,
    InHead,
    InBody,
    AfterAnswer,
}

pub(crate) struct Cutter {
    pub(crate) address: SocketAddr,
    rules: Arc<Rules>,
    listener: Listener,
}

struct Rules {
    close: Close,
    seed: u64,
    done: Mutex<BTreeMap<u64, Done>>,
}

impl Cutter {
    pub(crate) fn start(close: Close, seed: u64) -> Self {
        let rules = Arc::new(Rules {
            close,
            seed,
            done: Mutex::default(),
        });
        let theirs = Arc::clone(&rules);
        let listener = Listener::start(move |socket, number| theirs.serve(socket, number));
        Self {
            address: listener.address,
            rules,
            listener,
        }
    }

    /// Stops it once the peer has closed its connections; returns what was done with each request, by its key.
    pub(crate) fn stop(self) -> BTreeMap<u64, Done> {
        self.listener.finish();
        std::mem::take(&mut *self.rules.done.lock().unwrap())
    }
}

impl Rules {
    fn serve(&self, mut stream: Socket, number: u64) {
        let drawn = random(self.seed, number);
        if drawn.is_multiple_of(8) {
            return self.close(stream, drawn);
        }
        let length = stamped_request().bytes.len();
        let mut request = vec![0; length];
        while stream.read_exact(&mut request).is_ok() {
            let key = &request[length - KEY_DIGITS - TIME_DIGITS..length - TIME_DIGITS];
            let key: u64 = std::str::from_utf8(key).unwrap().parse().unwrap();
            let drawn = random(self.seed, key);
            let cut = match drawn >> 8 & 127 {
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
                return self.close(stream, drawn);
            }
        }
    }

    fn close(&self, stream: Socket, random: u64) {
        let is_reset = match self.close {
            Close::Fin => false,
            Close::Rst => true,
            Close::Either => random >> 16 & 1 == 0,
        };
        if is_reset {
            // To linger for no time at all is to reset.
            set_socket_linger(&*stream, Some(Duration::ZERO)).unwrap();
        } else {
            stream.close_in_order();
        }
    }
}

//! A server whose answers are a function of each request. One thread per connection.

use std::{
    io::{Read, Write},
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use super::message::{Request, answer, take_request};
use crate::{Listener, stream::Stream};

/// What the server does with one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Answer(Vec<u8>),
    /// Sends this and closes; with TLS after a close_notify.
    Last(Vec<u8>),
    /// Sends this, which is not a complete answer, and closes; with TLS without a close_notify.
    Cut(Vec<u8>),
    /// As `Last`, but with TLS the socket stays open until the client closes it.
    HalfClose(Vec<u8>),
    /// Closes without reading, so that the kernel resets the connection and discards bytes that the client has not received yet.
    Abort,
    /// Waits, then answers.
    After(Duration, Vec<u8>),
    /// Never answers.
    Silence,
}

/// A server on 127.0.0.1; it ends when dropped, with all its connections.
#[derive(Debug)]
pub struct Server {
    pub address: SocketAddr,
    listener: Listener,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    received: AtomicU64,
    answered: AtomicU64,
    connections: AtomicU64,
    resumed: AtomicU64,
    closed_in_order: AtomicU64,
    bodies: Mutex<Vec<String>>,
}

impl Server {
    /// On a free port. `reply` decides the answer to each request.
    pub fn start(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), reply)
    }

    /// On a given address.
    pub fn start_at(
        address: SocketAddr,
        reply: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::serve(address, reply, Stream::plain)
    }

    /// Over TLS, on a free port.
    #[cfg(feature = "tls")]
    pub fn start_secure(
        config: rustls::ServerConfig,
        reply: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let config = Arc::new(config);
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        Self::serve(address, reply, move |socket| {
            Stream::secure(socket, Arc::clone(&config))
        })
    }

    fn serve(
        address: SocketAddr,
        reply: impl Fn(&Request) -> Reply + Send + Sync + 'static,
        open: impl Fn(crate::Socket) -> Stream + Send + Sync + 'static,
    ) -> Self {
        let counts = Arc::new(Counts::default());
        let theirs = Arc::clone(&counts);
        let listener = Listener::start_at(address, move |socket, number| {
            theirs.connections.fetch_add(1, Ordering::SeqCst);
            serve(open(socket), number, &theirs, &reply);
        });
        Self {
            address: listener.address,
            listener,
            counts,
        }
    }

    /// Requests that arrived completely.
    pub fn received_count(&self) -> u64 {
        self.counts.received.load(Ordering::SeqCst)
    }

    /// Requests that were answered completely.
    pub fn answered_count(&self) -> u64 {
        self.counts.answered.load(Ordering::SeqCst)
    }

    pub fn connections(&self) -> u64 {
        self.counts.connections.load(Ordering::SeqCst)
    }

    /// TLS sessions that were resumed.
    pub fn resumed_count(&self) -> u64 {
        self.counts.resumed.load(Ordering::SeqCst)
    }

    /// The bodies of all requests that had one.
    pub fn bodies(&self) -> Vec<String> {
        let bodies = self.counts.bodies.lock();
        bodies.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Accepts no more connections and waits until the clients have closed theirs; returns how many did so in order: with TLS,
    /// after a close_notify.
    pub fn closed_in_order(self) -> u64 {
        self.listener.finish();
        self.counts.closed_in_order.load(Ordering::SeqCst)
    }

    /// Serves until the process ends: for a program that is nothing but this server.
    pub fn serve_forever(self) -> ! {
        self.listener.serve_forever()
    }
}

fn serve(mut stream: Stream, connection: u64, counts: &Counts, reply: &impl Fn(&Request) -> Reply) {
    let mut bytes = Vec::new();
    let mut on_connection = 0;
    let mut is_noted = false;
    loop {
        loop {
            let mut request = match take_request(&mut bytes) {
                Ok(Some(request)) => request,
                Ok(None) => break,
                Err(_) => {
                    // Some other protocol.
                    let _ = stream.write_all(&answer(400, "", ""));
                    return stream.close_in_order();
                }
            };
            request.number = counts.received.fetch_add(1, Ordering::SeqCst);
            request.connection = connection;
            request.on_connection = on_connection;
            on_connection += 1;
            if !request.body.is_empty() {
                let mut bodies = counts.bodies.lock().unwrap_or_else(PoisonError::into_inner);
                bodies.push(String::from_utf8_lossy(&request.body).into_owned());
            }
            let reply = reply(&request);
            match carry_out(stream, counts, reply) {
                Some(kept) => stream = kept,
                None => return,
            }
        }
        let mut buffer = [0; 65_536];
        let read = stream.read(&mut buffer);
        if !is_noted && stream.is_resumed() {
            counts.resumed.fetch_add(1, Ordering::SeqCst);
            is_noted = true;
        }
        match read {
            Ok(0) => {
                counts.closed_in_order.fetch_add(1, Ordering::SeqCst);
                return;
            }
            // After a failed handshake the alert must arrive, which a reset would overtake.
            Err(_) => return stream.cut(),
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
        }
    }
}

/// Returns the connection if it stays open.
fn carry_out(mut stream: Stream, counts: &Counts, reply: Reply) -> Option<Stream> {
    let (bytes, is_answer) = match &reply {
        Reply::Answer(bytes) | Reply::Last(bytes) | Reply::HalfClose(bytes) => (&**bytes, true),
        Reply::After(pause, bytes) => {
            thread::sleep(*pause);
            (&**bytes, true)
        }
        Reply::Cut(bytes) => (&**bytes, false),
        Reply::Silence => return Some(stream),
        Reply::Abort => return None,
    };
    // Counted first: the client may check the count as soon as it has the answer.
    counts
        .answered
        .fetch_add(u64::from(is_answer), Ordering::SeqCst);
    if stream
        .write_all(bytes)
        .and_then(|()| stream.flush())
        .is_err()
    {
        counts
            .answered
            .fetch_sub(u64::from(is_answer), Ordering::SeqCst);
        return None;
    }
    match reply {
        Reply::Last(_) => stream.close_in_order(),
        Reply::HalfClose(_) => stream.half_close(),
        Reply::Cut(_) => stream.cut(),
        _ => return Some(stream),
    }
    None
}

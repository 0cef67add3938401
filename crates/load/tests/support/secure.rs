//! A server of HTTP/1.1 over TLS, one thread for each connection, that ends when dropped.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};

use super::whole_request;

/// What the server does with one request.
#[derive(Debug, Clone)]
pub enum Reply {
    Answer(Vec<u8>),
    /// Sends this, says in the means of TLS that nothing follows, and closes.
    Last(Vec<u8>),
    /// Sends this and closes without a word.
    Cut(Vec<u8>),
    /// Says that nothing follows and goes on reading.
    HalfClose(Vec<u8>),
}

pub struct SecureServer {
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
    resumed: AtomicU64,
    /// Connections that ended by the client's saying so.
    closed_in_order: AtomicU64,
}

impl SecureServer {
    /// `reply`: what is done with the request of this number, counted over all connections.
    pub fn start(
        config: ServerConfig,
        reply: impl Fn(u64) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, stop) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
        let (theirs, must_stop) = (Arc::clone(&seen), Arc::clone(&stop));
        let (config, reply) = (Arc::new(config), Arc::new(reply));
        let thread = std::thread::spawn(move || {
            let mut connections = Vec::new();
            for stream in listener.incoming() {
                if must_stop.load(Ordering::Relaxed) {
                    break;
                }
                let (seen, reply, config) =
                    (Arc::clone(&theirs), Arc::clone(&reply), Arc::clone(&config));
                connections.push(std::thread::spawn(move || {
                    seen.connections.fetch_add(1, Ordering::SeqCst);
                    serve(stream.unwrap(), config, &seen, &*reply);
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

    pub fn received(&self) -> u64 {
        self.seen.received.load(Ordering::SeqCst)
    }

    pub fn answered(&self) -> u64 {
        self.seen.answered.load(Ordering::SeqCst)
    }

    pub fn connections(&self) -> u64 {
        self.seen.connections.load(Ordering::SeqCst)
    }

    pub fn resumed(&self) -> u64 {
        self.seen.resumed.load(Ordering::SeqCst)
    }

    /// Ends the server, waits for its connections to end, and gives how many of them ended in order.
    pub fn closed_in_order(mut self) -> u64 {
        self.end();
        self.seen.closed_in_order.load(Ordering::SeqCst)
    }

    fn end(&mut self) {
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

impl Drop for SecureServer {
    fn drop(&mut self) {
        self.end();
    }
}

fn serve(
    socket: TcpStream,
    config: Arc<ServerConfig>,
    seen: &Seen,
    reply: &(impl Fn(u64) -> Reply + ?Sized),
) {
    socket.set_nodelay(true).unwrap();
    let connection = ServerConnection::new(config).unwrap();
    let mut stream = StreamOwned::new(connection, socket);
    let mut bytes = Vec::new();
    let mut is_noted = false;
    loop {
        while let Some((length, ..)) = whole_request(&bytes) {
            bytes.drain(..length);
            let number = seen.received.fetch_add(1, Ordering::SeqCst);
            if !goes_on(&mut stream, seen, &reply(number)) {
                return;
            }
        }
        let mut buffer = [0; 65_536];
        let read = stream.read(&mut buffer);
        if !is_noted && stream.conn.handshake_kind() == Some(HandshakeKind::Resumed) {
            seen.resumed.fetch_add(1, Ordering::SeqCst);
            is_noted = true;
        }
        match read {
            Ok(0) => {
                seen.closed_in_order.fetch_add(1, Ordering::SeqCst);
                return;
            }
            Err(_) => return,
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
        }
    }
}

fn goes_on(
    stream: &mut StreamOwned<ServerConnection, TcpStream>,
    seen: &Seen,
    reply: &Reply,
) -> bool {
    let (Reply::Answer(bytes) | Reply::Last(bytes) | Reply::Cut(bytes) | Reply::HalfClose(bytes)) =
        reply;
    // Counted first: whoever has the answer may look at once.
    let whole = u64::from(!matches!(reply, Reply::Cut(_)));
    seen.answered.fetch_add(whole, Ordering::SeqCst);
    if stream
        .write_all(bytes)
        .and_then(|()| stream.flush())
        .is_err()
    {
        seen.answered.fetch_sub(whole, Ordering::SeqCst);
        return false;
    }
    if matches!(reply, Reply::Answer(_)) {
        return true;
    }
    if matches!(reply, Reply::Last(_) | Reply::HalfClose(_)) {
        stream.conn.send_close_notify();
        let _ = stream.conn.complete_io(&mut stream.sock);
    }
    if matches!(reply, Reply::Last(_) | Reply::Cut(_)) {
        let _ = stream.sock.shutdown(Shutdown::Write);
    }
    // What was written must arrive: a close with bytes unread is a reset.
    let _ = std::io::copy(&mut stream.sock, &mut std::io::sink());
    false
}

//! A proxy between two servers that can delay, drop or cut connections.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

/// How soon an idle connection notices a change of the link.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const BLOCK_BYTES: usize = 64 * 1024;

/// State of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    Open,
    /// Each block is delayed by this much, in both directions.
    Slow(Duration),
    /// Connections stay open and their bytes are dropped; those that lost bytes are cut when the link is open again.
    Swallow,
    /// Connections are cut, and new ones closed at once.
    Closed,
    /// New connections wait until so many have come since the link was set to this.
    Gather(usize),
}

/// A proxy on a port of 127.0.0.1; its threads end with the test program.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    to: Option<SocketAddr>,
    link: Link,
    /// Connections that have come since the link was set.
    gathered: usize,
    /// Connections with a lower number are cut.
    age: u64,
}

impl Proxy {
    /// Listens; it has no target yet.
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("its address");
        let state = Arc::new(Mutex::new(State {
            to: None,
            link: Link::Open,
            gathered: 0,
            age: 0,
        }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || join(client, &state));
            }
        });
        Self { address, state }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn lead_to(&self, server: SocketAddr) {
        lock(&self.state).to = Some(server);
    }

    pub fn set(&self, link: Link) {
        let mut state = lock(&self.state);
        (state.link, state.gathered) = (link, 0);
    }

    /// Cuts the existing connections; new ones are accepted.
    pub fn cut(&self) {
        lock(&self.state).age += 1;
    }
}

/// Forwards one connection to the server.
fn join(client: TcpStream, state: &Arc<Mutex<State>>) -> Option<()> {
    let (to, link, age) = {
        let mut state = lock(state);
        state.gathered += 1;
        (state.to?, state.link, state.age)
    };
    while is_gathering(state) {
        thread::sleep(LOOK_EVERY);
    }
    if link == Link::Closed {
        return None;
    }
    let server = TcpStream::connect(to).ok()?;
    for stream in [&client, &server] {
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(LOOK_EVERY)).ok()?;
    }
    let (from, into) = (client.try_clone().ok()?, server.try_clone().ok()?);
    let shared = Arc::clone(state);
    thread::spawn(move || carry(from, into, &shared, age));
    carry(server, client, state, age);
    Some(())
}

/// Whether connections wait for others.
fn is_gathering(state: &Mutex<State>) -> bool {
    let state = lock(state);
    match state.link {
        Link::Gather(connections) => state.gathered < connections,
        _ => false,
    }
}

/// Forwards bytes in one direction until an end or the link closes; then both directions end.
fn carry(mut from: TcpStream, mut into: TcpStream, state: &Mutex<State>, age: u64) {
    let mut block = vec![0; BLOCK_BYTES];
    let mut has_lost = false;
    loop {
        let (link, now) = {
            let state = lock(state);
            (state.link, state.age)
        };
        if link == Link::Closed || now > age || (has_lost && link != Link::Swallow) {
            break;
        }
        let count = match from.read(&mut block) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if is_nothing_yet(error.kind()) => continue,
            Err(_) => break,
        };
        match link {
            Link::Swallow => {
                has_lost = true;
                continue;
            }
            Link::Slow(time) => thread::sleep(time),
            Link::Open | Link::Closed | Link::Gather(_) => {}
        }
        if into.write_all(&block[..count]).is_err() {
            break;
        }
    }
    // The other direction reads the end.
    let _ = from.shutdown(Shutdown::Both);
    let _ = into.shutdown(Shutdown::Both);
}

fn is_nothing_yet(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

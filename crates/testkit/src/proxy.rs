//! A way between two servers that can be slow, swallow what is sent, or be cut.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

/// How soon a connection on which nothing comes notices that the way has changed.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const BLOCK_BYTES: usize = 64 * 1024;

/// What becomes of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Open,
    /// Each block waits so long before it goes on, in both directions.
    Slow(Duration),
    /// Connections stay open and what is sent on them is lost; those that lost something are cut when the way is open again.
    Swallow,
    /// Connections are cut, and new ones closed at once.
    Closed,
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
    way: Way,
    /// Connections of an earlier number are to be cut.
    age: u64,
}

impl Proxy {
    /// Listens; it leads nowhere yet.
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("its address");
        let state = Arc::new(Mutex::new(State {
            to: None,
            way: Way::Open,
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

    pub fn set(&self, way: Way) {
        lock(&self.state).way = way;
    }

    /// Cuts the connections there are; new ones are taken.
    pub fn cut(&self) {
        lock(&self.state).age += 1;
    }
}

/// Leads one connection on to the server.
fn join(client: TcpStream, state: &Arc<Mutex<State>>) -> Option<()> {
    let (to, way, age) = {
        let state = lock(state);
        (state.to?, state.way, state.age)
    };
    if way == Way::Closed {
        return None;
    }
    let server = TcpStream::connect(to).ok()?;
    for stream in [&client, &server] {
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(LOOK_EVERY)).ok()?;
    }
    let there = (client.try_clone().ok()?, server.try_clone().ok()?);
    let shared = Arc::clone(state);
    thread::spawn(move || carry(there, &shared, age));
    carry((server, client), state, age);
    Some(())
}

/// Carries bytes one way until one end or the way itself ends it; then both directions end.
fn carry((mut from, mut into): (TcpStream, TcpStream), state: &Mutex<State>, age: u64) {
    let mut block = vec![0; BLOCK_BYTES];
    let mut has_lost = false;
    loop {
        let (way, now) = {
            let state = lock(state);
            (state.way, state.age)
        };
        if way == Way::Closed || now > age || (has_lost && way != Way::Swallow) {
            break;
        }
        let count = match from.read(&mut block) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if is_nothing_yet(error.kind()) => continue,
            Err(_) => break,
        };
        match way {
            Way::Swallow => {
                has_lost = true;
                continue;
            }
            Way::Slow(time) => thread::sleep(time),
            Way::Open | Way::Closed => {}
        }
        if into.write_all(&block[..count]).is_err() {
            break;
        }
    }
    // The other direction reads the end, wherever it stands.
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

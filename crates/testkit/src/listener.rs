//! A listener with a thread per connection; dropping it joins them.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    ops::Deref,
    panic,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

/// An accepted connection. It is closed when this is dropped.
#[derive(Debug)]
pub struct Socket(Arc<TcpStream>);

/// Listens on 127.0.0.1. When it is dropped, connections that are still open are shut down and their threads joined; their panics
/// are resumed here.
#[derive(Debug)]
pub struct Listener {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<Vec<JoinHandle<()>>>>,
}

#[derive(Debug, Default)]
struct Shared {
    must_stop: AtomicBool,
    open: Mutex<Vec<Weak<TcpStream>>>,
}

impl Listener {
    /// On a free port. `serve` is called with each connection and its number, counted from 0, in its own thread.
    pub fn start(serve: impl Fn(Socket, u64) + Send + Sync + 'static) -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), serve)
    }

    /// On a given address.
    pub fn start_at(
        address: SocketAddr,
        serve: impl Fn(Socket, u64) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).expect("an address to listen on");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let accepting = thread::spawn(move || accept(&listener, &theirs, Arc::new(serve)));
        Self {
            address,
            shared,
            accepting: Some(accepting),
        }
    }

    /// Accepts no more connections, and returns when the peers have closed the existing ones.
    pub fn finish(mut self) {
        self.stop_accepting();
    }

    /// Serves until the process ends.
    pub fn serve_forever(mut self) -> ! {
        let accepting = self.accepting.take().expect("it accepts");
        let ended = accepting.join();
        panic!("the listener has ended: {:?}", ended.err());
    }

    fn stop_accepting(&mut self) {
        let Some(accepting) = self.accepting.take() else {
            return;
        };
        self.shared.must_stop.store(true, Ordering::SeqCst);
        // Wakes the listener, which exists until it is joined.
        let _ = TcpStream::connect(self.address);
        let connections = accepting.join().expect("the listener does not panic");
        for connection in connections {
            if let Err(reason) = connection.join()
                && !thread::panicking()
            {
                panic::resume_unwind(reason);
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.must_stop.store(true, Ordering::SeqCst);
        let mut open = lock(&self.shared.open);
        for socket in open.drain(..).filter_map(|socket| socket.upgrade()) {
            // The peer may have closed it.
            let _ = socket.shutdown(Shutdown::Both);
        }
        drop(open);
        self.stop_accepting();
    }
}

fn accept(
    listener: &TcpListener,
    shared: &Shared,
    serve: Arc<impl Fn(Socket, u64) + Send + Sync + 'static>,
) -> Vec<JoinHandle<()>> {
    let mut connections = Vec::new();
    for (number, stream) in (0..).zip(listener.incoming()) {
        let stream = Arc::new(stream.expect("a connection"));
        {
            let mut open = lock(&shared.open);
            if shared.must_stop.load(Ordering::SeqCst) {
                break;
            }
            open.retain(|socket| socket.strong_count() > 0);
            open.push(Arc::downgrade(&stream));
        }
        stream.set_nodelay(true).expect("an open socket");
        let serve = Arc::clone(&serve);
        connections.push(thread::spawn(move || serve(Socket(stream), number)));
    }
    connections
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Socket {
    /// Ends the sending direction and reads until the peer has ended too: sent bytes arrive, while a close with unread bytes
    /// would be a reset.
    pub fn close_in_order(mut self) {
        let _ = self.shutdown(Shutdown::Write);
        let _ = io::copy(&mut self, &mut io::sink());
    }
}

impl Deref for Socket {
    type Target = TcpStream;

    fn deref(&self) -> &TcpStream {
        &self.0
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    // rustls sends its last alert in one such call; the default would write the first of its buffers only.
    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        (&*self.0).write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush()
    }
}

//! Accepts connections and logs what clients sent on them.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    frame::SETTINGS,
    socket::{FrameSocket, Request},
};
use crate::{Listener, Socket};

/// What clients sent, over all connections.
#[derive(Debug, Clone, Default)]
pub struct Log {
    pub connections: u64,
    /// Complete ones that were read by [`FrameSocket::next_request`], in order of their ends.
    pub requests: Vec<Request>,
    /// Streams that clients have reset, each with its error code.
    pub resets: Vec<(u32, u32)>,
    /// The error codes of GOAWAY frames.
    pub go_aways: Vec<u32>,
    /// The payloads of PINGs with an ACK.
    pub pongs: Vec<Vec<u8>>,
    pub settings_acks: u64,
}

/// Serves each connection by a function of the test, in a thread of its own.
#[derive(Debug)]
pub struct FrameServer {
    pub address: SocketAddr,
    listener: Listener,
    log: Arc<Mutex<Log>>,
}

impl FrameServer {
    /// `serve` begins after the preface and the first SETTINGS of the client. At its end the connection is closed in order.
    pub fn start(serve: impl Fn(&mut FrameSocket) + Send + Sync + 'static) -> Self {
        let log = Arc::new(Mutex::new(Log::default()));
        let theirs = Arc::clone(&log);
        let listener = Listener::start(move |socket, connection| {
            serve_connection(accept(socket, connection, &theirs), &serve);
        });
        Self {
            address: listener.address,
            listener,
            log,
        }
    }

    /// Answers each complete request by `answer`, with these settings.
    pub fn answering(
        settings: &[(u16, u32)],
        answer: impl Fn(&mut FrameSocket, &Request) + Send + Sync + 'static,
    ) -> Self {
        let settings = settings.to_vec();
        Self::start(move |socket| answer_all(socket, &settings, &answer))
    }

    /// Waits until clients have closed all connections; what they sent. Panics of the threads are resumed here.
    pub fn finish(self) -> Log {
        self.listener.finish();
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.clone()
    }

    /// What clients sent until now.
    #[must_use]
    pub fn log(&self) -> Log {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.clone()
    }
}

fn answer_all(
    socket: &mut FrameSocket,
    settings: &[(u16, u32)],
    answer: &impl Fn(&mut FrameSocket, &Request),
) {
    socket.send_settings(settings);
    while let Some(request) = socket.next_request() {
        answer(socket, &request);
    }
}

/// `socket` is `None` if the client has closed the connection before its first frame.
fn serve_connection(socket: Option<FrameSocket>, serve: &impl Fn(&mut FrameSocket)) {
    if let Some(mut socket) = socket {
        serve(&mut socket);
        socket.close();
    }
}

fn accept(socket: Socket, connection: u64, log: &Arc<Mutex<Log>>) -> Option<FrameSocket> {
    log.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .connections += 1;
    let mut frames = FrameSocket::accept(socket, connection, Arc::clone(log))?;
    let first = frames.next_frame()?;
    assert_eq!(first.kind, SETTINGS, "the client's first frame");
    Some(frames)
}

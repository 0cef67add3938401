//! An HTTP/2 server by the `h2` crate, with or without TLS, that ends when dropped.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use bytes::Bytes;
use h2::{Reason, RecvStream, server::SendResponse};
use http::{Request, Response};
use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::watch,
};
use tokio_rustls::TlsAcceptor;

/// What the server does with one complete request.
#[derive(Debug, Clone)]
pub enum Reply {
    Answer {
        status: u16,
        body: Bytes,
    },
    /// An informational answer first.
    Informed(Bytes),
    /// With these headers, after this long.
    Headed {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Bytes,
        pause: Duration,
    },
    /// With this `Content-Encoding`.
    Encoded(&'static str, Bytes),
    /// Announces this length and sends this body.
    Announced(u64, Bytes),
    /// Answers with a header of this many bytes.
    LongHead(usize),
    /// With trailers after the body.
    Trailers(Bytes),
    Reset(Reason),
    /// Sends the head and a part of the body, then resets the stream with this reason.
    HalfThenReset(Bytes, Reason),
    /// Answers and sends GOAWAY.
    GoAway(Bytes),
    /// Closes the whole connection with this reason.
    Abort(Reason),
    /// Closes the socket.
    Drop,
    /// Keeps the stream open and sends nothing.
    Silence,
    /// Answers after this long.
    After(Duration, Bytes),
    /// Answers without waiting for the request's body.
    Early(Bytes),
}

/// The server's settings.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub streams_max: Option<u32>,
    pub window: Option<u32>,
    pub tls: Option<Arc<ServerConfig>>,
}

/// A request as the server saw it.
#[derive(Debug)]
pub struct ReceivedRequest {
    /// Counted over all connections.
    pub number: u64,
    pub head: Request<()>,
}

#[derive(Debug, Default)]
pub struct Counted {
    pub received: AtomicU64,
    pub answered: AtomicU64,
    pub body_bytes: AtomicU64,
    pub connections: AtomicU64,
    under_way: AtomicU64,
    pub most_under_way: AtomicU64,
}

pub struct StreamServer {
    pub address: SocketAddr,
    counted: Arc<Counted>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl StreamServer {
    pub fn start(
        settings: Settings,
        reply: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("an address to listen on");
        listener.set_nonblocking(true).expect("an open socket");
        let address = listener.local_addr().expect("its address");
        let counted = Arc::new(Counted::default());
        let theirs = Arc::clone(&counted);
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::spawn(move || {
            run_until(stopped, accept(listener, settings, Arc::new(reply), theirs));
        });
        Self {
            address,
            counted,
            stop,
            thread: Some(thread),
        }
    }

    pub fn get(&self, count: impl Fn(&Counted) -> &AtomicU64) -> u64 {
        count(&self.counted).load(Ordering::SeqCst)
    }
}

impl Drop for StreamServer {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "the server has panicked"
            );
        }
    }
}

fn run_until(mut stopped: watch::Receiver<bool>, serving: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        tokio::select! {
            () = serving => {}
            _ = stopped.changed() => {}
        }
    });
}

type Replies = Arc<dyn Fn(&ReceivedRequest) -> Reply + Send + Sync>;

async fn accept(
    listener: std::net::TcpListener,
    settings: Settings,
    reply: Replies,
    counted: Arc<Counted>,
) {
    let listener = TcpListener::from_std(listener).expect("a listener");
    loop {
        let (socket, _) = listener.accept().await.expect("a connection");
        socket.set_nodelay(true).expect("an open socket");
        counted.connections.fetch_add(1, Ordering::SeqCst);
        let (settings, reply, counted) =
            (settings.clone(), Arc::clone(&reply), Arc::clone(&counted));
        tokio::spawn(async move {
            match &settings.tls {
                None => serve(socket, &settings, reply, counted).await,
                Some(config) => {
                    let acceptor = TlsAcceptor::from(Arc::clone(config));
                    if let Ok(stream) = acceptor.accept(socket).await {
                        serve(stream, &settings, reply, counted).await;
                    }
                }
            }
        });
    }
}

/// What a request's task orders its connection to do.
enum Order {
    GoAway,
    Abort(Reason),
    Drop,
}

async fn serve(
    io: impl AsyncRead + AsyncWrite + Unpin,
    settings: &Settings,
    reply: Replies,
    counted: Arc<Counted>,
) {
    let mut builder = h2::server::Builder::new();
    if let Some(most) = settings.streams_max {
        builder.max_concurrent_streams(most);
    }
    if let Some(window) = settings.window {
        builder.initial_window_size(window);
    }
    let Ok(mut connection) = builder.handshake::<_, Bytes>(io).await else {
        return;
    };
    let (order, mut orders) = tokio::sync::mpsc::channel(16);
    loop {
        tokio::select! {
            accepted = connection.accept() => {
                let Some(Ok((request, respond))) = accepted else {
                    return;
                };
                let task = answer(request, respond, Arc::clone(&reply), Arc::clone(&counted), order.clone());
                tokio::spawn(task);
            }
            order = orders.recv() => match order {
                Some(Order::GoAway) => connection.graceful_shutdown(),
                Some(Order::Abort(reason)) => connection.abrupt_shutdown(reason),
                Some(Order::Drop) | None => return,
            }
        }
    }
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    reply: Replies,
    counted: Arc<Counted>,
    order: tokio::sync::mpsc::Sender<Order>,
) {
    let now = counted.under_way.fetch_add(1, Ordering::SeqCst) + 1;
    counted.most_under_way.fetch_max(now, Ordering::SeqCst);
    let (head, mut body) = request.into_parts();
    let number = counted.received.fetch_add(1, Ordering::SeqCst);
    let seen = ReceivedRequest {
        number,
        head: Request::from_parts(head, ()),
    };
    let reply = reply(&seen);
    if !matches!(reply, Reply::Early(_)) {
        while let Some(Ok(piece)) = body.data().await {
            counted
                .body_bytes
                .fetch_add(piece.len() as u64, Ordering::SeqCst);
            let _ = body.flow_control().release_capacity(piece.len());
        }
    }
    let is_answered = give(&mut respond, reply, &order).await;
    counted.under_way.fetch_sub(1, Ordering::SeqCst);
    counted
        .answered
        .fetch_add(u64::from(is_answered), Ordering::SeqCst);
}

/// Sends one answer; whether it was sent completely.
async fn give(
    respond: &mut SendResponse<Bytes>,
    reply: Reply,
    order: &tokio::sync::mpsc::Sender<Order>,
) -> bool {
    let head = |status: u16| Response::builder().status(status);
    match reply {
        Reply::Answer { status, body } => send_complete(respond, head(status), body).await,
        Reply::Headed {
            status,
            headers,
            body,
            pause,
        } => {
            tokio::time::sleep(pause).await;
            let headed = headers
                .into_iter()
                .fold(head(status), |head, (name, value)| head.header(name, value));
            send_complete(respond, headed, body).await
        }
        Reply::Early(body) => send_complete(respond, head(200), body).await,
        Reply::Informed(body) => {
            respond
                .send_informational(head(103).body(()).expect("an answer"))
                .expect("an open stream");
            send_complete(respond, head(200), body).await
        }
        Reply::Announced(length, body) => {
            send_complete(respond, head(200).header("content-length", length), body).await
        }
        Reply::Encoded(coding, body) => {
            send_complete(respond, head(200).header("content-encoding", coding), body).await
        }
        Reply::LongHead(length) => {
            let head = head(200).header("x-long", "x".repeat(length));
            send_complete(respond, head, Bytes::new()).await
        }
        Reply::Trailers(body) => {
            let mut stream = respond
                .send_response(head(200).body(()).expect("an answer"), false)
                .expect("an open stream");
            let mut trailers = http::HeaderMap::new();
            trailers.insert("x-sum", "1".parse().expect("a value of a header"));
            stream.send_data(body, false).is_ok() && stream.send_trailers(trailers).is_ok()
        }
        Reply::Reset(reason) => {
            respond.send_reset(reason);
            false
        }
        Reply::HalfThenReset(body, reason) => {
            send_half(respond, head(200), body, reason).await;
            false
        }
        Reply::GoAway(body) => {
            order.send(Order::GoAway).await.expect("a connection");
            send_complete(respond, head(200), body).await
        }
        Reply::Abort(reason) => {
            let sent = order.send(Order::Abort(reason)).await;
            sent.expect("a connection");
            std::future::pending().await
        }
        Reply::Drop => {
            order.send(Order::Drop).await.expect("a connection");
            std::future::pending().await
        }
        Reply::Silence => std::future::pending().await,
        Reply::After(pause, body) => {
            tokio::time::sleep(pause).await;
            send_complete(respond, head(200), body).await
        }
    }
}

/// Sends the head and a part of the body, then resets the stream.
async fn send_half(
    respond: &mut SendResponse<Bytes>,
    head: http::response::Builder,
    body: Bytes,
    reason: Reason,
) {
    let mut stream = respond
        .send_response(head.body(()).expect("an answer"), false)
        .expect("an open stream");
    stream.send_data(body, false).expect("an open stream");
    // A reset discards pending bytes: a part arrives only after it was sent.
    stream.reserve_capacity(1);
    let _ = std::future::poll_fn(|context| stream.poll_capacity(context)).await;
    stream.send_reset(reason);
}

async fn send_complete(
    respond: &mut SendResponse<Bytes>,
    head: http::response::Builder,
    body: Bytes,
) -> bool {
    let Ok(mut stream) = respond.send_response(head.body(()).expect("an answer"), body.is_empty())
    else {
        return false;
    };
    body.is_empty() || stream.send_data(body, true).is_ok()
}

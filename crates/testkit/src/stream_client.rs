//! An HTTP/2 client by the `h2` crate, with or without TLS, whose calls wait.

use std::{future::poll_fn, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use h2::{
    SendStream,
    client::{Builder, Connection, ResponseFuture, SendRequest},
};
use http::{HeaderMap, Request};
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    runtime::Runtime,
    task::JoinHandle,
};
use tokio_rustls::TlsConnector;

/// Everything a test waits for happens within this time.
const WITHIN: Duration = Duration::from_secs(60);

/// A connection.
pub struct StreamClient {
    runtime: Runtime,
    sender: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
}

/// An answer; its body is text.
#[derive(Debug)]
pub struct StreamAnswer {
    pub status: u16,
    pub head: HeaderMap,
    pub body: String,
}

impl StreamAnswer {
    /// The value of a field.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.get(name)?.to_str().ok()
    }
}

/// A stream that is not answered.
pub struct OpenStream {
    response: ResponseFuture,
    body: SendStream<Bytes>,
}

impl StreamClient {
    pub fn connect(address: SocketAddr) -> Self {
        Self::connect_with(address, &Builder::new())
    }

    /// With other settings than the usual ones.
    pub fn connect_with(address: SocketAddr, builder: &Builder) -> Self {
        let runtime = runtime();
        let (sender, connection) = run_within(&runtime, async {
            let socket = TcpStream::connect(address).await.expect("a connection");
            start(socket, builder).await
        });
        Self {
            runtime,
            sender,
            connection,
        }
    }

    /// Over TLS, to `localhost`. The server has to choose HTTP/2.
    ///
    /// # Errors
    /// If the handshake fails.
    pub fn connect_tls(address: SocketAddr, mut config: ClientConfig) -> std::io::Result<Self> {
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let runtime = runtime();
        let (sender, connection) = run_within(&runtime, async {
            let socket = TcpStream::connect(address).await?;
            let name = ServerName::try_from("localhost").expect("a name");
            let connector = TlsConnector::from(Arc::new(config));
            let stream = connector.connect(name, socket).await?;
            let chosen = stream.get_ref().1.alpn_protocol();
            assert_eq!(chosen, Some(&b"h2"[..]), "the server chooses HTTP/2");
            Ok::<_, std::io::Error>(start(stream, &Builder::new()).await)
        })?;
        Ok(Self {
            runtime,
            sender,
            connection,
        })
    }

    /// The answer to a request.
    ///
    /// # Errors
    /// If its stream or the connection is reset.
    pub fn ask(&mut self, request: Request<Bytes>) -> Result<StreamAnswer, h2::Error> {
        let mut answers = self.ask_all(vec![request]);
        answers.pop().expect("an answer for each request")
    }

    /// The answers to requests that are sent at once, each on its stream.
    pub fn ask_all(
        &mut self,
        requests: Vec<Request<Bytes>>,
    ) -> Vec<Result<StreamAnswer, h2::Error>> {
        let mut asked = Vec::new();
        for request in requests {
            let (head, body) = request.into_parts();
            let opened = self.open(Request::from_parts(head, ()), body.is_empty());
            asked.push(opened.and_then(|stream| send_all(stream, body)));
        }
        // All are read at the same time, because they share the window of the connection.
        run_within(&self.runtime, async {
            let answers = asked.into_iter().map(finish);
            let answers: Vec<_> = answers.map(tokio::spawn).collect();
            let mut ended = Vec::new();
            for answer in answers {
                ended.push(answer.await.expect("no panic"));
            }
            ended
        })
    }

    /// Begins a request.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn open(&mut self, head: Request<()>, is_end: bool) -> Result<OpenStream, h2::Error> {
        let sender = self.sender.clone();
        let opened = run_within(&self.runtime, async {
            sender.ready().await?.send_request(head, is_end)
        });
        let (response, body) = opened?;
        Ok(OpenStream { response, body })
    }

    /// Waits for the next informational answer (100 to 199); its status.
    ///
    /// # Errors
    /// If the stream or the connection is reset.
    pub fn wait_for_informed(&mut self, stream: &mut OpenStream) -> Result<u16, h2::Error> {
        let response = &mut stream.response;
        let informed = run_within(
            &self.runtime,
            poll_fn(|context| response.poll_informational(context)),
        );
        let informed = informed.expect("an informational answer before the other one");
        Ok(informed?.status().as_u16())
    }

    /// Sends a part of a body.
    ///
    /// # Errors
    /// If the stream is over.
    pub fn send(
        &mut self,
        stream: &mut OpenStream,
        bytes: Bytes,
        is_end: bool,
    ) -> Result<(), h2::Error> {
        stream.body.send_data(bytes, is_end)?;
        // What is queued goes as the connection is driven.
        run_within(&self.runtime, async { tokio::task::yield_now().await });
        Ok(())
    }

    /// Resets a stream.
    pub fn reset(&mut self, mut stream: OpenStream) {
        stream.body.send_reset(h2::Reason::CANCEL);
        run_within(&self.runtime, async { tokio::task::yield_now().await });
    }

    /// Waits for an answer.
    ///
    /// # Errors
    /// If the stream or the connection is reset.
    pub fn answer(&mut self, stream: OpenStream) -> Result<StreamAnswer, h2::Error> {
        run_within(&self.runtime, finish(Ok(stream)))
    }

    /// Waits until the server has closed the connection.
    ///
    /// # Errors
    /// Why it has.
    pub fn wait_for_end(self) -> Result<(), h2::Error> {
        let Self {
            runtime,
            sender,
            connection,
        } = self;
        let ended = run_within(&runtime, connection).expect("no panic");
        drop(sender);
        ended
    }
}

async fn start(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    builder: &Builder,
) -> (SendRequest<Bytes>, JoinHandle<Result<(), h2::Error>>) {
    let handshake: Result<(_, Connection<_, Bytes>), _> = builder.handshake(socket).await;
    let (sender, connection) = handshake.expect("a handshake");
    (sender, tokio::spawn(connection))
}

fn send_all(mut stream: OpenStream, body: Bytes) -> Result<OpenStream, h2::Error> {
    if !body.is_empty() {
        stream.body.send_data(body, true)?;
    }
    Ok(stream)
}

async fn finish(stream: Result<OpenStream, h2::Error>) -> Result<StreamAnswer, h2::Error> {
    let (head, body) = stream?.response.await?.into_parts();
    Ok(StreamAnswer {
        status: head.status.as_u16(),
        head: head.headers,
        body: read(body).await?,
    })
}

async fn read(mut body: h2::RecvStream) -> Result<String, h2::Error> {
    let mut text = Vec::new();
    while let Some(bytes) = body.data().await {
        let bytes = bytes?;
        text.extend_from_slice(&bytes);
        body.flow_control().release_capacity(bytes.len())?;
    }
    Ok(String::from_utf8(text).expect("a body in UTF-8"))
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

fn run_within<T>(runtime: &Runtime, work: impl Future<Output = T>) -> T {
    runtime.block_on(async {
        let ended = tokio::time::timeout(WITHIN, work).await;
        ended.expect("it happens in time")
    })
}

//! What a connection reads and writes: a socket, plain or encrypted, whose end can be seen without reading.

use std::time::Duration;

use tokio::{
    io::{AsyncRead, AsyncWrite, Interest},
    net::TcpStream,
};
use tokio_rustls::server::TlsStream;

/// A client that has closed its side may still read; a call that takes longer than this after it is one of a client that has left.
pub(super) const HALF_CLOSED: Duration = Duration::from_secs(1);

/// A stream over a socket.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {
    fn socket(&self) -> &TcpStream;
}

impl Stream for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl Stream for TlsStream<TcpStream> {
    fn socket(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// Waits until the client has left: the connection is reset, or its side is closed for [`HALF_CLOSED`]. Input that is not read
/// does not hide it.
pub(super) async fn wait_for_departure(socket: &TcpStream) {
    // Sockets are registered for the end of reading, not for urgent data, so that nothing else makes this ready.
    match socket.ready(Interest::PRIORITY).await {
        Ok(ready) if !ready.is_read_closed() => std::future::pending().await,
        Ok(_) if matches!(socket.take_error(), Ok(None)) => tokio::time::sleep(HALF_CLOSED).await,
        Ok(_) | Err(_) => {}
    }
}

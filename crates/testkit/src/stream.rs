//! A connection of a server, with or without TLS.

use std::io::{self, Read, Write};
#[cfg(feature = "tls")]
use std::sync::Arc;

#[cfg(feature = "tls")]
use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};

use crate::Socket;

pub(crate) enum Stream {
    Plain(Socket),
    #[cfg(feature = "tls")]
    Secure(Box<StreamOwned<ServerConnection, Socket>>),
}

impl Stream {
    pub(crate) fn plain(socket: Socket) -> Self {
        Self::Plain(socket)
    }

    #[cfg(feature = "tls")]
    pub(crate) fn secure(socket: Socket, config: Arc<ServerConfig>) -> Self {
        let connection = ServerConnection::new(config).expect("settings of a server");
        Self::Secure(Box::new(StreamOwned::new(connection, socket)))
    }

    /// Whether it resumes an earlier TLS session.
    pub(crate) fn is_resumed(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            #[cfg(feature = "tls")]
            Self::Secure(stream) => stream.conn.handshake_kind() == Some(HandshakeKind::Resumed),
        }
    }

    /// Sends close_notify, and closes.
    pub(crate) fn close_in_order(mut self) {
        self.notify_close();
        self.into_socket().close_in_order();
    }

    /// Sends close_notify, and continues reading; without TLS the same as `close_in_order`.
    pub(crate) fn half_close(mut self) {
        self.notify_close();
        match self {
            Self::Plain(socket) => socket.close_in_order(),
            #[cfg(feature = "tls")]
            Self::Secure(mut stream) => {
                let _ = io::copy(&mut stream.sock, &mut io::sink());
            }
        }
    }

    /// Closes so that written bytes arrive, with TLS without a close_notify.
    pub(crate) fn cut(self) {
        self.into_socket().close_in_order();
    }

    fn notify_close(&mut self) {
        #[cfg(feature = "tls")]
        if let Self::Secure(stream) = self {
            stream.conn.send_close_notify();
            // The peer may be gone.
            let _ = stream.conn.complete_io(&mut stream.sock);
        }
    }

    fn into_socket(self) -> Socket {
        match self {
            Self::Plain(socket) => socket,
            #[cfg(feature = "tls")]
            Self::Secure(stream) => stream.into_parts().1,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            #[cfg(feature = "tls")]
            Self::Secure(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            #[cfg(feature = "tls")]
            Self::Secure(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            #[cfg(feature = "tls")]
            Self::Secure(stream) => stream.flush(),
        }
    }
}

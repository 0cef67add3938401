//! TLS in front of a server that speaks without it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    thread::JoinHandle,
};

use rustls::ServerConfig;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    runtime,
    sync::oneshot,
};
use tokio_rustls::TlsAcceptor;

/// Takes connections with TLS and hands on what they carry; ends when dropped.
pub struct TlsTerminator {
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl TlsTerminator {
    /// Starts it on a free port, in front of a server.
    pub fn start(config: ServerConfig, server: SocketAddr) -> Self {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let listener = runtime
            .block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .expect("a free port");
        let address = listener.local_addr().expect("its address");
        let (end, ended) = oneshot::channel::<()>();
        let accepting = accept(listener, TlsAcceptor::from(Arc::new(config)), server);
        let thread = std::thread::spawn(move || runtime.block_on(run(accepting, ended)));
        Self {
            address,
            end: Some(end),
            thread: Some(thread),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for TlsTerminator {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            // A panic is on stderr already.
            let _ = thread.join();
        }
    }
}

async fn run(accepting: impl Future<Output = ()>, ended: oneshot::Receiver<()>) {
    tokio::select! {
        () = accepting => {}
        _ = ended => {}
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, server: SocketAddr) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(relay(client, acceptor.clone(), server));
    }
}

/// A client that does not trust the certificate ends the connection.
async fn relay(client: TcpStream, acceptor: TlsAcceptor, server: SocketAddr) {
    let (client, server) = (
        acceptor.accept(client).await,
        TcpStream::connect(server).await,
    );
    if let (Ok(mut client), Ok(mut server)) = (client, server) {
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

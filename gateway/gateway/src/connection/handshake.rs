//! The TLS handshake of a connection, limited in number and time.

use std::{
    rc::Rc,
    sync::{Arc, atomic::Ordering},
};

use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{Connection, ending::linger};
use crate::{
    answers::problem::Problem,
    clients::{
        admission::Admission,
        client::Client,
        identity::{audit::Event, certificate::Certificate},
    },
    http1::Persistence,
    tls::{HTTP2, PeerCertificate, Tls},
    worker::Worker,
};

/// The first byte of a TLS connection: a record of the handshake (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

/// Accepts a connection by TLS and serves it.
pub(crate) async fn serve_encrypted(
    worker: Rc<Worker>,
    tls: Arc<Tls>,
    stream: TcpStream,
    admission: Admission,
) {
    let client = Arc::clone(admission.client());
    let Some(open) = OpenHandshake::begin(&client) else {
        tls.counts.refused.fetch_add(1, Ordering::Relaxed);
        return;
    };
    let time = worker.shared.settings.head_timeout;
    let mut draining = worker.drain_begins.clone();
    let accepted = tokio::select! {
        accepted = timeout(time, accept(&worker, &tls, stream)) => accepted,
        // It is closed without an answer, as an idle one is.
        _ = draining.wait_for(|begun| *begun) => return,
    };
    drop(open);
    match accepted.unwrap_or_else(|_| Err("it did not end in time".to_owned())) {
        Ok((stream, certificate)) => {
            tls.counts.done.fetch_add(1, Ordering::Relaxed);
            let is_http2 = stream.get_ref().1.alpn_protocol() == Some(HTTP2);
            let connection = Connection::new(worker, stream, admission, certificate);
            match is_http2 {
                true => connection.run_http2().await,
                false => connection.run().await,
            }
        }
        Err(detail) => {
            tls.counts.failed.fetch_add(1, Ordering::Relaxed);
            let event = Event::HandshakeFailed { detail: &detail };
            let audit = &worker.shared.gate.audit;
            audit.write(event, Some(client.address), None);
        }
    }
}

type Accepted = (TlsStream<TcpStream>, Option<Box<Certificate>>);

/// Waits for its turn, then goes through the handshake.
async fn accept(worker: &Worker, tls: &Arc<Tls>, stream: TcpStream) -> Result<Accepted, String> {
    let turn = tls.turns.acquire().await;
    let _turn = turn.map_err(|error| error.to_string())?;
    // Before the handshake: if the files change meanwhile, the certificate is checked once more.
    let version = tls.version();
    let mut first = [0];
    let length = stream.peek(&mut first).await;
    match length.map_err(|error| error.to_string())? {
        0 => return Err("the client closed the connection".to_owned()),
        _ if first[0] == HANDSHAKE => {}
        _ => {
            refuse_plain(worker, stream).await;
            return Err("the client does not speak TLS".to_owned());
        }
    }
    let accepted = TlsAcceptor::from(tls.config()).accept(stream).await;
    let stream = accepted.map_err(|error| error.to_string())?;
    let certificate = match stream.get_ref().1.peer_certificates() {
        None => None,
        Some(chain) => {
            let peer = PeerCertificate::read(chain);
            let peer = peer.ok_or("the client's certificate cannot be read")?;
            Some(Box::new(Certificate::new(peer, Arc::clone(tls), version)))
        }
    };
    Ok((stream, certificate))
}

/// Tells a client of plain HTTP what is spoken here.
async fn refuse_plain(worker: &Worker, mut stream: TcpStream) {
    let problem = Problem::new(400, "this address is served by TLS alone; use https");
    let mut out = Vec::new();
    worker
        .canned
        .borrow()
        .problem(&mut out, &problem, Persistence::Closed);
    // The client may have disconnected.
    if stream.write_all(&out).await.is_ok() {
        linger(&mut stream).await;
    }
}

/// A handshake that counts for its client until it is dropped.
struct OpenHandshake(Arc<Client>);

impl OpenHandshake {
    fn begin(client: &Arc<Client>) -> Option<Self> {
        let fits = client.handshakes.take(1);
        fits.then(|| Self(Arc::clone(client)))
    }
}

impl Drop for OpenHandshake {
    fn drop(&mut self) {
        self.0.handshakes.give_back(1);
    }
}

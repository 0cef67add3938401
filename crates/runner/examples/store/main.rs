//! A store with a fault, for the tests of probe and ledger. It takes line protocol and serves its records as NDJSON.
//!
//! `store PORT [drop=N] [double=N] [late=N]`: the N-th record is dropped, kept twice, or shown two seconds late. The store prints
//! the key of that record. It listens on the loopback address only and ends with its supervisor.
//!
//! `tls=CERTIFICATE,KEY[,AUTHORITY]` speaks TLS with a certificate and a key in these files; with an authority's, clients need a
//! certificate of it. `own-tls=FILE` speaks TLS with a certificate of an authority of its own, which it writes into the file.
//!
//! With a variable TOKEN in its environment it takes records only with this bearer token. It prints each other one.
//!
//! `folder=FOLDER` keeps objects in that folder (`objects`), and `busy=DIGIT`, `full=N` and `dies=N` say what it refuses.

mod objects;
mod tls;

use std::{
    cell::RefCell,
    convert::Infallible,
    net::Ipv4Addr,
    rc::Rc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use objects::Objects;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

const BODY_MAX_BYTES: usize = 16 * 1024 * 1024;
const LATE_BY: Duration = Duration::from_secs(2);

/// What is wrong with one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Drop,
    Double,
    Late,
}

/// The records in the order in which they became visible.
#[derive(Debug, Default)]
struct Store {
    fault: Option<(Fault, u64)>,
    taken: u64,
    visible: Vec<String>,
    late: Option<(Instant, String)>,
    objects: Objects,
}

type Shared = Rc<RefCell<Store>>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let port: u16 = arguments.next().ok_or("a port is needed")?.parse()?;
    let mut store = Store::default();
    let mut acceptor = None;
    for argument in arguments {
        let (fault, record) = argument.split_once('=').ok_or("expected FAULT=N")?;
        let limits = &mut store.objects.limits;
        let fault = match fault {
            "folder" => {
                let limits = *limits;
                store.objects = Objects::open(record)?;
                store.objects.limits = limits;
                continue;
            }
            "tls" => {
                acceptor = Some(tls::of_files(record)?);
                continue;
            }
            "own-tls" => {
                acceptor = Some(tls::of_own_authority(record)?);
                continue;
            }
            "busy" => {
                limits.busy = Some(record.parse()?);
                continue;
            }
            "full" => {
                limits.full = Some(record.parse()?);
                continue;
            }
            "dies" => {
                limits.dies = Some(record.parse()?);
                continue;
            }
            "drop" => Fault::Drop,
            "double" => Fault::Double,
            "late" => Fault::Late,
            _ => return Err(format!("\"{fault}\" is no fault").into()),
        };
        store.fault = Some((fault, record.parse()?));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(
        &runtime,
        serve(port, acceptor, Rc::new(RefCell::new(store))),
    )?;
    Ok(())
}

async fn serve(port: u16, acceptor: Option<TlsAcceptor>, store: Shared) -> std::io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let (acceptor, store) = (acceptor.clone(), Rc::clone(&store));
        tokio::task::spawn_local(async move {
            match acceptor {
                None => connection(stream, store).await,
                // A client that breaks the handshake off has its reason.
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        connection(stream, store).await;
                    }
                }
            }
        });
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin, store: Shared) {
    let service = service_fn(move |request| answer(request, Rc::clone(&store)));
    // A client that disconnects is not an error of the store.
    http1::Builder::new()
        .pipeline_flush(true)
        .serve_connection(TokioIo::new(stream), service)
        .await
        .ok();
}

async fn answer(
    request: Request<Incoming>,
    store: Shared,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    if path == "/records" && !is_allowed(&request) {
        return Ok(respond(401, String::new()));
    }
    let of_object = store
        .borrow_mut()
        .objects
        .answer(request.method().as_str(), &path);
    if let Some((status, header, body)) = of_object {
        let mut response = respond(status, body);
        if let Some((name, value)) = header {
            let value = hyper::header::HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        }
        return Ok(response);
    }
    let (status, body) = match path.as_str() {
        "/ready" => (200, String::new()),
        "/records" => match Limited::new(request.into_body(), BODY_MAX_BYTES)
            .collect()
            .await
        {
            Ok(body) => {
                store
                    .borrow_mut()
                    .take(&String::from_utf8_lossy(&body.to_bytes()));
                (204, String::new())
            }
            Err(_) => (400, "no whole body".to_owned()),
        },
        _ => match offset_and_limit(&path) {
            Some((offset, limit)) => (200, store.borrow_mut().page(offset, limit)),
            None => (404, String::new()),
        },
    };
    Ok(respond(status, body))
}

#[expect(
    clippy::print_stdout,
    reason = "this is a program; its log is what the test reads"
)]
fn is_allowed(request: &Request<Incoming>) -> bool {
    let Ok(token) = std::env::var("TOKEN") else {
        return true;
    };
    let given = request.headers().get(hyper::header::AUTHORIZATION);
    let is_allowed =
        given.is_some_and(|given| given.as_bytes() == format!("Bearer {token}").as_bytes());
    if !is_allowed {
        println!("{given:?} and not {token}");
    }
    is_allowed
}

fn respond(status: u16, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    response
}

/// `/store/OFFSET/LIMIT`.
fn offset_and_limit(path: &str) -> Option<(usize, usize)> {
    let (offset, limit) = path.strip_prefix("/store/")?.split_once('/')?;
    Some((offset.parse().ok()?, limit.parse().ok()?))
}

impl Store {
    fn take(&mut self, body: &str) {
        for line in body.lines() {
            self.taken += 1;
            let Some(record) = record(line) else { continue };
            match self.fault {
                Some((fault, nth)) if nth == self.taken => self.take_with(fault, record),
                _ => self.visible.push(record),
            }
        }
    }

    #[expect(
        clippy::print_stdout,
        reason = "this is a program; its log is what the test compares with"
    )]
    fn take_with(&mut self, fault: Fault, record: String) {
        println!("{fault:?} {record}");
        match fault {
            Fault::Drop => {}
            Fault::Double => self.visible.extend([record.clone(), record]),
            Fault::Late => self.late = Some((Instant::now() + LATE_BY, record)),
        }
    }

    fn page(&mut self, offset: usize, limit: usize) -> String {
        if let Some((_, record)) = self.late.take_if(|(due, _)| *due <= Instant::now()) {
            self.visible.push(record);
        }
        let rows = self.visible.iter().enumerate().skip(offset).take(limit);
        rows.map(|(offset, record)| format!("{{\"offset\":{offset},{record}}}\n"))
            .collect()
    }
}

/// The stamps of a line, in the form in which they are served: run, key and time.
fn record(line: &str) -> Option<String> {
    let after = |mark: &str| Some(line.split_once(mark)?.1);
    let run = after("waggle_run=")?.split([',', ' ']).next()?;
    let key = after("waggle_key=")?.split('i').next()?;
    let time = line.rsplit_once(' ')?.1;
    Some(format!("\"run\":\"{run}\",\"key\":{key},\"time\":{time}"))
}

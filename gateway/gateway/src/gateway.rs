//! The server's life cycle: one thread accepts connections and distributes them, workers serve them, a committer writes.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, Semaphore, mpsc},
};
use waggle_service::{admin, log};

use crate::{
    answers::{answer::Canned, problem::Problem},
    calls,
    clients::{
        admission::{Admission, NotAdmitted},
        client::Clients,
        identity::{Gate, Identities, audit::Event, pages::Pages},
        memory::ClientMax,
    },
    connection,
    error::ServeError,
    http1::Persistence,
    ingest::UniqueClock,
    log::backend::Backend,
    metrics::Gauges,
    queries::database::Database,
    settings::Settings,
    shared::Shared,
    tls::Tls,
    watch::{Watched, watch},
    worker::{self, Dealt, Start},
};

/// Connections given to a worker that it has not taken over yet.
const DEALT_MAX: usize = 1024;
/// Pause after a failed accept (usually too few file descriptors).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Refused connections that are read at once until their clients have the answer.
const REFUSING_MAX: usize = 64;
/// Most bytes of answers that the kernel keeps besides those that are on their way.
const UNSENT_MAX_BYTES: u32 = 64 * 1024;
/// Time for reads that still run when everything else has ended.
const READERS_END: Duration = Duration::from_secs(1);

/// Serves until `shutdown` is ready. Then answers open requests within `--drain-timeout` and closes the store. `token` is
/// InfluxDB's, if no file has it.
///
/// # Errors
/// If settings contradict each other, or the log, the address or a thread is not available; nothing is served then. If the log
/// fails for good (the committer panics, Kafka's client has a fatal error) or a worker ends: open requests are answered, no others.
/// `listening` gets the URL.
pub async fn serve(
    settings: Settings,
    token: Option<String>,
    listening: impl FnOnce(String),
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    settings.check_exposure()?;
    let gate = Arc::new(gate(&settings)?);
    let tls = Tls::open(&settings.tls)?.map(Arc::new);
    let settled: Vec<Arc<Notify>> = (0..settings.workers).map(|_| Arc::default()).collect();
    let database = Database::open(&settings, token)?;
    let (backend, ending) = Backend::open(&settings, &settled)?;
    let (listener, address) = listen(settings.listen).await?;
    let for_admin = match settings.admin_listen {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    let shared = Arc::new(Shared {
        workers: settled.iter().map(|_| Arc::default()).collect(),
        backend,
        database,
        clients: Clients::default(),
        gate,
        tls,
        clock: UniqueClock::default(),
        gauges: Gauges::default(),
        draining: AtomicBool::new(false),
        settings,
    });
    let (begin_draining, draining) = tokio::sync::watch::channel(false);
    let worker_ended = Arc::<Notify>::default();
    let (dealers, threads) = start_workers(&shared, &settled, &draining, &worker_ended)?;
    let watching = watch_files(&shared);
    let admin = for_admin.map(|(listener, address)| {
        log::note(format_args!("admin calls at http://{address}"));
        tokio::spawn(admin::serve(listener, calls::admin_router(&shared)))
    });
    if shared.settings.sends_tokens_in_clear() {
        log::warn(format_args!(
            "tokens come in clear text over the network: expected --tls-cert, or a proxy that encrypts"
        ));
    }
    let scheme = if shared.tls.is_some() {
        "https"
    } else {
        "http"
    };
    listening(format!("{scheme}://{address}"));
    let mut served = Ok(());
    tokio::select! {
        () = accept(&shared, &listener, &dealers) => {}
        () = shutdown => {}
        () = shared.backend.wait_until_ended() => log::warn(format_args!("the log has failed")),
        () = worker_ended.notified() => served = Err(ServeError::WorkerEnded),
    }
    log::note(format_args!("draining"));
    drop(listener);
    drop(dealers);
    shared.draining.store(true, Ordering::Relaxed);
    shared.backend.drain_quickly();
    // A worker that has ended does not receive it.
    let _ = begin_draining.send(true);
    // Not on this thread, which answers admin calls.
    let joined = tokio::task::spawn_blocking(|| {
        let ends = threads.into_iter().map(std::thread::JoinHandle::join);
        ends.filter(Result::is_err).count()
    });
    if joined.await.is_ok_and(|fallen| fallen > 0) {
        log::warn(format_args!("a worker panicked"));
    }
    shared.backend.close();
    let ended = ending.wait();
    for task in admin.into_iter().chain(watching) {
        task.abort();
    }
    ended.and(served)
}

/// What decides who may send requests.
fn gate(settings: &Settings) -> Result<Gate, ServeError> {
    let client_max = ClientMax::new(settings);
    let file = settings.clients.as_deref();
    let identities = file.map(|file| Identities::open(file, client_max));
    Ok(Gate {
        identities: identities.transpose()?.map(Arc::new),
        pages: Pages {
            hosts: settings.allowed_hosts.clone(),
            origins: settings.allowed_origins.clone(),
        },
        ..Gate::default()
    })
}

/// Begins to read again what changes: files, and the keys of issuers.
fn watch_files(shared: &Shared) -> Vec<tokio::task::JoinHandle<()>> {
    let gate = Arc::clone(&shared.gate) as Arc<dyn Watched>;
    let clients = shared.gate.identities.as_ref().map(|_| gate);
    let tls = shared.tls.clone().map(|tls| tls as Arc<dyn Watched>);
    let watched: Vec<_> = clients.into_iter().chain(tls).collect();
    let keys = shared.gate.identities.clone().map(Identities::refresh_keys);
    let keys = keys.map(tokio::spawn);
    keys.into_iter()
        .chain([tokio::spawn(watch(watched))])
        .collect()
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

type Dealers = Vec<mpsc::Sender<Dealt>>;
type Threads = Vec<std::thread::JoinHandle<()>>;

fn start_workers(
    shared: &Arc<Shared>,
    settled: &[Arc<Notify>],
    draining: &tokio::sync::watch::Receiver<bool>,
    ended: &Arc<Notify>,
) -> Result<(Dealers, Threads), ServeError> {
    let router = calls::router(shared);
    let (mut dealers, mut threads) = (Vec::new(), Vec::new());
    for (number, settled) in (0..).zip(settled) {
        let (dealer, connections) = mpsc::channel(DEALT_MAX);
        let start = Start {
            number,
            shared: Arc::clone(shared),
            metrics: Arc::clone(&shared.workers[number as usize]),
            router: router.clone(),
            settled: Arc::clone(settled),
            connections,
            draining: draining.clone(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(shared.settings.query_concurrency)
            .build()
            .map_err(ServeError::Worker)?;
        let work = move || {
            runtime.block_on(worker::run(start));
            runtime.shutdown_timeout(READERS_END);
        };
        dealers.push(dealer);
        threads.push(start_worker(number, ended, work).map_err(ServeError::Worker)?);
    }
    Ok((dealers, threads))
}

/// Notifies when it is dropped: the thread that owns it has ended, possibly by a panic.
struct NotifyAtEnd(Arc<Notify>);

impl Drop for NotifyAtEnd {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// Starts a worker's thread; `ended` is notified when it ends. Its share of the connections would not be served after that, so
/// the process must not go on.
fn start_worker(
    number: u32,
    ended: &Arc<Notify>,
    work: impl FnOnce() + Send + 'static,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    let at_end = NotifyAtEnd(Arc::clone(ended));
    std::thread::Builder::new()
        .name(format!("worker-{number}"))
        .spawn(move || {
            let _at_end = at_end;
            work();
        })
}

/// Accepts connections forever and distributes them to the workers in turn.
async fn accept(shared: &Arc<Shared>, listener: &TcpListener, dealers: &Dealers) {
    let mut turn = 0;
    let refusing = Arc::new(Semaphore::new(REFUSING_MAX));
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                log::warn(format_args!("accepting a connection: {error}"));
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        turn = (turn + 1) % dealers.len();
        let problem = match Admission::new(shared, peer.ip()) {
            Err(NotAdmitted::ClientFull) => too_many_of_client(shared, peer.ip()),
            Err(NotAdmitted::Full) => too_many_connections(),
            Ok(admission) => match dealers[turn].try_reserve() {
                Ok(permit) => {
                    deal(permit, stream, admission);
                    continue;
                }
                Err(_) => too_many_connections(),
            },
        };
        let refused = &shared.gauges.connections_refused;
        refused.fetch_add(1, Ordering::Relaxed);
        turn_away(stream, &problem, &refusing);
    }
}

/// Refuses a connection whose client has too many already; the audit has a line of it.
fn too_many_of_client(shared: &Shared, address: IpAddr) -> Problem {
    let detail = "too many connections of this client are open; use them for further requests";
    let event = Event::Refused {
        status: 429,
        detail,
    };
    shared.gate.audit.write(event, Some(address), None);
    Problem::new(429, detail)
}

fn too_many_connections() -> Problem {
    Problem::new(503, "too many connections are open; try again")
}

/// Gives the connection to a worker.
fn deal(permit: mpsc::Permit<'_, Dealt>, stream: TcpStream, admission: Admission) {
    // Answers are small and written at once: Nagle's algorithm would only delay them.
    // What the kernel takes and cannot send yet would hide for long that a slow client reads (--write-timeout).
    let prepared = stream
        .set_nodelay(true)
        .and_then(|()| SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT_MAX_BYTES))
        .and_then(|()| stream.into_std());
    // Else the client has disconnected.
    if let Ok(stream) = prepared {
        permit.send(Dealt { stream, admission });
    }
}

/// Answers with a problem, as far as it fits into the socket's empty buffer, and closes the connection. Requests that arrive
/// meanwhile are read, as long as not too many are refused at once: a connection that is closed with unread input is reset, and the
/// client does not see the answer.
fn turn_away(mut stream: TcpStream, problem: &Problem, refusing: &Arc<Semaphore>) {
    let mut canned = Canned::default();
    canned.renew(std::time::SystemTime::now());
    let mut out = Vec::new();
    canned.problem(&mut out, problem, Persistence::Closed);
    // The client may have disconnected.
    let _ = stream.try_write(&out);
    if let Ok(permit) = Arc::clone(refusing).try_acquire_owned() {
        tokio::spawn(async move {
            connection::linger(&mut stream).await;
            drop(permit);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_worker_is_noticed_also_after_a_panic() {
        for work in [|| (), || panic!("as a bug would")] {
            let ended = Arc::<Notify>::default();
            let thread = start_worker(0, &ended, work).unwrap();
            ended.notified().await;
            // The panic is this test's.
            let _ = thread.join();
        }
    }
}

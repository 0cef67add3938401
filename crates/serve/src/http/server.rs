//! Listens, and answers each connection within limits.

use std::{fs, io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use axum::{
    Router,
    middleware::from_fn_with_state,
    routing::{get, post},
};
use http::StatusCode;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};

use super::{
    compared, guard, launches, live, login,
    reply::Problem,
    runs,
    state::{Backend, Launching, Parts, State},
};
use crate::runs::index::Index;

/// Connections at once; further ones wait. A browser has six, and each page that shows what goes on keeps one.
const CONNECTIONS_MAX: usize = 128;
/// From the start of a connection, or the end of an answer, to the end of the next head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// After a connection that could not be accepted, usually for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Shortest token: nobody tries so many.
const TOKEN_MIN_LETTERS: usize = 16;

/// How a folder is served.
#[derive(Debug, Clone)]
pub struct Settings {
    pub listen: SocketAddr,
    /// The folder of runs.
    pub folder: PathBuf,
    /// The file of the index; `None`: it is kept in memory alone.
    pub index_file: Option<PathBuf>,
    /// `None`: nothing can be started.
    pub launching: Option<Launching>,
    /// Notes can be written.
    pub may_note: bool,
    /// Must be shown by everybody; required beyond loopback.
    pub token: Option<String>,
    /// Names by which the server is reached.
    pub host_names: Vec<String>,
}

/// Why the folder is not served.
#[derive(Debug)]
pub enum ServerError {
    Folder {
        folder: PathBuf,
        problem: io::Error,
    },
    Listen {
        address: SocketAddr,
        problem: io::Error,
    },
    /// An address beyond loopback without a token.
    NoToken {
        address: SocketAddr,
    },
    ShortToken,
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder { folder, problem } => {
                write!(
                    out,
                    "cannot serve {}: {problem}; expected a folder of runs",
                    folder.display()
                )
            }
            Self::Listen { address, problem } => {
                write!(out, "cannot listen at {address}: {problem}")
            }
            Self::NoToken { address } => write!(
                out,
                "{address} can be reached from other machines: expected a token, in a file that --token-file names or in WAGGLE_SERVE_TOKEN"
            ),
            Self::ShortToken => write!(
                out,
                "the token is too short: expected {TOKEN_MIN_LETTERS} letters at least, in one line"
            ),
        }
    }
}

impl std::error::Error for ServerError {}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    state: Arc<State>,
}

impl Server {
    /// Listens at the address.
    ///
    /// # Errors
    /// See [`ServerError`].
    pub async fn bind(settings: Settings, backend: Backend) -> Result<Self, ServerError> {
        let address = settings.listen;
        check_token(&settings)?;
        let read = fs::canonicalize(&settings.folder)
            .and_then(|folder| fs::read_dir(&folder).map(|_| folder));
        let folder = read.map_err(|problem| ServerError::Folder {
            folder: settings.folder.clone(),
            problem,
        })?;
        let failed = |problem| ServerError::Listen { address, problem };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let parts = Parts {
            index: Index::new(&folder, settings.index_file),
            folder,
            launching: settings.launching,
            may_note: settings.may_note,
            access_token: settings.token,
            host_names: settings.host_names,
        };
        Ok(Self {
            listener,
            address,
            state: Arc::new(State::new(parts, backend)),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown`; what is being answered then is cut.
    pub async fn run(self, shutdown: impl Future) {
        let router = router(&self.state);
        tokio::select! {
            () = accept(&self.listener, &router) => {}
            _ = shutdown => {}
        }
    }
}

fn check_token(settings: &Settings) -> Result<(), ServerError> {
    match &settings.token {
        None if settings.listen.ip().is_loopback() => Ok(()),
        None => Err(ServerError::NoToken {
            address: settings.listen,
        }),
        Some(token) => {
            let is_long = token.chars().count() >= TOKEN_MIN_LETTERS;
            let is_line = !token.contains(char::is_control);
            match is_long && is_line {
                true => Ok(()),
                false => Err(ServerError::ShortToken),
            }
        }
    }
}

fn router(state: &Arc<State>) -> Router {
    Router::new()
        .route("/", get(runs::list))
        .route("/favicon.ico", get(no_icon))
        .route("/login", get(login::show).post(login::check))
        .route("/runs/{run}", get(runs::run))
        .route("/runs/{run}/report", get(runs::report))
        .route("/runs/{run}/notes", post(runs::note))
        .route("/runs/{run}/live", get(live::run_page))
        .route("/runs/{run}/events", get(live::run_events))
        .route("/live/{pid}", get(live::process_page))
        .route("/live/{pid}/events", get(live::process_events))
        .route("/compare", get(compared::compare))
        .route("/history", get(compared::history))
        .route("/studies", get(launches::list))
        .route("/studies/form", get(launches::form))
        .route("/studies/plan", post(launches::plan))
        .route("/studies/start", post(launches::start))
        .route("/queue", get(launches::queue))
        .route("/queue/stop", post(launches::stop))
        .route("/queue/drop", post(launches::drop_waiting))
        .fallback(no_page)
        .layer(from_fn_with_state(Arc::clone(state), guard::guard))
        .with_state(Arc::clone(state))
}

async fn no_icon() -> StatusCode {
    StatusCode::NO_CONTENT
}

async fn no_page() -> Problem {
    Problem::not_found("there is no such page")
}

async fn accept(listener: &TcpListener, router: &Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut open = JoinSet::new();
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = open.join_next() => continue,
        };
        match accepted {
            Ok((stream, _)) => {
                let router = router.clone();
                open.spawn(async move {
                    answer(stream, router).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn answer(stream: TcpStream, router: Router) {
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // A client that disconnects needs no answer.
    serving.await.ok();
}

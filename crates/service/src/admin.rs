//! The admin listener: it answers probes and metrics alone, independently of the load on the main listener.

use std::{collections::VecDeque, time::Duration};

use axum::{Router, routing::get};
use hyper::{header, server::conn::http1};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};

use crate::{log, metrics::MEDIA_TYPE};

/// Most connections at once; a further one takes the place of the oldest.
const CONNECTIONS_MAX: usize = 64;
/// Timeout of a connection, which has one request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failed accept (usually too few file descriptors).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A router with one page of metrics, which `render` makes for each request: `GET /metrics`.
pub fn metrics_router(render: impl Fn() -> String + Clone + Send + Sync + 'static) -> Router {
    let page = move || std::future::ready(([(header::CONTENT_TYPE, MEDIA_TYPE)], render()));
    Router::new().route("/metrics", get(page))
}

/// Answers one request on each connection, until it is dropped.
pub async fn serve(listener: TcpListener, router: Router) {
    serve_until(listener, router, std::future::pending::<()>()).await;
}

/// Answers one request on each connection until `shutdown`; then returns when the open connections have ended.
pub async fn serve_until(listener: TcpListener, router: Router, shutdown: impl Future) {
    let mut open = Open::default();
    tokio::select! {
        () = accept(&listener, &router, &mut open) => {}
        _ = shutdown => {}
    }
    drop(listener);
    while open.connections.join_next().await.is_some() {}
}

/// The open connections.
#[derive(Default)]
struct Open {
    connections: JoinSet<()>,
    /// The same, the oldest first; some may have ended.
    order: VecDeque<AbortHandle>,
}

impl Open {
    /// Adds a connection. The oldest one makes room for it: connections that say nothing must not keep probes away.
    fn add(&mut self, connection: impl Future<Output = ()> + Send + 'static) {
        if self.order.len() >= CONNECTIONS_MAX {
            self.order.retain(|connection| !connection.is_finished());
        }
        if self.order.len() >= CONNECTIONS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            oldest.abort();
        }
        self.order.push_back(self.connections.spawn(connection));
    }
}

async fn accept(listener: &TcpListener, router: &Router, open: &mut Open) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = open.connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, _)) => open.add(answer(stream, router.clone())),
            Err(error) => {
                log::warn(format_args!("accepting an admin connection: {error}"));
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Answers the request of a connection.
async fn answer(stream: TcpStream, router: Router) {
    let serving = http1::Builder::new()
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // A client that is too slow, or disconnects, retries.
    let _ = tokio::time::timeout(ANSWER_TIMEOUT, serving).await;
}

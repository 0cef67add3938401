//! The admin listener: it answers probes and metrics alone, independently of the load on the main listener.

use std::{sync::Arc, time::Duration};

use axum::{Router, routing::get};
use hyper::{header, server::conn::http1};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tokio::{net::TcpListener, sync::Semaphore};

use crate::{log, metrics::MEDIA_TYPE};

/// Most connections at once; further ones wait to be accepted.
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
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    tokio::select! {
        () = accept(&listener, &router, &room) => {}
        _ = shutdown => {}
    }
    drop(listener);
    let all = u32::try_from(CONNECTIONS_MAX).expect("a small number");
    // It is never closed.
    let _ = room.acquire_many(all).await;
}

async fn accept(listener: &TcpListener, router: &Router, room: &Arc<Semaphore>) {
    // It is never closed.
    while let Ok(permit) = Arc::clone(room).acquire_owned().await {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                log::warn(format_args!("accepting an admin connection: {error}"));
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let _permit = permit;
            let serving = http1::Builder::new()
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // A client that is too slow, or disconnects, retries.
            let _ = tokio::time::timeout(ANSWER_TIMEOUT, serving).await;
        });
    }
}

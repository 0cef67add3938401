//! The admin listener: it answers probes and metrics alone, independently of the load on the main listener.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::log;

/// Most connections at once; further ones wait to be accepted.
const CONNECTIONS_MAX: usize = 64;
/// Timeout of a connection, which has one request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failed accept (usually too few file descriptors).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Answers one request on each connection, until it is dropped.
pub async fn serve(listener: TcpListener, router: Router) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    // It is never closed.
    while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
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

//! Admin calls: liveness, readiness, metrics.

use std::{sync::Arc, time::Instant};

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{StatusCode, header};
use waggle_service::metrics::MEDIA_TYPE;

use crate::shared::Shared;

/// The router of the admin calls.
pub(crate) fn router(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route("/healthz", get(async || "alive\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(Arc::clone(shared))
}

/// 200 while records go from Kafka to the database, else 503 with the reason.
async fn readyz(State(shared): State<Arc<Shared>>) -> Response {
    match shared.health.problem() {
        None => "ready\n".into_response(),
        Some(problem) => (StatusCode::SERVICE_UNAVAILABLE, format!("{problem}\n")).into_response(),
    }
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let fill = shared.backlog.fill(Instant::now());
    let is_ready = shared.health.problem().is_none();
    let page = shared.metrics.exposition(fill, is_ready, &shared.access);
    ([(header::CONTENT_TYPE, MEDIA_TYPE)], page).into_response()
}

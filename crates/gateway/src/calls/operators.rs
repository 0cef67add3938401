//! For operators: is it alive, does it take records, what does it count.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use waggle_service::metrics::MEDIA_TYPE;

use crate::exposition::exposition;
use crate::problem::Problem;
use crate::shared::Shared;

/// Is the process alive
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "operators",
    responses((status = 200, description = "It is", body = String, content_type = "text/plain", example = "alive\n"))
)]
pub(super) async fn healthz() -> &'static str {
    "alive\n"
}

/// Does it take records
///
/// Not while it drains after SIGTERM, and not after the log could not be written, until it can again.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operators",
    responses(
        (status = 200, description = "It does", body = String, content_type = "text/plain", example = "ready\n"),
        (status = 503, description = "It does not", body = crate::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
    )
)]
pub(super) async fn readyz(State(shared): State<Arc<Shared>>) -> Result<&'static str, Problem> {
    if shared.draining.load(Ordering::Relaxed) {
        return Err(Problem::new(503, "the gateway is shutting down"));
    }
    shared.backend.is_ready()?;
    Ok("ready\n")
}

/// What the gateway counts, as Prometheus reads it
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "operators",
    responses((status = 200, description = "OpenMetrics text", body = String, content_type = "application/openmetrics-text"))
)]
pub(super) async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    ([(header::CONTENT_TYPE, MEDIA_TYPE)], exposition(&shared)).into_response()
}

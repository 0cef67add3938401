//! Admin calls: liveness, readiness, metrics.

use std::sync::{Arc, atomic::Ordering};

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::header;
use waggle_service::metrics::MEDIA_TYPE;

use crate::{answers::problem::Problem, metrics::exposition::exposition, shared::Shared};

/// Liveness
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "admin",
    responses((status = 200, description = "The process is alive", body = String, content_type = "text/plain", example = "alive\n"))
)]
pub(super) async fn healthz() -> &'static str {
    "alive\n"
}

/// Readiness
///
/// Not ready while it drains after SIGTERM, and while the log cannot be written.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "admin",
    responses(
        (status = 200, description = "It accepts records", body = String, content_type = "text/plain", example = "ready\n"),
        (status = 503, description = "It does not accept records", body = crate::answers::problem::ProblemBody, content_type = "application/problem+json", headers(("Retry-After" = u32, description = "Seconds"))),
    )
)]
pub(super) async fn readyz(State(shared): State<Arc<Shared>>) -> Result<&'static str, Problem> {
    if shared.draining.load(Ordering::Relaxed) {
        return Err(Problem::new(503, "the gateway is shutting down"));
    }
    shared.backend.is_ready()?;
    Ok("ready\n")
}

/// Metrics in OpenMetrics format
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "admin",
    responses((status = 200, description = "OpenMetrics text", body = String, content_type = "application/openmetrics-text"))
)]
pub(super) async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    ([(header::CONTENT_TYPE, MEDIA_TYPE)], exposition(&shared)).into_response()
}

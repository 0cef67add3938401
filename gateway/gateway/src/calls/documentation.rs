//! The OpenAPI document, and a page that shows it. The page is self-contained; it loads nothing from other hosts.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{Html, IntoResponse, Response},
};
use http::header;

use super::documented_routes;
use crate::{answers::problem::Problem, shared::Shared};

const PAGE: &str = include_str!("documentation.html");
/// The placeholder of the document in the page.
const PLACE: &str = "{{openapi}}";

/// The page may run only its own script, and connect only to this gateway.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
     connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A page that shows this document
#[utoipa::path(
    get,
    path = "/documentation",
    tag = "documentation",
    responses((status = 200, description = "A self-contained page", body = String, content_type = "text/html"))
)]
pub(super) async fn page(State(shared): State<Arc<Shared>>) -> Response {
    // Inside a script element only "</" could end it early.
    let page = PAGE.replace(
        PLACE,
        &super::openapi(&shared.settings).replace("</", "<\\/"),
    );
    ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(page)).into_response()
}

/// This document as JSON
#[utoipa::path(
    get,
    path = "/documentation/json",
    tag = "documentation",
    responses((status = 200, description = "OpenAPI 3.1", body = Object, content_type = "application/json"))
)]
pub(super) async fn json(State(shared): State<Arc<Shared>>) -> Response {
    (
        [(header::CONTENT_TYPE, "application/json")],
        super::openapi(&shared.settings),
    )
        .into_response()
}

/// This document as YAML
#[utoipa::path(
    get,
    path = "/documentation/yaml",
    tag = "documentation",
    responses((status = 200, description = "OpenAPI 3.1", body = Object, content_type = "application/yaml"))
)]
pub(super) async fn yaml(State(shared): State<Arc<Shared>>) -> Result<Response, Problem> {
    let text = documented_routes(&shared.settings)
        .into_openapi()
        .to_yaml()
        .map_err(|_| Problem::new(500, "the document cannot be written as YAML"))?;
    Ok(([(header::CONTENT_TYPE, "application/yaml")], text).into_response())
}

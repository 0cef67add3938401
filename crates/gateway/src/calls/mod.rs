//! The calls that the router answers, and the OpenAPI document from the same declarations.

mod admin;
mod documentation;
pub(crate) mod latest;
mod parameters;
mod query;
mod records;
mod store_read;

use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, Uri, header};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::ingest;
use crate::problem::{PlacedProblem, Problem, ProblemBody};
use crate::shared::Shared;

pub(crate) use store_read::AnswerMemory;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "waggle-gateway",
        description = "Accepts readings, answers when they are durable, and serves reads and queries of them.\n\n\
            A *topic* is a log of records, numbered from offset 0 in the order in which they became durable. \
            Its first record creates it. Times are nanoseconds since 1970-01-01T00:00:00Z.\n\n\
            Errors are RFC 9457 problems. `Retry-After` of 429 and 503 says when to retry. Nothing of such a request was \
            stored, with one exception: with `--backend kafka`, if the broker has not acknowledged in time, records may be \
            in the log nevertheless, and the problem says so.",
    ),
    paths(records::write_records),
    components(schemas(ProblemBody, PlacedProblem)),
    tags(
        (name = "records", description = "Write records to a topic and read them back"),
        (name = "query", description = "Query records by measurement, time and tags"),
        (name = "admin", description = "Health, readiness, metrics"),
        (name = "documentation", description = "This document"),
    )
)]
struct Api;

fn documented_routes() -> OpenApiRouter<Arc<Shared>> {
    let mut api = Api::openapi();
    // One function documents both methods; their names must differ.
    for item in api.paths.paths.values_mut() {
        if let Some(put) = &mut item.put {
            put.operation_id = Some("put_records".to_owned());
        }
        if let Some(post) = &mut item.post {
            post.operation_id = Some("post_records".to_owned());
        }
    }
    OpenApiRouter::with_openapi(api)
        .routes(routes!(records::read_records))
        .routes(routes!(latest::read_latest))
        .routes(routes!(query::query, query::pass_query))
        .routes(routes!(admin::healthz))
        .routes(routes!(admin::readyz))
        .routes(routes!(admin::metrics))
        .routes(routes!(documentation::page))
        .routes(routes!(documentation::json))
        .routes(routes!(documentation::yaml))
}

/// The OpenAPI document, as JSON.
pub fn openapi() -> String {
    documented_routes()
        .into_openapi()
        .to_pretty_json()
        .expect("strings and numbers are always JSON")
}

/// The router of all calls but writes of records.
pub(crate) fn router(shared: &Arc<Shared>) -> Router {
    let (router, _) = documented_routes().split_for_parts();
    router
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
        .with_state(Arc::clone(shared))
}

/// The router of the admin calls alone.
pub(crate) fn admin_router(shared: &Arc<Shared>) -> Router {
    let (router, _) = OpenApiRouter::new()
        .routes(routes!(admin::healthz))
        .routes(routes!(admin::readyz))
        .routes(routes!(admin::metrics))
        .split_for_parts();
    router
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
        .with_state(Arc::clone(shared))
}

async fn not_found(uri: Uri) -> Problem {
    Problem::new(
        404,
        format!("there is no {}; see /documentation", uri.path()),
    )
}

async fn method_not_allowed(method: Method, uri: Uri) -> Response {
    let mut response =
        Problem::new(405, format!("{} does not allow {method}", uri.path())).into_response();
    // The connections handle writes of records, so the router does not know these methods.
    if ingest::records_target(uri.path()).is_some() {
        let allowed = HeaderValue::from_static("GET,HEAD,POST,PUT");
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

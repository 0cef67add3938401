//! The calls that the router answers, and the OpenAPI document made of the same declarations.

mod documentation;
pub(crate) mod last;
mod operators;
mod parameters;
mod query;
mod reading;
mod records;

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

pub(crate) use reading::Held;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "waggle-gateway",
        description = "Takes readings, makes them durable before it says so, and gives them back.\n\n\
            A *topic* is a log of records, numbered from offset 0 in the order in which they became durable. \
            It comes to be with its first record. Times are nanoseconds since 1970-01-01T00:00:00Z.\n\n\
            Errors are RFC 9457 problems. `Retry-After` of 429 and 503 says when to try again. Nothing of such a request was \
            kept, with one exception: with `--backend kafka`, where the broker's word did not come in time, records may be \
            in the log all the same, and the problem says so.",
    ),
    paths(records::write_records),
    components(schemas(ProblemBody, PlacedProblem)),
    tags(
        (name = "records", description = "Write records to a topic and read them back"),
        (name = "query", description = "Ask for records by measurement, time and tags"),
        (name = "operators", description = "Health, readiness, metrics"),
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
        .routes(routes!(last::read_latest))
        .routes(routes!(query::query, query::pass_query))
        .routes(routes!(operators::healthz))
        .routes(routes!(operators::readyz))
        .routes(routes!(operators::metrics))
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

/// The router of everything but taking records.
pub(crate) fn router(shared: &Arc<Shared>) -> Router {
    let (router, _) = documented_routes().split_for_parts();
    router
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
        .with_state(Arc::clone(shared))
}

/// The router of operators' calls alone.
pub(crate) fn operators_router(shared: &Arc<Shared>) -> Router {
    let (router, _) = OpenApiRouter::new()
        .routes(routes!(operators::healthz))
        .routes(routes!(operators::readyz))
        .routes(routes!(operators::metrics))
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
        Problem::new(405, format!("{} does not take {method}", uri.path())).into_response();
    // Taking records is not the router's, so it does not know of these.
    if ingest::records_target(uri.path()).is_some() {
        let allowed = HeaderValue::from_static("GET,HEAD,POST,PUT");
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

//! The calls that the router answers, and the OpenAPI document from the same declarations.

mod admin;
mod documentation;
mod influx_calls;
pub(crate) mod latest;
mod optional;
mod parameters;
mod query;
mod records;
mod schemas;
mod store_read;
mod topics;

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, Uri, header};
use utoipa::{
    OpenApi,
    openapi::{
        ResponseBuilder,
        security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme},
    },
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    answers::problem::{PlacedProblem, Problem, ProblemBody},
    call::QUERY_PATH,
    ingest::{
        self,
        influx::{
            self, Protocol,
            refusal::{Refusal, V1Error, V2Error, V3Error, V3Mistake},
        },
    },
    settings::{BackendName, Settings},
    shared::Shared,
};
use optional::OptionalCall;

pub(crate) use records::RestOfPage;
pub(crate) use store_read::AnswerMemory;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "waggle-gateway",
        description = "Accepts readings, answers when they are durable, and serves reads and queries of them.\n\n\
            A *topic* is a log of records, numbered from offset 0 in the order in which they became durable. \
            Its first record creates it. Times are nanoseconds since 1970-01-01T00:00:00Z.\n\n\
            Errors are RFC 9457 problems. `Retry-After` of 429 and 503 says when to retry. Nothing of such a request was \
            stored, unless the problem says that records may be in the log nevertheless: a broker has not acknowledged them in \
            time, or the store failed during a commit.",
    ),
    paths(
        records::write_records,
        influx_calls::write_v1,
        influx_calls::write_v2,
        influx_calls::write_v3
    ),
    components(schemas(ProblemBody, PlacedProblem, V1Error, V2Error, V3Error, V3Mistake)),
    tags(
        (name = "records", description = "Write records to a topic and read them back"),
        (name = "influxdb", description = "What clients of InfluxDB write by, unchanged: a database or bucket is a topic"),
        (name = "query", description = "Query records by measurement, time and tags"),
        (name = "topics", description = "Delete topics"),
        (name = "admin", description = "Health, readiness, metrics"),
        (name = "documentation", description = "This document"),
    )
)]
struct Api;

/// The calls of a gateway with these settings, and their document.
fn documented_routes(settings: &Settings) -> OpenApiRouter<Arc<Shared>> {
    let is_served = |call: OptionalCall| call.is_served(settings);
    let mut router = OpenApiRouter::with_openapi(described_writes());
    if is_served(OptionalCall::ReadRecords) {
        router = router.routes(routes!(records::read_records));
    }
    if is_served(OptionalCall::ReadLatest) {
        router = router.routes(routes!(latest::read_latest));
    }
    if is_served(OptionalCall::Query) {
        router = router.routes(routes!(query::query));
    }
    if is_served(OptionalCall::PassQuery) {
        router = router.routes(routes!(query::pass_query));
    }
    if is_served(OptionalCall::DeleteTopic) {
        router = router.routes(routes!(topics::delete_topic));
    }
    router = router
        .routes(routes!(influx_calls::query))
        .routes(routes!(influx_calls::ping))
        .routes(routes!(influx_calls::health));
    // They have a listener of their own.
    if settings.admin_listen.is_none() {
        router = router.merge(admin_routes());
    }
    router = router
        .routes(routes!(documentation::page))
        .routes(routes!(documentation::json))
        .routes(routes!(documentation::yaml));
    remove_answers(router.get_openapi_mut(), settings);
    if settings.clients.is_some() {
        add_identity(router.get_openapi_mut());
    }
    router
}

/// The document of writes, which the connections serve themselves.
fn described_writes() -> utoipa::openapi::OpenApi {
    let mut api = Api::openapi();
    // One function documents both methods; their names must differ.
    for item in api.paths.paths.values_mut() {
        let (Some(put), Some(post)) = (&mut item.put, &mut item.post) else {
            continue;
        };
        put.operation_id = Some("put_records".to_owned());
        post.operation_id = Some("post_records".to_owned());
    }
    api
}

/// Removes the answers that only a gateway with another storage gives.
fn remove_answers(api: &mut utoipa::openapi::OpenApi, settings: &Settings) {
    let (of_writes, of_queries): (&[&str], &[&str]) = match settings.backend {
        BackendName::Embedded => (&["403", "404", "409"], &["502", "504"]),
        BackendName::Kafka => (&[], &["500"]),
    };
    for (path, item) in &mut api.paths.paths {
        let is_query = path == QUERY_PATH;
        let of_others = if is_query { of_queries } else { of_writes };
        let of_get = if is_query { of_queries } else { &[] };
        for (operation, statuses) in [
            (&mut item.get, of_get),
            (&mut item.put, of_others),
            (&mut item.post, of_others),
        ] {
            let Some(operation) = operation else { continue };
            let answers = &mut operation.responses.responses;
            answers.retain(|status, _| !statuses.contains(&status.as_str()));
        }
    }
}

/// Adds the token that every call but the probes needs, and the answers of its check.
fn add_identity(api: &mut utoipa::openapi::OpenApi) {
    let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let components = api.components.get_or_insert_default();
    components.add_security_scheme("token", scheme);
    let answers = [
        ("401", "The token is missing or not known"),
        ("403", "The client has no right to it"),
        ("429", "The client is above its budget"),
    ];
    for (path, item) in &mut api.paths.paths {
        if matches!(&**path, "/healthz" | "/readyz") || influx::is_probe(path) {
            continue;
        }
        for operation in [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.delete,
        ] {
            let Some(operation) = operation else { continue };
            let required = SecurityRequirement::new("token", [""; 0]);
            operation.security = Some(vec![required]);
            for (status, description) in answers {
                let answer = ResponseBuilder::new().description(description).build();
                let known = &mut operation.responses.responses;
                known.entry(status.to_owned()).or_insert(answer.into());
            }
        }
    }
}

/// The OpenAPI document of a gateway with these settings, as JSON.
pub fn openapi(settings: &Settings) -> String {
    documented_routes(settings)
        .into_openapi()
        .to_pretty_json()
        .expect("strings and numbers are always JSON")
}

/// The router of all calls but writes of records.
pub(crate) fn router(shared: &Arc<Shared>) -> Router {
    let (router, _) = documented_routes(&shared.settings).split_for_parts();
    router
        .method_not_allowed_fallback(refuse_method)
        .fallback(refuse_request)
        .with_state(Arc::clone(shared))
}

fn admin_routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new()
        .routes(routes!(admin::healthz))
        .routes(routes!(admin::readyz))
        .routes(routes!(admin::metrics))
}

/// The router of the admin calls alone.
pub(crate) fn admin_router(shared: &Arc<Shared>) -> Router {
    let (router, _) = admin_routes().split_for_parts();
    router
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
        .with_state(Arc::clone(shared))
}

/// Answers a request whose path has no route.
async fn refuse_request(shared: State<Arc<Shared>>, method: Method, uri: Uri) -> Response {
    // The connections serve writes of records, so that their path may have no route.
    if ingest::records_target(uri.path()).is_some() || influx::is_write_path(uri.path()) {
        return refuse_method(shared, method, uri).await;
    }
    let call = OptionalCall::from_request(&method, uri.path());
    match call.and_then(|call| call.refusal_reason(&shared.settings)) {
        Some(reason) => Problem::new(404, reason).into_response(),
        None => not_found(uri).await.into_response(),
    }
}

/// Answers a request whose path has no route of its method.
async fn refuse_method(shared: State<Arc<Shared>>, method: Method, uri: Uri) -> Response {
    let settings = &shared.settings;
    let call = OptionalCall::from_request(&method, uri.path());
    let problem = match call.and_then(|call| call.refusal_reason(settings)) {
        Some(reason) => Problem::new(405, reason),
        None => method_not_allowed(method, uri.clone()).await,
    };
    let mut response = match Protocol::from_path(uri.path()) {
        Some(protocol) => Refusal::new(protocol, &problem, b"").into_response(),
        None => problem.into_response(),
    };
    let allowed = if influx::is_write_path(uri.path()) {
        Some("POST")
    } else if ingest::records_target(uri.path()).is_none() {
        None
    } else if OptionalCall::ReadRecords.is_served(settings) {
        Some("GET,HEAD,POST,PUT")
    } else {
        Some("POST,PUT")
    };
    if let Some(allowed) = allowed {
        let headers = response.headers_mut();
        headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
    }
    response
}

async fn not_found(uri: Uri) -> Problem {
    Problem::new(
        404,
        format!("there is no {}; see /documentation", uri.path()),
    )
}

async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    Problem::new(405, format!("{} does not allow {method}", uri.path()))
}

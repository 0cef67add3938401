//! What clients of InfluxDB ask before they write, and the documentation of their writes, which the connections do themselves.

use std::sync::Arc;

use axum::{
    Extension,
    body::Bytes,
    extract::State,
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    admin,
    schemas::{
        Consistency, CreateDatabase, Database, Policy, TrueOrFalse, V1Precision, V2Precision,
        V3Precision,
    },
};
use crate::{
    answers::problem::Problem,
    clients::identity::caller::Caller,
    ingest::{
        check_topic,
        influx::{
            self, Protocol, Statement, VERSION, VERSION_FIELD,
            refusal::{Refusal, V1Error, V2Error, V3Error},
        },
    },
    settings::BackendName,
    shared::Shared,
};

const BUILD_FIELD: &str = "x-influxdb-build";
const JSON: &str = "application/json";

/// Write as to InfluxDB 1
///
/// Line protocol, all of it or nothing: a mistake in a line is answered 400, and no line is stored. The database is the topic; a
/// retention policy other than `autogen` makes the topic `database.policy`. Every consistency is that of the gateway: 204 when all
/// records are durable. The token may be the parameter `p`, with any `u`.
#[utoipa::path(
    post,
    path = "/write",
    tag = "influxdb",
    params(
        ("db" = inline(Database), Query, description = "Topic, or `topic/policy`", example = "plant"),
        ("rp" = inline(Option<Policy>), Query, description = "Retention policy", example = "autogen"),
        ("precision" = inline(Option<V1Precision>), Query, description = "Unit of the times (ns)", example = "ns"),
        ("consistency" = inline(Option<Consistency>), Query, description = "Has no effect"),
        ("u" = Option<String>, Query, description = "Has no effect"),
        ("p" = Option<String>, Query, description = "A token, if the request has no `Authorization`"),
    ),
    request_body(
        content((String = "text/plain", example = "cpu,host=plant-01 user=12.5,threads=412i 1795288696982796153")),
        description = "Line protocol, whatever the Content-Type is; plain, or in gzip or zstd by Content-Encoding",
    ),
    responses(
        (status = 204, description = "Every record is durable", headers(("X-Influxdb-Version" = String, description = "Name and version of the gateway"))),
        (status = 400, description = "Not a request, or not records", body = V1Error, headers(("X-Influxdb-Error" = String, description = "The same text, without characters that a field cannot have"))),
        (status = 403, description = "The topic is internal to Kafka or its programs: its name begins with `_`", body = V1Error),
        (status = 404, description = "The topic does not exist in Kafka, and this gateway creates none", body = V1Error),
        (status = 408, description = "The request did not arrive in time", body = V1Error),
        (status = 409, description = "Kafka refuses the topic: another one differs from it in `.` and `_` alone", body = V1Error),
        (status = 413, description = "The body is larger than `--body-max-bytes`, also decoded, or than `--body-max-ratio` allows", body = V1Error),
        (status = 415, description = "The Content-Encoding is another one than gzip, zstd or identity", body = V1Error),
        (status = 431, description = "The head is larger than `--head-max-bytes`", body = V1Error),
        (status = 503, description = "Too much is in flight, the client is above a limit of its own, or the log cannot be written", body = V1Error, headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 507, description = "`--topics-max` topics exist", body = V1Error),
    )
)]
#[expect(
    dead_code,
    reason = "carries the documentation of a call that connections serve themselves"
)]
pub(super) fn write_v1() {}

/// Write as to InfluxDB 2
///
/// Line protocol, all of it or nothing: a mistake in a line is answered 400, and no line is stored. The bucket is the topic. The
/// gateway has no organizations: any is taken.
#[utoipa::path(
    post,
    path = "/api/v2/write",
    tag = "influxdb",
    params(
        ("bucket" = inline(Database), Query, description = "Topic, or `topic/policy`", example = "plant"),
        ("org" = Option<String>, Query, description = "Has no effect"),
        ("orgID" = Option<String>, Query, description = "Has no effect"),
        ("precision" = inline(Option<V2Precision>), Query, description = "Unit of the times (ns)", example = "ns"),
        ("consistency" = inline(Option<Consistency>), Query, description = "Has no effect"),
    ),
    request_body(
        content((String = "text/plain", example = "cpu,host=plant-01 user=12.5,threads=412i 1795288696982796153")),
        description = "Line protocol, whatever the Content-Type is; plain, or in gzip or zstd by Content-Encoding",
    ),
    responses(
        (status = 204, description = "Every record is durable", headers(("X-Influxdb-Version" = String, description = "Name and version of the gateway"))),
        (status = 400, description = "Not a request, or not records", body = V2Error, headers(("X-Platform-Error-Code" = String, description = "The code"))),
        (status = 403, description = "The topic is internal to Kafka or its programs: its name begins with `_`", body = V2Error),
        (status = 404, description = "The topic does not exist in Kafka, and this gateway creates none", body = V2Error),
        (status = 408, description = "The request did not arrive in time", body = V2Error),
        (status = 409, description = "Kafka refuses the topic: another one differs from it in `.` and `_` alone", body = V2Error),
        (status = 413, description = "The body is larger than `--body-max-bytes`, also decoded, or than `--body-max-ratio` allows", body = V2Error),
        (status = 415, description = "The Content-Encoding is another one than gzip, zstd or identity", body = V2Error),
        (status = 429, description = "The client is above a limit of its own", body = V2Error, headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 431, description = "The head is larger than `--head-max-bytes`", body = V2Error),
        (status = 503, description = "Too much is in flight, or the log cannot be written", body = V2Error, headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 507, description = "`--topics-max` topics exist", body = V2Error),
    )
)]
#[expect(
    dead_code,
    reason = "carries the documentation of a call that connections serve themselves"
)]
pub(super) fn write_v2() {}

/// Write as to InfluxDB 3
///
/// Line protocol, all of it or nothing: a mistake in a line is answered 400 with every mistake, and no line is stored.
/// `accept_partial=true`, the default of clients, would allow to store the others; this gateway makes no use of that. `no_sync=true`
/// would allow to answer earlier; the answer comes when all records are durable nevertheless.
#[utoipa::path(
    post,
    path = "/api/v3/write_lp",
    tag = "influxdb",
    params(
        ("db" = inline(Database), Query, description = "Topic, or `topic/policy`", example = "plant"),
        ("precision" = inline(Option<V3Precision>), Query, description = "Unit of the times; `auto` (default) tells it from the size of each: seconds below 5·10⁹, milliseconds below 5·10¹², microseconds below 5·10¹⁵", example = "nanosecond"),
        ("accept_partial" = inline(Option<TrueOrFalse>), Query, description = "Has no effect: all records are stored, or none is"),
        ("no_sync" = inline(Option<TrueOrFalse>), Query, description = "Has no effect: records are durable when they are answered"),
    ),
    request_body(
        content((String = "text/plain", example = "cpu,host=plant-01 user=12.5,threads=412i 1795288696982796153")),
        description = "Line protocol, whatever the Content-Type is; plain, or in gzip or zstd by Content-Encoding",
    ),
    responses(
        (status = 204, description = "Every record is durable"),
        (status = 400, description = "Not a request, or not records", body = V3Error),
        (status = 403, description = "The topic is internal to Kafka or its programs: its name begins with `_`", body = V3Error),
        (status = 404, description = "The topic does not exist in Kafka, and this gateway creates none", body = V3Error),
        (status = 408, description = "The request did not arrive in time", body = V3Error),
        (status = 409, description = "Kafka refuses the topic: another one differs from it in `.` and `_` alone", body = V3Error),
        (status = 413, description = "The body is larger than `--body-max-bytes`, also decoded, or than `--body-max-ratio` allows", body = V3Error),
        (status = 415, description = "The Content-Encoding is another one than gzip, zstd or identity", body = V3Error),
        (status = 429, description = "The client is above a limit of its own", body = V3Error, headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 431, description = "The head is larger than `--head-max-bytes`", body = V3Error),
        (status = 503, description = "Too much is in flight, or the log cannot be written", body = V3Error, headers(("Retry-After" = u32, description = "Seconds"))),
        (status = 507, description = "`--topics-max` topics exist", body = V3Error),
    )
)]
#[expect(
    dead_code,
    reason = "carries the documentation of a call that connections serve themselves"
)]
pub(super) fn write_v3() {}

/// The form of a query.
#[derive(ToSchema)]
#[schema(as = InfluxQuery)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct QueryForm {
    #[schema(inline, example = "CREATE DATABASE \"plant\"")]
    q: CreateDatabase,
}

/// The results of statements.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InfluxResults)]
pub(super) struct Results {
    results: [StatementResult; 1],
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InfluxResult)]
pub(super) struct StatementResult {
    statement_id: u32,
    /// Why it has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
}

/// Create a database as in InfluxDB 1
///
/// `CREATE DATABASE "name"`, by which Telegraf and other clients begin, is answered as done if the client may write to the topic, and
/// may create it or need not: its first record does. Nothing is created by this call. On Kafka the result is an error if the topic is
/// not known and the gateway creates none. Other statements are answered 400. `q` can be a parameter of the query, too.
#[utoipa::path(
    post,
    path = "/query",
    operation_id = "influx_query",
    tag = "influxdb",
    request_body(content((inline(QueryForm) = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "Writes to the topic are taken, or `error` says why not", body = Results),
        (status = 400, description = "Another statement, or a name that no topic has", body = V1Error),
        (status = 413, description = "The body is larger than 64 KiB", body = V1Error),
        (status = 503, description = "Too much is in flight", body = V1Error, headers(("Retry-After" = u32, description = "Seconds"))),
    )
)]
pub(super) async fn query(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    body: Bytes,
) -> Result<Response, Refusal> {
    let created = create_database(&shared, &caller, &uri, &body);
    let error = created.map_err(|problem| Refusal::new(Protocol::V1, &problem, b""))?;
    let results = Results {
        results: [StatementResult {
            statement_id: 0,
            error,
        }],
    };
    let text = serde_json::to_vec(&results).expect("strings and numbers are always JSON");
    let fields = [
        (header::CONTENT_TYPE.as_str(), JSON),
        (VERSION_FIELD, VERSION),
    ];
    Ok((fields, text).into_response())
}

/// Why the first record of the database would not create its topic, if so.
fn create_database(
    shared: &Shared,
    caller: &Caller,
    uri: &Uri,
    body: &[u8],
) -> Result<Option<&'static str>, Problem> {
    let form = std::str::from_utf8(body).unwrap_or_default();
    let query = influx::form_value(form, "q");
    let query = query.or_else(|| influx::form_value(uri.query().unwrap_or_default(), "q"));
    let Some(query) = query else {
        return Err(Problem::new(400, "missing required parameter \"q\""));
    };
    let Statement::CreateDatabase(topic) = influx::read_statement(&query) else {
        return Err(Problem::new(
            400,
            "error parsing query: expected CREATE DATABASE \"name\", the only statement that is answered here; records are queried at /api/v1/query",
        ));
    };
    check_topic(&topic).map_err(|problem| {
        let detail = format!("database {topic:?} stands for no topic: {}", problem.detail);
        Problem { detail, ..problem }
    })?;
    caller.check_write(&topic)?;
    if shared.backend.topic_number(&topic).is_some() {
        return Ok(None);
    }
    let settings = &shared.settings;
    if settings.backend == BackendName::Kafka && !settings.kafka.kafka_create_topics {
        return Ok(Some(
            "this gateway creates no topics in Kafka (--kafka-create-topics); writes are taken if the topic exists",
        ));
    }
    caller.check_create(&topic)?;
    Ok(None)
}

/// Liveness as of InfluxDB
#[utoipa::path(
    get,
    path = "/ping",
    tag = "influxdb",
    responses((status = 204, description = "The process is alive", headers(
        ("X-Influxdb-Version" = String, description = "Name and version of the gateway"),
        ("X-Influxdb-Build" = String, description = "`waggle`"),
    )))
)]
pub(super) async fn ping() -> Response {
    let fields = [(VERSION_FIELD, VERSION), (BUILD_FIELD, "waggle")];
    (StatusCode::NO_CONTENT, fields).into_response()
}

/// The state of the gateway.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InfluxHealth)]
pub(super) struct Health {
    #[schema(example = "waggle-gateway")]
    name: &'static str,
    /// What it does not accept and why, if it fails.
    #[schema(example = "ready for writes")]
    message: String,
    /// `pass` or `fail`.
    #[schema(example = "pass")]
    status: &'static str,
    #[schema(value_type = Vec<Object>)]
    checks: [(); 0],
    #[schema(example = "0.1.0")]
    version: &'static str,
}

/// Readiness as of InfluxDB 2
///
/// It passes as long as `/readyz` does.
#[utoipa::path(
    get,
    path = "/health",
    tag = "influxdb",
    responses(
        (status = 200, description = "It accepts records", body = Health),
        (status = 503, description = "It does not accept records", body = Health, headers(("Retry-After" = u32, description = "Seconds"))),
    )
)]
pub(super) async fn health(state: State<Arc<Shared>>) -> Response {
    let ready = admin::readyz(state).await;
    let (status, code, message) = match &ready {
        Ok(_) => ("pass", StatusCode::OK, "ready for writes".to_owned()),
        Err(problem) => (
            "fail",
            StatusCode::SERVICE_UNAVAILABLE,
            problem.detail.clone(),
        ),
    };
    let health = Health {
        name: "waggle-gateway",
        message,
        status,
        checks: [],
        version: env!("CARGO_PKG_VERSION"),
    };
    let text = serde_json::to_vec(&health).expect("strings and numbers are always JSON");
    let fields = [
        (header::CONTENT_TYPE.as_str(), JSON),
        (VERSION_FIELD, VERSION),
    ];
    let mut response = (code, fields, text).into_response();
    if let Some(seconds) = ready.err().and_then(|problem| problem.retry_after()) {
        let seconds = axum::http::HeaderValue::from_static(seconds);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

//! Calls that the router answers: all but writes of records.

use std::sync::Arc;

use axum::{Router, body::Body, response::IntoResponse};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Request, Uri, header};
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::{
    answers::problem::Problem,
    calls::{AnswerMemory, RestOfPage},
    clients::identity::caller::Caller,
    http1::{self, Persistence},
    ingest::influx::{self, Protocol, refusal::Refusal},
    metrics::Call,
    settings::Settings,
    shared::Shared,
};

/// One of the calls here with a body; the other one is that of InfluxDB.
pub(crate) const QUERY_PATH: &str = "/api/v1/query";
const QUERY_MAX_BYTES: usize = 64 * 1024;

/// A request that waits for its turn, with its body if the call reads one.
pub(crate) struct Owned {
    request: Result<Request<Body>, Problem>,
    /// Counts the body as in flight.
    _in_flight: Option<InFlight>,
    call: Call,
    /// That of InfluxDB in which the client speaks.
    protocol: Option<Protocol>,
    /// HEAD: the answer's body is not sent.
    head_only: bool,
    /// What the client asked for.
    pub(crate) persistence: Persistence,
}

impl Owned {
    pub(crate) fn new(
        request: &http1::Request<'_, '_>,
        shared: &Arc<Shared>,
        caller: &Caller,
    ) -> Self {
        let head = &request.head;
        let mut converted = convert(head);
        let mut in_flight = None;
        if let Ok(converted) = &mut converted {
            converted.extensions_mut().insert(caller.clone());
        }
        if let Ok(request_of_body) = &mut converted
            && reads_body(request_of_body)
        {
            match keep(request.body, shared) {
                Ok((body, kept)) => {
                    *request_of_body.body_mut() = body;
                    in_flight = Some(kept);
                }
                Err(problem) => converted = Err(problem),
            }
        }
        Self {
            request: converted,
            _in_flight: in_flight,
            call: call(head.target),
            protocol: Protocol::from_target(head.target),
            head_only: head.method == "HEAD",
            persistence: head.persistence,
        }
    }

    /// Whether it only reads, so that nobody needs it if its client has left.
    pub(crate) fn is_read(&self) -> bool {
        let request = self.request.as_ref();
        request.is_ok_and(|request| request.method().is_safe())
    }
}

/// A body that waits, counted as in flight until it is dropped.
struct InFlight {
    shared: Arc<Shared>,
    bytes: usize,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.shared.release(self.bytes);
    }
}

fn reads_body(request: &Request<Body>) -> bool {
    let path = request.uri().path();
    request.method() == Method::POST && matches!(path, QUERY_PATH | influx::V1_QUERY_PATH)
}

fn keep(body: &[u8], shared: &Arc<Shared>) -> Result<(Body, InFlight), Problem> {
    let bytes = body.len();
    if bytes > QUERY_MAX_BYTES {
        return Err(Problem::new(
            413,
            format!("a query has at most {QUERY_MAX_BYTES} bytes"),
        ));
    }
    if !shared.reserve(bytes, bytes) {
        return Err(Problem::new(503, "too many bytes are in flight; try again"));
    }
    let shared = Arc::clone(shared);
    let body = Body::from(Bytes::copy_from_slice(body));
    Ok((body, InFlight { shared, bytes }))
}

/// An answer of the router.
pub(crate) struct Answered {
    pub(crate) call: Call,
    pub(crate) status: u16,
    headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Must live as long as the body.
    pub(crate) held: Option<Arc<AnswerMemory>>,
    /// What follows the body, if it is only the first part.
    pub(crate) rest: Option<Box<RestOfPage>>,
    /// The `Content-Length` to send.
    pub(crate) length: Option<usize>,
}

impl Answered {
    /// Fields to send, except those that the connection adds itself.
    pub(crate) fn fields(&self) -> Vec<(&str, &[u8])> {
        self.headers
            .iter()
            .filter(|(name, _)| {
                ![header::CONTENT_LENGTH, header::CONNECTION, header::DATE].contains(name)
            })
            .map(|(name, value)| (HeaderName::as_str(name), value.as_bytes()))
            .collect()
    }
}

/// Sends the request to the router.
pub(crate) async fn answer(router: &Router, owned: Owned) -> Answered {
    let response = match owned.request {
        Ok(request) => match router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        },
        Err(problem) => match owned.protocol {
            None => problem.into_response(),
            Some(protocol) => Refusal::new(protocol, &problem, b"").into_response(),
        },
    };
    let (mut parts, body) = response.into_parts();
    let held = parts.extensions.remove::<Arc<AnswerMemory>>();
    let rest = parts.extensions.remove::<RestOfPage>().map(Box::new);
    // Handlers build complete bodies, within the limits on answers.
    let body = body
        .collect()
        .await
        .map_or_else(|_| Bytes::new(), http_body_util::Collected::to_bytes);
    let announced = parts
        .headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    let of_first_part = if owned.head_only {
        announced
    } else {
        Some(body.len())
    };
    let of_rest = rest.as_ref().map_or(0, |rest| rest.length());
    let length = of_first_part.map(|length| length + of_rest);
    Answered {
        call: owned.call,
        status: parts.status.as_u16(),
        headers: parts.headers,
        held,
        rest: rest.filter(|_| !owned.head_only),
        body: if owned.head_only { Bytes::new() } else { body },
        length,
    }
}

fn convert(head: &http1::Head<'_, '_>) -> Result<Request<Body>, Problem> {
    let method = Method::from_bytes(head.method.as_bytes())
        .map_err(|_| Problem::new(400, "the method is not a token"))?;
    let target = target_of_origin(head)?;
    let uri: Uri = target
        .parse()
        .map_err(|_| Problem::new(400, "the request target is not a URI"))?;
    let mut request = Request::new(Body::empty());
    *request.method_mut() = method;
    // A client of a proxy sends the absolute form; only the path matters.
    *request.uri_mut() = match uri.path_and_query() {
        Some(path) => Uri::from(path.clone()),
        None => uri,
    };
    for field in head.headers {
        let name = HeaderName::from_bytes(field.name.as_bytes());
        let value = http::HeaderValue::from_bytes(field.value);
        if let (Ok(name), Ok(value)) = (name, value) {
            request.headers_mut().append(name, value);
        }
    }
    Ok(request)
}

/// The target, if a server of its own resources can serve it (RFC 9112, section 3.2).
fn target_of_origin<'a>(head: &http1::Head<'a, '_>) -> Result<&'a str, Problem> {
    let target = head.target;
    if head.method == "CONNECT" {
        return Err(Problem::new(501, "this gateway is no proxy for CONNECT"));
    }
    if target.contains('#') {
        let problem = "a request target has no fragment; write # as %23";
        return Err(Problem::new(400, problem));
    }
    let scheme = target.split_once("://").map(|(scheme, _)| scheme);
    let is_http = |scheme: &str| {
        ["http", "https"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    };
    let is_known = match scheme {
        _ if target.starts_with('/') => true,
        Some(scheme) => is_http(scheme),
        None => target == "*" && head.method == "OPTIONS",
    };
    if !is_known {
        let problem = "expected a target that is a path, or a URL of http or https";
        return Err(Problem::new(400, problem));
    }
    Ok(target)
}

/// Whether a POST to this target is a query for the database.
pub(crate) fn is_passed_query(target: &str, settings: &Settings) -> bool {
    let path = target.split('?').next().unwrap_or(target);
    path == QUERY_PATH && settings.database.query_pass_through
}

/// The call of a target, for the counters.
fn call(target: &str) -> Call {
    let path = target.split('?').next().unwrap_or(target);
    if path.starts_with("/api/v1/topics/") && path.ends_with("/latest") {
        Call::Latest
    } else if path.starts_with("/api/v1/topics/") {
        Call::ReadRecords
    } else if path == QUERY_PATH {
        Call::Query
    } else if path.starts_with("/documentation") {
        Call::Documentation
    } else if matches!(path, "/healthz" | "/readyz" | "/metrics") || influx::is_probe(path) {
        Call::Admin
    } else {
        Call::Other
    }
}

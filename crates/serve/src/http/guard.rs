//! Who may ask for what: the host by which the server was reached, the token, and the origin of what changes something.

use std::{net::IpAddr, sync::Arc};

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{Request, State as Shared},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, Method, StatusCode, header};
use ring::digest::{SHA256, digest};
use url::form_urlencoded;

use super::{
    reply::{Problem, Reply, guard_answer, problem_page},
    state::State,
};
use crate::pages::login;

/// Longest body of a form.
const BODY_MAX_BYTES: usize = 64 << 10;
pub(super) const COOKIE: &str = "waggle_session";

/// Passes on what is allowed.
pub(crate) async fn guard(
    Shared(state): Shared<Arc<State>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    // Who may not read is not told what can be started.
    let may_run = state.may_run() && has_access(&state, request.headers());
    let answer = match allow(&state, &request) {
        Err(problem) => problem.into_response(),
        Ok(Access::Asked) => {
            let next = request.uri().path_and_query();
            let next = next.filter(|_| request.method() == Method::GET);
            let next = next.map_or("/", |next| next.as_str());
            let page = Reply::page(login::login(false, next));
            page.with_status(StatusCode::UNAUTHORIZED).into_response()
        }
        Ok(Access::Given) => next.run(request).await,
    };
    guard_answer(problem_page(answer, may_run))
}

enum Access {
    Given,
    /// The token is asked for.
    Asked,
}

fn allow(state: &State, request: &Request<Body>) -> Result<Access, Problem> {
    let headers = request.headers();
    let host = check_host(state, headers)?;
    match *request.method() {
        Method::GET | Method::HEAD => {}
        Method::POST => check_origin(headers, host)?,
        _ => return Err(Problem::refusal("expected GET or POST")),
    }
    let is_login = request.uri().path() == "/login";
    match is_login || has_access(state, headers) {
        true => Ok(Access::Given),
        false => Ok(Access::Asked),
    }
}

/// The host as it was asked for. Another name than the known ones is that of somebody who had it lead here: a page of theirs would read
/// what is shown here.
fn check_host<'a>(state: &State, headers: &'a HeaderMap) -> Result<&'a str, Problem> {
    let mut given = headers.get_all(header::HOST).iter();
    let host = match (given.next(), given.next()) {
        (Some(host), None) => host.to_str().unwrap_or_default(),
        _ => return Err(Problem::mistake("expected one Host")),
    };
    match is_known_host(host, &state.host_names) {
        true => Ok(host),
        false => Err(Problem::refusal(format!(
            "the Host {host:?} is not known: expected an address, localhost or a name that --host-name gives"
        ))),
    }
}

fn is_known_host(host: &str, names: &[String]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let is_address = address.unwrap_or(name).parse::<IpAddr>().is_ok();
    let is_named = |known: &String| known.eq_ignore_ascii_case(name);
    is_address || name.eq_ignore_ascii_case("localhost") || names.iter().any(is_named)
}

/// A browser says from which page a form is sent.
fn check_origin(headers: &HeaderMap, host: &str) -> Result<(), Problem> {
    let origin = headers
        .get(header::ORIGIN)
        .and_then(|origin| origin.to_str().ok());
    let expected = format!("http://{host}");
    let is_own = |origin: &str| origin == expected || origin == format!("https://{host}");
    match origin {
        Some(origin) if is_own(origin) => Ok(()),
        Some(origin) => Err(Problem::refusal(format!(
            "the Origin {origin:?} is that of another page: expected {expected:?}"
        ))),
        None => Err(Problem::refusal(format!(
            "there is no Origin: expected {expected:?}, as a browser sends it"
        ))),
    }
}

fn has_access(state: &State, headers: &HeaderMap) -> bool {
    let Some(token) = &state.access_token else {
        return true;
    };
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    let mut cookies = text(header::COOKIE).unwrap_or_default().split(';');
    let session = cookies.find_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('='));
    bearer.is_some_and(|given| is_same(given, token))
        || session.is_some_and(|given| is_same(given, &state.session))
}

/// Takes the same time wherever two secrets differ: their sums are compared, which nobody can choose.
pub(super) fn is_same(given: &str, secret: &str) -> bool {
    let [given, secret] = [given, secret].map(|text| digest(&SHA256, text.as_bytes()));
    given.as_ref() == secret.as_ref()
}

/// The fields of a form that is from a page of this process.
pub(super) async fn read_form(state: &State, body: Body) -> Result<Bytes, Problem> {
    let body = read_body(body).await?;
    let token = field(&body, "token");
    let is_own = token.is_some_and(|token| is_same(&token, &state.form_token));
    match is_own {
        true => Ok(body),
        false => Err(Problem::refusal(
            "this form is not from a page of this server, or the server was started again meanwhile: load the page again",
        )),
    }
}

/// The first value of a field of a form or a query that is not empty.
pub(super) fn field(fields: &[u8], name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(fields);
    let pair = pairs.find(|(key, value)| key == name && !value.is_empty());
    pair.map(|(_, value)| value.into_owned())
}

pub(super) async fn read_body(body: Body) -> Result<Bytes, Problem> {
    let read = to_bytes(body, BODY_MAX_BYTES).await;
    read.map_err(|why| {
        Problem::mistake(format!(
            "expected a form of at most {BODY_MAX_BYTES} bytes: {why}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::is_known_host;

    #[test]
    fn addresses_and_given_names_are_known_hosts() {
        let names = ["perf.example".to_owned()];
        let check = |host: &str, expected: bool| {
            assert_eq!(is_known_host(host, &names), expected, "{host}");
        };
        check("127.0.0.1:8080", true);
        check("127.0.0.1", true);
        check("[::1]:8080", true);
        check("[::1]", true);
        check("localhost:9", true);
        check("LOCALHOST", true);
        check("perf.example:80", true);
        check("evil.example", false);
        check("evil.example:8080", false);
        check("localhost.evil.example", false);
        check("127.0.0.1.evil.example", false);
        check("", false);
    }
}

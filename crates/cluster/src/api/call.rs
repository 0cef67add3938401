//! Sends a call and repeats it within limits. There is no limit on the rate of calls here: waggle makes few, and says what it waits for.

use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use kube::{Client, client::Body};
use serde_json::Value;
use tokio::time::{sleep, timeout};
use url::form_urlencoded::{Serializer, byte_serialize};

use super::{
    error::{ApiError, Failure, Target},
    kind::Verb,
    resource::Resource,
};

/// Of one attempt, until the whole answer is here.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(20);
const ATTEMPTS_MAX: u32 = 5;
/// Before the second attempt; twice as long before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Longest pause that the server may ask for.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Longest answer: a list of some thousand pods.
const ANSWER_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Longest part of a text that is no JSON in an error.
const SHOWN_BYTES: usize = 300;

/// What is asked of the API.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    pub verb: Verb,
    pub resource: Resource<'a>,
    pub namespace: Option<&'a str>,
    /// Empty: all of them.
    pub name: Option<&'a str>,
    pub subresource: Option<&'a str>,
    pub query: Vec<(&'a str, String)>,
    pub body: Option<Value>,
    /// How often it is sent until there is an answer that counts.
    pub attempts_max: u32,
}

/// An answer, and the instant that the server's clock showed.
#[derive(Debug)]
pub(crate) struct Answer {
    pub value: Value,
    pub date: Option<Timestamp>,
    /// 201: the object was not there before.
    pub is_new: bool,
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        verb: Verb,
        resource: impl Into<Resource<'a>>,
        namespace: Option<&'a str>,
    ) -> Self {
        Self {
            verb,
            resource: resource.into(),
            namespace,
            name: None,
            subresource: None,
            query: Vec::new(),
            body: None,
            attempts_max: ATTEMPTS_MAX,
        }
    }

    pub(crate) fn name(mut self, name: &'a str) -> Self {
        self.name = Some(name);
        self
    }

    pub(crate) fn part(mut self, subresource: &'a str) -> Self {
        self.subresource = Some(subresource);
        self
    }

    pub(crate) fn option(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(crate) fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Who asks repeats it, by what the answer says.
    pub(crate) fn single_attempt(mut self) -> Self {
        self.attempts_max = 1;
        self
    }

    pub(crate) fn target(&self) -> Target {
        let resource = self.resource.name();
        Target {
            verb: self.verb,
            resource: match self.subresource {
                Some(part) => format!("{resource}/{part}"),
                None => resource.to_owned(),
            },
            namespace: self.namespace.map(str::to_owned),
            name: self.name.map(str::to_owned),
        }
    }

    pub(crate) fn request(&self) -> Request<Vec<u8>> {
        let mut path = self.resource.path(self.namespace);
        let below = self
            .subresource
            .into_iter()
            .flat_map(|part| part.split('/'));
        for part in self.name.into_iter().chain(below) {
            path.push('/');
            path.extend(byte_serialize(part.as_bytes()));
        }
        if !self.query.is_empty() {
            let mut query = Serializer::new(String::new());
            query.extend_pairs(&self.query);
            path.push('?');
            path.push_str(&query.finish());
        }
        let body = self.body.as_ref().map(Value::to_string).unwrap_or_default();
        Request::builder()
            .method(self.verb.method())
            .uri(path)
            .header(http::header::CONTENT_TYPE, self.verb.content_type())
            .header(http::header::ACCEPT, "application/json")
            .body(body.into_bytes())
            .expect("a path of checked names and an encoded query")
    }
}

/// Sends a call whose answer is an object.
pub(crate) async fn send(client: &Client, call: &Call<'_>) -> Result<Answer, ApiError> {
    let sent = send_text(client, call).await?;
    let value = serde_json::from_str(&sent.text).map_err(|why| ApiError::Unreadable {
        what: call.target(),
        why: why.to_string(),
    })?;
    Ok(Answer {
        value,
        date: sent.date,
        is_new: sent.is_new,
    })
}

/// The text of an answer.
pub(crate) struct Sent {
    pub text: String,
    date: Option<Timestamp>,
    is_new: bool,
}

/// Sends a call whose answer is a text.
pub(crate) async fn send_text(client: &Client, call: &Call<'_>) -> Result<Sent, ApiError> {
    let mut pause = FIRST_PAUSE;
    let mut attempts = 0;
    loop {
        attempts += 1;
        let sent = timeout(ATTEMPT_TIMEOUT, attempt(client, call)).await;
        let wait = match sent {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(Problem::Answer(failure))) => {
                if !is_worth_repeating(failure.code) || attempts == call.attempts_max {
                    return Err(failure.into_error(call.target(), attempts));
                }
                failure.retry_after.unwrap_or(pause)
            }
            Ok(Err(Problem::Connection(why))) => {
                check_attempts(call, attempts, why)?;
                pause
            }
            Err(_) => {
                let why = format!("nothing within {} s", ATTEMPT_TIMEOUT.as_secs());
                check_attempts(call, attempts, why)?;
                pause
            }
        };
        sleep(wait.min(PAUSE_MAX)).await;
        pause *= 2;
    }
}

fn check_attempts(call: &Call<'_>, attempts: u32, why: String) -> Result<(), ApiError> {
    if attempts < call.attempts_max {
        return Ok(());
    }
    Err(ApiError::Unreachable {
        what: call.target(),
        attempts,
        why,
    })
}

fn is_worth_repeating(code: u16) -> bool {
    code == 429 || code >= 500
}

enum Problem {
    Answer(Failure),
    Connection(String),
}

async fn attempt(client: &Client, call: &Call<'_>) -> Result<Sent, Problem> {
    let request = call.request().map(Body::from);
    let sent = client.send(request).await;
    let response = sent.map_err(|why| Problem::Connection(causes(&why)))?;
    let date = date(&response);
    let status = response.status();
    let retry_after = retry_after(&response);
    let text = read(response.into_body()).await;
    let text = text.map_err(Problem::Connection)?;
    if status.is_success() {
        return Ok(Sent {
            text,
            date,
            is_new: status == http::StatusCode::CREATED,
        });
    }
    Err(Problem::Answer(failure(
        status.as_u16(),
        retry_after,
        &text,
    )))
}

/// Reads the whole answer, within its limit.
async fn read(body: Body) -> Result<String, String> {
    let collected = Limited::new(body, ANSWER_MAX_BYTES).collect().await;
    let bytes = collected.map_err(|why| causes(&*why))?.to_bytes();
    String::from_utf8(bytes.into()).map_err(|_| "its answer is not UTF-8".to_owned())
}

/// The instant at which the server answered.
fn date(response: &Response<Body>) -> Option<Timestamp> {
    let text = response.headers().get(http::header::DATE)?.to_str().ok()?;
    let zoned = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(zoned.timestamp())
}

fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let header = response.headers().get(http::header::RETRY_AFTER)?;
    let seconds = header.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The error in an answer; a proxy before the API may have written it.
fn failure(code: u16, retry_after: Option<Duration>, text: &str) -> Failure {
    let status: Value = serde_json::from_str(text).unwrap_or_default();
    let part = |key: &str| status[key].as_str().unwrap_or_default().to_owned();
    let mut message = part("message");
    if message.is_empty() {
        let shown = text.floor_char_boundary(SHOWN_BYTES);
        text[..shown].trim().clone_into(&mut message);
    }
    // Which disruption budget it was, for one.
    let causes = status["details"]["causes"].as_array();
    let causes = causes.into_iter().flatten();
    for cause in causes.filter_map(|cause| cause["message"].as_str()) {
        if !message.contains(cause) {
            message = format!("{message} {cause}");
        }
    }
    Failure {
        code,
        message,
        retry_after,
    }
}

/// An error with what caused it, each text once.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let part = next.to_string();
        if !text.contains(&part) {
            text = format!("{text}: {part}");
        }
        cause = next.source();
    }
    text
}

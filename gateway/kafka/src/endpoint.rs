//! The token endpoint of an OpenID provider: a token by the grant `client_credentials` (RFC 6749, section 4.4).

use std::time::{Duration, SystemTime};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderValue, StatusCode};
use rdkafka::client::OAuthToken;
use serde_json::Value;
use url::form_urlencoded;
use waggle_fetch::{Ask, FetchError, Location};

use crate::jwt::{self, TokenError};

/// Longest code of an error that is shown; those of the standard are shorter.
const CODE_MAX_BYTES: usize = 100;

/// Where tokens come from, and who asks.
pub(crate) struct Endpoint {
    pub(crate) location: Location,
    pub(crate) client: String,
    pub(crate) scope: Option<String>,
}

/// Why there is no token. It has neither the secret nor what the answer has.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndpointError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("expected status 200, and found {status}{code}")]
    Refused { status: StatusCode, code: String },
    #[error("expected {0} in the answer")]
    Answer(&'static str),
    #[error("{0}")]
    Token(#[from] TokenError),
}

impl Endpoint {
    /// Asks for a token.
    pub(crate) async fn fetch(&self, secret: &str) -> Result<OAuthToken, EndpointError> {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        if let Some(scope) = &self.scope {
            form.append_pair("scope", scope);
        }
        let ask = Ask::Form {
            authorization: authorization(&self.client, secret),
            form: form.finish(),
        };
        // From before the answer: its lifetime begins when it is made.
        let now = SystemTime::now();
        let answer = self.location.ask(&ask).await?;
        if answer.status != StatusCode::OK {
            return Err(EndpointError::Refused {
                status: answer.status,
                code: error_code(&answer.body),
            });
        }
        read(&answer.body, now)
    }
}

/// Basic, of both parts encoded as in a form (RFC 6749, section 2.3.1).
fn authorization(client: &str, secret: &str) -> HeaderValue {
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let both = format!("{}:{}", encode(client), encode(secret));
    let text = format!("Basic {}", STANDARD.encode(both));
    let mut value = HeaderValue::try_from(text).expect("base64 has visible characters alone");
    value.set_sensitive(true);
    value
}

/// The token of an answer (RFC 6749, section 5.1).
fn read(body: &[u8], now: SystemTime) -> Result<OAuthToken, EndpointError> {
    let answer: Value =
        serde_json::from_slice(body).map_err(|_| EndpointError::Answer("a JSON object"))?;
    let token = answer["access_token"].as_str();
    let token = token.ok_or(EndpointError::Answer("access_token"))?;
    let kind = answer["token_type"].as_str();
    if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("Bearer")) {
        return Err(EndpointError::Answer("token_type Bearer"));
    }
    // Some providers give it as text.
    let lifetime = &answer["expires_in"];
    let text = lifetime.as_str().and_then(|text| text.parse().ok());
    let lifetime = lifetime.as_f64().or(text);
    let lifetime = lifetime.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Ok(jwt::oauth_token(token.to_owned(), now, lifetime)?)
}

/// The code of an error (RFC 6749, section 5.2), with a colon before it; empty if there is none.
fn error_code(body: &[u8]) -> String {
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    let code = answer.as_ref().and_then(|answer| answer["error"].as_str());
    let is_code = |code: &&str| {
        let is_short = code.len() <= CODE_MAX_BYTES;
        is_short && code.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_'))
    };
    let code = code.filter(is_code);
    code.map_or_else(String::new, |code| format!(": {code}"))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[track_caller]
    fn check(answer: &str, expected: Result<i64, &str>) {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let lifetime = read(answer.as_bytes(), now).map(|token| token.lifetime_ms);
        let lifetime = lifetime.map_err(|error| error.to_string());
        assert_eq!(lifetime, expected.map_err(str::to_owned), "{answer}");
    }

    #[test]
    fn an_answer_has_a_token_and_its_lifetime() {
        let good =
            |more: &str| format!(r#"{{"access_token":"opaque","token_type":"bearer"{more}}}"#);
        check(&good(r#","expires_in":300"#), Ok(1_300_000));
        check(&good(r#","expires_in":"300""#), Ok(1_300_000));
        check(&good(""), Ok(1_060_000));
        check(&good(r#","expires_in":-5"#), Ok(1_060_000));
        check("<html>secret", Err("expected a JSON object in the answer"));
        check("[]", Err("expected access_token in the answer"));
        check(
            r#"{"access_token":"x","token_type":"mac"}"#,
            Err("expected token_type Bearer in the answer"),
        );
        check(
            r#"{"access_token":"a b","token_type":"Bearer"}"#,
            Err("expected a token of visible ASCII characters"),
        );
    }

    #[test]
    fn the_secret_is_encoded_and_not_shown() {
        let value = authorization("a:b", "ä +");
        let expected = format!("Basic {}", STANDARD.encode("a%3Ab:%C3%A4+%2B"));
        assert_eq!(value, expected);
        assert_eq!(format!("{value:?}"), "Sensitive");
    }

    #[test]
    fn of_an_error_its_code_is_shown() {
        let check = |body: &str, expected: &str| {
            assert_eq!(error_code(body.as_bytes()), expected, "{body}");
        };
        check(
            r#"{"error":"invalid_client","error_description":"x"}"#,
            ": invalid_client",
        );
        check(r#"{"error":"Secret 7"}"#, "");
        check(r#"{"error":7}"#, "");
        check("no", "");
    }
}

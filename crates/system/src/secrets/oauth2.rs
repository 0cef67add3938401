//! Asks for tokens of OAuth 2 by client credentials (RFC 6749, 4.4): one request, and what its answer must have. When one is asked
//! for is decided by the trial.

use std::{path::Path, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::time::Instant;
use waggle_load::Tls;
use waggle_spec::ClientAuthentication;
use waggle_study::{Address, Credential, Oauth2, Study, TokenEndpoint};

use crate::{
    http::{
        address::find_address,
        answer::LimitedBody,
        client::{Connection, HttpConnector, Request},
        peer::Peer,
        transport::{self, TransportError},
    },
    secrets::{tokens::Token, words::Secrets},
};

/// Longest answer that is read, and longest token.
const ANSWER_MAX_BYTES: usize = 64 * 1024;
const TOKEN_MAX_BYTES: usize = 16 * 1024;
/// A token that lasts longer counts as one of a year.
const LASTS_MAX: Duration = Duration::from_secs(365 * 24 * 3600);
/// Longest description of an error that is shown, in characters.
const DESCRIPTION_MAX: usize = 200;
/// What is not letter or digit and stays in a form (WHATWG URL, 5.2).
const FORM: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'*')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_');

/// Where the tokens of a study come from.
#[derive(Debug)]
pub struct TokenSource {
    pub asked: Oauth2,
    /// Of a server that runs already.
    tls: Option<Tls>,
}

/// Why there is no token. No text has a secret of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenError {
    /// Asking again does not help.
    Refused(String),
    Failed(String),
}

impl TokenError {
    pub fn reason(&self) -> &str {
        match self {
            Self::Refused(why) | Self::Failed(why) => why,
        }
    }
}

impl TokenSource {
    /// `None`: the study has no `system.oauth2`. Files are relative to the folder of the study.
    pub fn read(study: &Study, study_file: &Path) -> Result<Option<Self>, TransportError> {
        let Some(asked) = &study.oauth2 else {
            return Ok(None);
        };
        let tls = match &asked.endpoint {
            TokenEndpoint::Url {
                url,
                host,
                tls: Some(tls),
                ..
            } => {
                let folder = study_file.parent().unwrap_or(Path::new(""));
                Some(transport::tls(tls, host, url, folder)?)
            }
            _ => None,
        };
        Ok(Some(Self {
            asked: asked.clone(),
            tls,
        }))
    }

    /// Asks once. `of_system` is the system's port that answers, if the study names an endpoint.
    pub async fn ask<W: HttpConnector>(
        &self,
        of_system: Option<Peer>,
        http: &W,
        secrets: &Secrets,
    ) -> Result<Token, TokenError> {
        let failed = TokenError::Failed;
        let (peer, path, authority) = match (&self.asked.endpoint, of_system) {
            (TokenEndpoint::OfSystem { path, .. }, Some(peer)) => (peer, path, None),
            (TokenEndpoint::OfSystem { .. }, None) => {
                return Err(failed("it has no address".to_owned()));
            }
            (
                TokenEndpoint::Url {
                    authority,
                    host,
                    port,
                    path,
                    ..
                },
                _,
            ) => {
                let (host, port) = (host.clone(), *port);
                let lookup = find_address(&Address { host, port }).await;
                let address =
                    lookup.map_err(|why| failed(format!("it cannot be reached: {why}")))?;
                let tls = self.tls.clone();
                let peer = Peer {
                    tls,
                    ..Peer::from(address)
                };
                (peer, path, Some(authority))
            }
        };
        let peer = Peer {
            // Who one is at the system is not who the client is here.
            authorization: None,
            ..peer
        };
        let (headers, body) = self.request(authority, secrets)?;
        let request = Request {
            method: "POST",
            path,
            headers: &headers,
            body: &body,
        };
        let asked = Instant::now();
        let mut answer = LimitedBody::new(ANSWER_MAX_BYTES);
        let mut keep = |chunk: &[u8]| answer.add(chunk);
        let sent = http.connection(&peer).send(&request, &mut keep).await;
        let status = sent.map_err(|why| failed(why.to_string()))?;
        if answer.length > ANSWER_MAX_BYTES {
            let why = format!("its answer is longer than {ANSWER_MAX_BYTES} bytes");
            return Err(TokenError::Refused(why));
        }
        let (value, lasts) = read_answer(status, &answer.bytes, &|text| secrets.redact(text))?;
        Ok(Token {
            value,
            asked,
            lasts,
        })
    }

    /// Headers and body of the request.
    fn request(
        &self,
        authority: Option<&String>,
        secrets: &Secrets,
    ) -> Result<(Vec<(String, String)>, String), TokenError> {
        let asked = &self.asked;
        let value = |credential: &Credential| {
            let of_system = || secrets.placeholder(&credential.origin.as_ref()?.name());
            let text = credential.value.clone().or_else(of_system);
            text.ok_or_else(|| TokenError::Refused("its client has no id or secret yet".to_owned()))
        };
        let (id, secret) = (value(&asked.client_id)?, value(&asked.client_secret)?);
        // A server may log them as they are sent.
        secrets.tokens.hide(encode(&secret));
        let mut form = vec![("grant_type", "client_credentials")];
        let scope = asked.scope.iter();
        form.extend(scope.map(|scope| ("scope", scope.as_str())));
        let others = asked.parameters.iter();
        form.extend(others.map(|(name, value)| (name.as_str(), value.as_str())));
        let header = |name: &str, value: String| (name.to_owned(), value);
        let mut headers = vec![
            header(
                "Content-Type",
                "application/x-www-form-urlencoded".to_owned(),
            ),
            header("Accept", "application/json".to_owned()),
        ];
        headers.extend(authority.map(|authority| header("Host", authority.clone())));
        match asked.client_authentication {
            ClientAuthentication::Basic => {
                let words = format!("{}:{}", encode(&id), encode(&secret));
                let words = BASE64_STANDARD.encode(words);
                secrets.tokens.hide(words.clone());
                headers.push(header("Authorization", format!("Basic {words}")));
            }
            ClientAuthentication::Body => {
                form.extend([("client_id", &*id), ("client_secret", &*secret)]);
            }
        }
        let form = form.iter();
        let form = form.map(|(name, value)| format!("{}={}", encode(name), encode(value)));
        Ok((headers, form.collect::<Vec<_>>().join("&")))
    }
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, FORM).to_string()
}

/// The token in an answer, and how long it lasts (RFC 6749, 5.1 and 5.2). Nothing else of an answer is shown than its error.
fn read_answer(
    status: u16,
    body: &[u8],
    redact: &dyn Fn(&str) -> String,
) -> Result<(String, Option<Duration>), TokenError> {
    let json: Option<Value> = serde_json::from_slice(body).ok();
    if !(200..300).contains(&status) {
        let why = refusal(status, json.as_ref(), redact);
        let is_final = (400..500).contains(&status) && ![408, 429].contains(&status);
        return Err(match is_final {
            true => TokenError::Refused(why),
            false => TokenError::Failed(why),
        });
    }
    let refused = |why: &str| Err(TokenError::Refused(why.to_owned()));
    let Some(json) = json else {
        return refused("its answer is not JSON; is this the address that answers with tokens?");
    };
    let Some(token) = json["access_token"].as_str() else {
        return refused("its answer has no access_token");
    };
    let is_usable = (1..=TOKEN_MAX_BYTES).contains(&token.len())
        && token.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if !is_usable {
        return refused("its access_token cannot be in a header");
    }
    let lasts = match &json["expires_in"] {
        Value::Null => None,
        Value::Number(seconds) => Some(seconds.as_f64().unwrap_or(f64::NAN)),
        // Some servers write a text.
        Value::String(seconds) => Some(seconds.parse().unwrap_or(f64::NAN)),
        _ => Some(f64::NAN),
    };
    let lasts = match lasts {
        None => None,
        Some(seconds) => match Duration::try_from_secs_f64(seconds) {
            Ok(time) if time >= Duration::from_secs(1) => Some(time.min(LASTS_MAX)),
            // Some servers give the same token until it expires.
            Ok(_) => return Err(TokenError::Failed("its token expires at once".to_owned())),
            _ => return refused("its expires_in is no number of seconds from 1"),
        },
    };
    Ok((token.to_owned(), lasts))
}

/// Why an answer has no token, and what helps.
fn refusal(status: u16, json: Option<&Value>, redact: &dyn Fn(&str) -> String) -> String {
    let text = |key: &str| json.and_then(|json| json[key].as_str());
    let shown = |text: &str| -> String {
        // A part of a secret would not be found.
        let plain: String = text.chars().filter(|letter| !letter.is_control()).collect();
        redact(&plain).chars().take(DESCRIPTION_MAX).collect()
    };
    let error = text("error").map(shown);
    let remedy = match (error.as_deref(), status) {
        (Some("invalid_client"), _) | (None, 401) => {
            "; check client_id, client_secret and client_authentication of system.oauth2"
        }
        (Some("invalid_scope"), _) => "; check scope of system.oauth2",
        (Some("unauthorized_client" | "unsupported_grant_type"), _) => {
            "; the client must be allowed to use client credentials"
        }
        (None, 404 | 405) => "; is this the address that answers with tokens?",
        _ => "",
    };
    let description = text("error_description").map(shown);
    let description = description.map_or_else(String::new, |text| format!(" ({text})"));
    let error = error.map_or_else(String::new, |error| format!(", {error}"));
    format!("it answered with status {status}{error}{description}{remedy}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{TokenError, encode, read_answer};

    #[test]
    fn answers_are_read() {
        let check = |body: &str, expected: Option<u64>| {
            let (token, lasts) = read_answer(200, body.as_bytes(), &str::to_owned).unwrap();
            assert_eq!((&*token, lasts), ("t-1", expected.map(Duration::from_secs)));
        };
        check(
            r#"{"access_token": "t-1", "token_type": "Bearer", "expires_in": 3600}"#,
            Some(3600),
        );
        check(r#"{"access_token": "t-1", "expires_in": "60"}"#, Some(60));
        check(r#"{"access_token": "t-1"}"#, None);
    }

    #[test]
    fn answers_without_a_token_say_why() {
        let check = |status, body: &str, is_final: bool, expected: &str| {
            let error = read_answer(status, body.as_bytes(), &str::to_owned).unwrap_err();
            assert_eq!(matches!(error, TokenError::Refused(_)), is_final, "{body}");
            assert!(error.reason().contains(expected), "{}", error.reason());
        };
        let body = r#"{"error": "invalid_client", "error_description": "no\nsuch client"}"#;
        let expected = "status 401, invalid_client (nosuch client); check client_id";
        check(401, body, true, expected);
        check(400, r#"{"error": "invalid_scope"}"#, true, "check scope");
        check(404, "<html>", true, "status 404; is this");
        check(503, "", false, "status 503");
        check(429, "{}", false, "status 429");
        check(200, "<html>secret", true, "not JSON");
        check(200, "{}", true, "no access_token");
        check(
            200,
            r#"{"access_token": ""}"#,
            true,
            "cannot be in a header",
        );
        let body = r#"{"access_token": "a\r\nb"}"#;
        check(200, body, true, "cannot be in a header");
        let body = r#"{"access_token": "a", "expires_in": 0}"#;
        check(200, body, false, "expires at once");
        let body = r#"{"access_token": "a", "expires_in": -1}"#;
        check(200, body, true, "no number of seconds");
        let body = r#"{"access_token": "a", "expires_in": {}}"#;
        check(200, body, true, "no number of seconds");
    }

    #[test]
    fn forms_are_encoded() {
        assert_eq!(encode("a b&c=d/ä~*"), "a%20b%26c%3Dd%2F%C3%A4%7E*");
    }
}

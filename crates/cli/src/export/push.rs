//! Pushes by OTLP over HTTP/1.1: where to, with which headers, and one request.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::net::TcpStream;
use url::{Host, Url};

/// The variable with the headers of each push, such as a token. They are written nowhere.
pub(super) const HEADERS_VARIABLE: &str = "OTEL_EXPORTER_OTLP_HEADERS";
/// Timeout of a push, from connecting until its answer is complete.
pub(super) const PUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// Limit on an answer.
const ANSWER_MAX_BYTES: usize = 64 * 1024;

/// The receiver of pushes.
#[derive(Debug, Clone)]
pub(super) struct Receiver {
    host: String,
    port: u16,
    path: String,
    headers: HeaderMap,
    /// The URL without the headers, for messages.
    pub(super) url: String,
}

impl Receiver {
    /// Checks the URL, and the text of [`HEADERS_VARIABLE`]. Without a path, `/v1/metrics` is added.
    ///
    /// # Errors
    /// One of them is not valid; no value of a header is in the message.
    pub(super) fn new(url: &str, headers: Option<&str>) -> Result<Self> {
        let wrong = |expected: &str| anyhow!("--otlp \"{url}\": expected {expected}");
        let Ok(mut parsed) = Url::parse(url) else {
            bail!(wrong("a URL like http://127.0.0.1:4318"));
        };
        // A password in the URL is not repeated.
        ensure!(
            parsed.username().is_empty() && parsed.password().is_none(),
            "--otlp: expected a URL without user and password; tokens belong to {HEADERS_VARIABLE}"
        );
        match parsed.scheme() {
            "http" => {}
            "https" => bail!(wrong(
                "http://; for https:// let a collector on this machine forward the metrics"
            )),
            _ => bail!(wrong("a URL that begins with http://")),
        }
        ensure!(
            parsed.query().is_none() && parsed.fragment().is_none(),
            wrong("a URL without query and fragment")
        );
        let host = match parsed.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => bail!(wrong("a host")),
        };
        if parsed.path() == "/" {
            parsed.set_path("/v1/metrics");
        }
        let mut all = given_headers(headers.unwrap_or_default())?;
        let authority = HeaderValue::from_str(parsed.authority()).map_err(|_| wrong("a host"))?;
        all.insert(header::HOST, authority);
        let json = HeaderValue::from_static("application/json");
        all.insert(header::CONTENT_TYPE, json);
        Ok(Self {
            host,
            port: parsed.port_or_known_default().unwrap_or(80),
            path: parsed.path().to_owned(),
            headers: all,
            url: parsed.into(),
        })
    }

    /// Sends a body.
    ///
    /// # Errors
    /// It was not accepted as a whole within [`PUSH_TIMEOUT`].
    pub(super) async fn push(&self, body: String) -> Result<()> {
        let pushed = tokio::time::timeout(PUSH_TIMEOUT, self.exchange(body)).await;
        pushed.unwrap_or_else(|_| bail!("no answer within {} s", PUSH_TIMEOUT.as_secs()))
    }

    async fn exchange(&self, body: String) -> Result<()> {
        let mut request = Request::post(&self.path).body(Full::new(Bytes::from(body)))?;
        request.headers_mut().clone_from(&self.headers);
        let stream = TcpStream::connect((&*self.host, self.port)).await;
        let stream = stream.context("cannot connect")?;
        let io = TokioIo::new(stream);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
        let exchange = async {
            let answer = sender.send_request(request).await.context("no answer")?;
            let status = answer.status();
            ensure!(
                status.is_success(),
                "the answer has status {}",
                status.as_u16()
            );
            let text = Limited::new(answer.into_body(), ANSWER_MAX_BYTES);
            let text = text
                .collect()
                .await
                .map_err(|why| anyhow!("the answer: {why}"))?;
            check_rejected(&text.to_bytes())
        };
        tokio::select! {
            biased;
            answered = exchange => answered,
            // Errors of the connection are those of the exchange.
            _ = connection => bail!("the connection ended without an answer"),
        }
    }
}

/// A receiver may accept a part: `{"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "…"}}`.
fn check_rejected(answer: &[u8]) -> Result<()> {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let rejected = match &answer["partialSuccess"]["rejectedDataPoints"] {
        Value::String(text) => text.parse().unwrap_or(0),
        number => number.as_u64().unwrap_or(0),
    };
    ensure!(rejected == 0, "{rejected} data points were rejected");
    Ok(())
}

/// `name=value,name=value`; values are percent-encoded.
fn given_headers(text: &str) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    let pairs = text.split(',').map(str::trim);
    for (index, pair) in pairs.enumerate().filter(|(_, pair)| !pair.is_empty()) {
        let header = parse_header(pair);
        let (name, value) = header.with_context(|| {
            format!(
                "{HEADERS_VARIABLE}: pair {} is not NAME=VALUE of a header",
                index + 1
            )
        })?;
        headers.append(name, value);
    }
    Ok(headers)
}

fn parse_header(pair: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = pair.split_once('=')?;
    let value: Vec<u8> = percent_decode_str(value.trim()).collect();
    let mut value = HeaderValue::from_bytes(&value).ok()?;
    value.set_sensitive(true);
    Some((name.trim().parse().ok()?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_path_gets_that_of_metrics() {
        let check = |url: &str, expected: &str, host: &str| {
            let receiver = Receiver::new(url, None).unwrap();
            assert_eq!(receiver.url, expected);
            assert_eq!(receiver.host, host);
        };
        check("http://otel:4318", "http://otel:4318/v1/metrics", "otel");
        check("http://otel/", "http://otel/v1/metrics", "otel");
        check("http://[::1]:4318/", "http://[::1]:4318/v1/metrics", "::1");
        check(
            "http://127.0.0.1:9090/api/v1/otlp/v1/metrics",
            "http://127.0.0.1:9090/api/v1/otlp/v1/metrics",
            "127.0.0.1",
        );
    }

    #[test]
    fn mistakes_are_explained_without_secrets() {
        let check = |url: &str, headers: Option<&str>, expected: &str| {
            let error = format!("{:#}", Receiver::new(url, headers).unwrap_err());
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("secret"), "{error}");
        };
        check("otel:4318", None, "begins with http://");
        check("4318", None, "a URL like http://127.0.0.1:4318");
        check(
            "https://otel",
            None,
            "let a collector on this machine forward",
        );
        check("http://user:secret@otel", None, HEADERS_VARIABLE);
        check("http://otel?a=b", None, "without query and fragment");
        let second = "pair 2 is not NAME=VALUE";
        check("http://otel", Some("a=b,secret"), second);
        check("http://otel", Some("a=b,c=secret%0A"), second);
        check("http://otel", Some("a=b,c c=secret"), second);
    }

    #[test]
    fn headers_are_decoded_and_sensitive() {
        let receiver =
            Receiver::new("http://otel", Some(" authorization=Bearer%20x , b=c=d,")).unwrap();
        let value = |name: &str| receiver.headers[name].to_str().unwrap();
        assert_eq!(value("authorization"), "Bearer x");
        assert_eq!(value("b"), "c=d");
        assert!(!format!("{receiver:?}").contains("Bearer"), "{receiver:?}");
    }

    #[test]
    fn rejected_points_are_a_failure() {
        assert!(check_rejected(b"{}").is_ok());
        assert!(check_rejected(b"").is_ok());
        assert!(check_rejected(br#"{"partialSuccess":{}}"#).is_ok());
        let rejected = br#"{"partialSuccess":{"rejectedDataPoints":"3"}}"#;
        assert!(check_rejected(rejected).is_err());
    }
}

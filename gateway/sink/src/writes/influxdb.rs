//! Writes to InfluxDB 2 over a kept-alive connection: sends a body, reads an answer. `verdict` interprets the answer.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;

use crate::{error::SinkError, settings::SinkSettings};
use waggle_influxdb::{Address, NoAnswer, Open, Token};

/// The part of an answer that is read.
const ANSWER_MAX_BYTES: usize = 64 * 1024;

/// The destination of writes.
#[derive(Debug)]
pub(crate) struct Influxdb {
    address: Address,
    /// Path and query of the write call.
    target: Uri,
    token: Token,
    connect_timeout: Duration,
    write_timeout: Duration,
}

/// An answer to a write.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl Influxdb {
    pub(crate) fn new(settings: &SinkSettings, token: Option<String>) -> Result<Self, SinkError> {
        let address = Address::parse(&settings.influxdb_url, settings.influxdb_ca.as_deref())?;
        let parameters = [
            ("org", &*settings.influxdb_org),
            ("bucket", &settings.influxdb_bucket),
            ("precision", "ns"),
        ];
        Ok(Self {
            target: address.target("/api/v2/write", &parameters)?,
            address,
            token: Token::new(settings.influxdb_token_file.clone(), token)?,
            connect_timeout: settings.influxdb_connect_timeout,
            write_timeout: settings.write_timeout,
        })
    }

    /// Reads the token from its file again, if it comes from one.
    pub(crate) fn renew_token(&self) -> Result<(), SinkError> {
        Ok(self.token.renew()?)
    }

    fn request(&self, body: &Body) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body.bytes.clone()));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = self.target.clone();
        let headers = request.headers_mut();
        headers.insert(header::HOST, self.address.authority.clone());
        headers.insert(header::AUTHORIZATION, self.token.header());
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        if body.is_gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        request
    }

    async fn connect(&self) -> Result<Kept, NoAnswer> {
        Ok(Kept {
            open: self.address.connect(self.connect_timeout).await?,
            is_over: false,
        })
    }

    async fn exchange(&self, kept: &mut Kept, body: &Body) -> Result<Answered, NoAnswer> {
        let failed = |source| self.address.connection_error(source);
        let sender = &mut kept.open.sender;
        let asking = async {
            sender.ready().await.map_err(failed)?;
            let response = sender
                .send_request(self.request(body))
                .await
                .map_err(failed)?;
            let status = response.status().as_u16();
            let retry_after = response.headers().get(header::RETRY_AFTER);
            let retry_after = retry_after
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned);
            let (body, is_whole) = read(response.into_body()).await.map_err(failed)?;
            let answered = Answered {
                status,
                retry_after,
                body,
            };
            Ok((answered, is_whole))
        };
        match tokio::time::timeout(self.write_timeout, asking).await {
            Ok(Ok((answered, is_whole))) => {
                kept.is_over |= !is_whole;
                Ok(answered)
            }
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(self.address.timed_out(self.write_timeout)),
        }
    }
}

/// The answer's body up to the limit, and whether that is all of it.
async fn read(mut incoming: Incoming) -> Result<(Vec<u8>, bool), hyper::Error> {
    let mut body = Vec::new();
    while let Some(frame) = incoming.frame().await {
        let frame = frame?;
        let Some(piece) = frame.data_ref() else {
            continue;
        };
        let room = ANSWER_MAX_BYTES - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            return Ok((body, false));
        }
    }
    Ok((body, true))
}

/// A body to write.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    pub(crate) is_gzip: bool,
}

/// A connection that is opened when it is needed.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    kept: Option<Kept>,
}

#[derive(Debug)]
struct Kept {
    open: Open,
    is_over: bool,
}

impl Connection {
    /// Writes and waits for the answer.
    pub(crate) async fn write(&mut self, to: &Influxdb, body: &Body) -> Result<Answered, NoAnswer> {
        // The server may have closed an idle connection just now, which is not a failure: the write is repeated once.
        let kept = self.kept.take();
        if let Some(mut kept) = kept.filter(|kept| !kept.open.sender.is_closed()) {
            match to.exchange(&mut kept, body).await {
                Err(NoAnswer::Http { .. }) => {}
                answered => return self.keep(kept, answered),
            }
        }
        let mut kept = to.connect().await?;
        let answered = to.exchange(&mut kept, body).await;
        self.keep(kept, answered)
    }

    fn keep(
        &mut self,
        kept: Kept,
        answered: Result<Answered, NoAnswer>,
    ) -> Result<Answered, NoAnswer> {
        if answered.is_ok() && !kept.is_over {
            self.kept = Some(kept);
        }
        answered
    }
}

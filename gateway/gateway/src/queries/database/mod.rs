//! Queries on InfluxDB, for a log on Kafka whose records a sink writes there. Parameters of calls become Flux; texts of clients
//! are passed on. It has its own thread, so that answers of any size do not block workers.

mod flux;
mod problem;
mod rows;
mod settings;

pub(crate) use flux::Question;
pub(crate) use problem::{Author, Failure};
pub(crate) use rows::{Gathered, Limits};
pub use settings::DatabaseSettings;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::{runtime::Handle, sync::oneshot, task::AbortHandle, time::Instant};

use waggle_influxdb::{Address, AddressError, Open, Token, TokenError, annotated_csv::Csv, form};

use crate::{
    clients::turns::{NoTurn, Turn, Turns},
    settings::Settings,
};
use rows::Gathering;

/// The part of a refusal that is read.
const REFUSAL_MAX_BYTES: usize = 64 * 1024;
/// The placeholder of the topic's name in the bucket's.
const TOPIC_PLACE: &str = "{topic}";

/// The language of a query that is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Flux,
    InfluxQl,
}

/// An answer to pass on.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) media_type: Option<HeaderValue>,
    pub(crate) body: Vec<u8>,
}

/// Why the database cannot be queried.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("--influxdb-url: {0}")]
    Address(#[from] AddressError),
    #[error("--influxdb-token-file: {0}")]
    Token(#[from] TokenError),
    #[error("starting a thread for queries: {0}")]
    Thread(std::io::Error),
}

/// The database that answers queries.
pub(crate) struct Database {
    asking: Arc<Asking>,
    /// Runtime of the queries' thread.
    thread: Handle,
    turns: Turns,
    pub(crate) within: Duration,
    bucket: String,
    /// Ends the thread when dropped.
    _end: oneshot::Sender<()>,
}

/// Permission to run a query, until its deadline.
pub(crate) struct Permit {
    until: Instant,
    _turn: Turn,
}

/// What a query needs.
struct Asking {
    address: Address,
    token: Token,
    /// For Flux, and for InfluxQL without the bucket's name.
    flux: Uri,
    org: String,
    connect_within: Duration,
}

impl Database {
    /// The database of the settings; does not connect yet.
    pub(crate) fn open(
        settings: &Settings,
        token: Option<String>,
    ) -> Result<Option<Self>, DatabaseError> {
        let database = &settings.database;
        let (Some(url), Some(org), Some(bucket)) = (
            &database.influxdb_url,
            &database.influxdb_org,
            &database.influxdb_bucket,
        ) else {
            return Ok(None);
        };
        let address = Address::parse(url, database.influxdb_ca.as_deref())?;
        let asking = Asking {
            flux: address.target("/api/v2/query", &[("org", org)])?,
            address,
            token: Token::new(database.influxdb_token_file.clone(), token)?,
            org: org.clone(),
            connect_within: database.influxdb_connect_timeout,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(DatabaseError::Thread)?;
        let thread = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        std::thread::Builder::new()
            .name("queries".to_owned())
            .spawn(move || {
                // Nothing is sent: it ends when the sender is dropped.
                let _ = runtime.block_on(ended);
            })
            .map_err(DatabaseError::Thread)?;
        Ok(Some(Self {
            asking: Arc::new(asking),
            thread,
            turns: Turns::new(settings.query_concurrency),
            within: database.query_timeout,
            bucket: bucket.clone(),
            _end: end,
        }))
    }

    /// The bucket with a topic's records.
    pub(crate) fn bucket(&self, topic: &str) -> String {
        self.bucket.replace(TOPIC_PLACE, topic)
    }

    /// Whether a bucket has records of several topics, so that a query of one finds those of all.
    pub(crate) fn is_shared_by_topics(&self) -> bool {
        !self.bucket.contains(TOPIC_PLACE)
    }

    /// Waits until a query may start.
    pub(crate) async fn acquire(&self) -> Result<Permit, Failure> {
        let until = Instant::now() + self.within;
        match self.turns.take(self.within).await {
            Ok(turn) => Ok(Permit { until, _turn: turn }),
            Err(NoTurn::Busy) => Err(Failure::Busy),
            Err(NoTurn::Late) => Err(Failure::Late(self.within)),
        }
    }

    /// Rows as JSON.
    pub(crate) async fn rows(
        &self,
        permit: Permit,
        question: Question,
        limits: Limits,
    ) -> Result<Gathered, Failure> {
        if question.matches_nothing() {
            return Ok(Gathering::new(&question, limits).into_gathered());
        }
        let asking = Arc::clone(&self.asking);
        self.on_thread(permit, async move { asking.rows(&question, limits).await })
            .await
    }

    /// The database's answer to a query of a client.
    pub(crate) async fn pass(
        &self,
        permit: Permit,
        language: Language,
        text: Bytes,
        bytes_max: usize,
    ) -> Result<Passed, Failure> {
        let asking = Arc::clone(&self.asking);
        let bucket = self.bucket.clone();
        self.on_thread(permit, async move {
            asking.pass(language, text, &bucket, bytes_max).await
        })
        .await
    }

    /// Runs the work on the queries' thread, until the deadline.
    async fn on_thread<T: Send + 'static>(
        &self,
        permit: Permit,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        // It is held until the work ends, which is when the client has left at the latest.
        let working = async move {
            let _permit = &permit;
            tokio::time::timeout_at(permit.until, work).await
        };
        let working = self.thread.spawn(working);
        let _abort = AbortWhenDropped(working.abort_handle());
        match working.await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => Err(Failure::Late(self.within)),
            Err(_) => Err(Failure::Lost),
        }
    }
}

/// Ends a task when it is dropped; nothing happens if that has ended.
struct AbortWhenDropped(AbortHandle);

impl Drop for AbortWhenDropped {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Asking {
    async fn rows(&self, question: &Question, limits: Limits) -> Result<Gathered, Failure> {
        let body = serde_json::json!({
            "query": question.text(),
            "type": "flux",
            "dialect": { "annotations": ["datatype"], "header": true, "delimiter": "," },
        });
        let (_open, answer) = self
            .exchange(&self.flux, "application/json", body.to_string().into())
            .await?;
        let mut answer = answer.into_body();
        let (mut csv, mut gathering) = (Csv::default(), Gathering::new(question, limits));
        while let Some(piece) = self.piece(&mut answer).await? {
            if !csv.feed(&piece, &mut gathering)? {
                return Ok(gathering.into_gathered());
            }
        }
        csv.end()?;
        Ok(gathering.into_gathered())
    }

    async fn pass(
        &self,
        language: Language,
        text: Bytes,
        bucket: &str,
        bytes_max: usize,
    ) -> Result<Passed, Failure> {
        let (_open, answer) = match language {
            Language::Flux => {
                self.exchange(&self.flux, "application/vnd.flux", text)
                    .await?
            }
            Language::InfluxQl => {
                let text = std::str::from_utf8(&text).map_err(|_| Failure::NoText)?;
                let parameters = [("org", &*self.org), ("db", bucket), ("epoch", "ns")];
                let target = self.address.target("/query", &parameters)?;
                let body = form(&[("q", text)]).into();
                self.exchange(&target, "application/x-www-form-urlencoded", body)
                    .await?
            }
        };
        let media_type = answer.headers().get(header::CONTENT_TYPE).cloned();
        let (mut body, mut answer) = (Vec::new(), answer.into_body());
        while let Some(piece) = self.piece(&mut answer).await? {
            if body.len() + piece.len() > bytes_max {
                return Err(Failure::TooLarge(bytes_max));
            }
            body.extend_from_slice(&piece);
        }
        Ok(Passed { media_type, body })
    }

    /// Sends the query on its own connection; once more if the token was refused and its file has a new one.
    async fn exchange(
        &self,
        target: &Uri,
        content_type: &'static str,
        body: Bytes,
    ) -> Result<(Open, Response<Incoming>), Failure> {
        let mut token = self.token.header();
        loop {
            let mut open = self.address.connect(self.connect_within).await?;
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = Method::POST;
            *request.uri_mut() = target.clone();
            let headers = request.headers_mut();
            headers.insert(header::HOST, self.address.authority.clone());
            headers.insert(header::AUTHORIZATION, token.clone());
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
            let asked = open.sender.send_request(request).await;
            let mut response = asked.map_err(|error| self.address.connection_error(error))?;
            let status = response.status().as_u16();
            if status == 200 {
                return Ok((open, response));
            }
            if status == 401 {
                self.token.renew()?;
                let before = std::mem::replace(&mut token, self.token.header());
                if before != token {
                    continue;
                }
            }
            let mut body = Vec::new();
            while let Some(piece) = self.piece(response.body_mut()).await? {
                body.extend_from_slice(&piece);
                if body.len() > REFUSAL_MAX_BYTES {
                    break;
                }
            }
            return Err(Failure::from_answer(status, &body));
        }
    }

    /// The next part of an answer.
    async fn piece(&self, answer: &mut Incoming) -> Result<Option<Bytes>, Failure> {
        while let Some(frame) = answer.frame().await {
            let frame = frame.map_err(|error| self.address.connection_error(error))?;
            if let Ok(piece) = frame.into_data() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }
}

//! Queries on InfluxDB, where the log is a Kafka cluster whose records a sink writes there. The calls' own questions are asked in
//! Flux, texts of clients are passed on. It has a thread of its own, so that answers of any size cost workers nothing.

mod flux;
mod problem;
mod rows;
mod settings;

pub(crate) use flux::Question;
pub(crate) use problem::{Author, Failure};
pub(crate) use rows::{Gathered, Limits};
pub use settings::DatabaseSettings;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;

use waggle_influxdb::annotated_csv::Csv;
use waggle_influxdb::{Address, AddressError, Open, Token, TokenError, form};

use crate::settings::Settings;
use rows::Gathering;

/// Queries that may wait for each one that is worked on.
const WAITING_PER_QUERY: usize = 16;
/// Of a refusal, what is looked at.
const REFUSAL_MAX_BYTES: usize = 64 * 1024;
/// What stands for the topic's name in the bucket's.
const TOPIC_PLACE: &str = "{topic}";

/// A text that a client wants passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Flux,
    InfluxQl,
}

/// An answer that is passed on.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) media_type: Option<HeaderValue>,
    pub(crate) body: Vec<u8>,
}

/// Why queries cannot be asked of the database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("--influxdb-url: {0}")]
    Address(#[from] AddressError),
    #[error("--influxdb-token-file: {0}")]
    Token(#[from] TokenError),
    #[error("starting a thread for queries: {0}")]
    Thread(std::io::Error),
}

/// The database that queries are asked of.
pub(crate) struct Database {
    asking: Arc<Asking>,
    /// Of the thread that asks.
    thread: Handle,
    asked: Arc<Semaphore>,
    working: Arc<Semaphore>,
    within: Duration,
    bucket: String,
    /// Texts of clients are passed on.
    pub(crate) passes_texts: bool,
    /// Dropped with it, which ends the thread.
    _end: oneshot::Sender<()>,
}

/// A query may be worked on as long as this is kept, and no longer than its time.
pub(crate) struct Turn {
    until: Instant,
    _permits: [OwnedSemaphorePermit; 2],
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
    /// The one that the settings name; nothing is asked of it yet.
    pub(crate) fn open(
        settings: &Settings,
        token: Option<String>,
    ) -> Result<Option<Self>, DatabaseError> {
        let own = &settings.database;
        let (Some(url), Some(org), Some(bucket)) =
            (&own.influxdb_url, &own.influxdb_org, &own.influxdb_bucket)
        else {
            return Ok(None);
        };
        let address = Address::parse(url)?;
        let asking = Asking {
            flux: address.target("/api/v2/query", &[("org", org)])?,
            address,
            token: Token::new(own.influxdb_token_file.clone(), token)?,
            org: org.clone(),
            connect_within: own.influxdb_connect_timeout,
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
                // Nothing is ever sent: it ends when the sender is dropped.
                let _ = runtime.block_on(ended);
            })
            .map_err(DatabaseError::Thread)?;
        Ok(Some(Self {
            asking: Arc::new(asking),
            thread,
            asked: Arc::new(Semaphore::new(settings.readers * (1 + WAITING_PER_QUERY))),
            working: Arc::new(Semaphore::new(settings.readers)),
            within: own.query_timeout,
            bucket: bucket.clone(),
            passes_texts: own.query_pass_through,
            _end: end,
        }))
    }

    /// The bucket with a topic's records.
    pub(crate) fn bucket(&self, topic: &str) -> String {
        self.bucket.replace(TOPIC_PLACE, topic)
    }

    /// Waits until a query may begin.
    pub(crate) async fn turn(&self) -> Result<Turn, Failure> {
        let until = Instant::now() + self.within;
        let asked = Arc::clone(&self.asked)
            .try_acquire_owned()
            .map_err(|_| Failure::Busy)?;
        let working = Arc::clone(&self.working).acquire_owned();
        match tokio::time::timeout_at(until, working).await {
            Ok(Ok(working)) => Ok(Turn {
                until,
                _permits: [asked, working],
            }),
            // Nobody closes it.
            Ok(Err(_)) => Err(Failure::Lost),
            Err(_) => Err(Failure::Late(self.within)),
        }
    }

    /// Rows as JSON.
    pub(crate) async fn rows(
        &self,
        turn: Turn,
        question: Question,
        limits: Limits,
    ) -> Result<Gathered, Failure> {
        if question.is_of_nothing() {
            return Ok(Gathering::new(&question, limits).into_gathered());
        }
        let asking = Arc::clone(&self.asking);
        self.on_thread(turn, async move { asking.rows(&question, limits).await })
            .await
    }

    /// What the database says to a text.
    pub(crate) async fn pass(
        &self,
        turn: Turn,
        language: Language,
        text: Bytes,
        bytes_max: usize,
    ) -> Result<Passed, Failure> {
        let asking = Arc::clone(&self.asking);
        let bucket = self.bucket.clone();
        self.on_thread(turn, async move {
            asking.pass(language, text, &bucket, bytes_max).await
        })
        .await
    }

    /// Does the work on the queries' thread, within the time that is left for it.
    async fn on_thread<T: Send + 'static>(
        &self,
        turn: Turn,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        // It lasts as long as the work does, also when nobody waits for it any more.
        let working = async move {
            let _turn = &turn;
            tokio::time::timeout_at(turn.until, work).await
        };
        match self.thread.spawn(working).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => Err(Failure::Late(self.within)),
            Err(_) => Err(Failure::Lost),
        }
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

    /// Asks, on a connection of its own; once more where the token was refused and its file has another one by now.
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
            let mut told = Vec::new();
            while let Some(piece) = self.piece(response.body_mut()).await? {
                told.extend_from_slice(&piece);
                if told.len() > REFUSAL_MAX_BYTES {
                    break;
                }
            }
            return Err(Failure::from_answer(status, &told));
        }
    }

    /// What comes next of an answer.
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

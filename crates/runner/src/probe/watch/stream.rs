//! The answers of a watch: where each begins, and what is known about what came between two of them.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use serde_json_path::JsonPath;
use waggle_study::{JsonValue, Probe, WatchBegin, WatchVersions};
use waggle_system::{
    components::driver::Failure,
    http::{
        client::{HttpConnection, HttpConnector, HttpError, HttpStream, Network, Request},
        json::text_at,
        peer::Peer,
    },
    placeholder::fill,
    problem::Problem,
    secrets::{
        tokens::Tokens,
        words::{Secrets, TOKEN},
    },
};

use crate::probe::{config::ProbeError, document};

/// Most answers that a probe reads, one after the other.
pub(super) const ANSWERS_MAX: u64 = 10_000;
/// The status of a server that cannot go on from a version (RFC 9110, 15.5.11).
const GONE: u16 = 410;

/// The stream of one probe.
#[derive(Debug)]
pub(crate) struct WatchStream {
    get: String,
    headers: Vec<(String, String)>,
    tokens: Tokens,
    versions: Option<Versions>,
    http: HttpConnection,
    /// The answer that is read; `None`: it is still to be requested.
    pub(super) answer: Option<HttpStream>,
    /// The version of the last line.
    version: Option<String>,
    /// Path and query of the last request.
    path: String,
    /// The version from which its answer goes on; `None`: it begins anew.
    pub(super) went_on_from: Option<String>,
    /// Answers so far.
    pub(super) answers: u64,
    /// How often the server could not go on.
    gone: u64,
    /// Why the last answer broke that did not come to its end.
    broken: Option<String>,
    /// Bytes of documents that were asked for a version.
    pub(super) bytes_read: u64,
}

/// The versions of a system's file, with paths that are parsed.
#[derive(Debug)]
struct Versions {
    begin: Begin,
    path: JsonPath,
    path_text: String,
}

/// The first version, as in [`WatchBegin`].
#[derive(Debug)]
enum Begin {
    At(String),
    Asked { get: String, path: JsonPath },
}

impl Versions {
    fn new(versions: &WatchVersions) -> Result<Self, Problem> {
        let begin = match &versions.begin {
            WatchBegin::At(text) => Begin::At(text.clone()),
            WatchBegin::Asked { get, path } => Begin::Asked {
                get: get.clone(),
                path: json_path(path)?,
            },
        };
        Ok(Self {
            begin,
            path: json_path(&versions.path)?,
            path_text: versions.path.clone(),
        })
    }
}

/// Values that a line must have.
#[derive(Debug)]
pub(super) struct Values(Vec<(JsonPath, String)>);

impl Values {
    pub(super) fn new(values: &[JsonValue]) -> Result<Self, Problem> {
        let parsed = values
            .iter()
            .map(|value| Ok((json_path(&value.path)?, value.text.clone())));
        parsed.collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a line has all of them.
    pub(super) fn hold(&self, line: &Value) -> bool {
        let mut values = self.0.iter();
        values.all(|(path, text)| text_at(line, path).as_ref() == Some(text))
    }
}

impl WatchStream {
    /// A stream that is not requested yet. `watch` is of this probe.
    pub(crate) fn new(
        probe: &Probe,
        watch: &waggle_study::Watch,
        peer: &Peer,
        secrets: &Secrets,
    ) -> Result<Self, Failure> {
        let failed = |why: Problem| Failure::new(format!("probe \"{}\": {why}", probe.name));
        let mut headers = watch.headers.clone();
        for (_, value) in &mut headers {
            *value = secrets
                .fill_but_token(value)
                .map_err(|why| failed(Problem(why.to_string())))?;
        }
        let versions = watch.versions.as_ref().map(Versions::new).transpose();
        Ok(Self {
            get: watch.get.clone(),
            headers,
            tokens: secrets.tokens.clone(),
            versions: versions.map_err(failed)?,
            http: Network.connection(peer),
            answer: None,
            version: None,
            path: watch.get.clone(),
            went_on_from: None,
            answers: 0,
            gone: 0,
            broken: None,
            bytes_read: 0,
        })
    }

    /// Requests the next answer: from the version of the last line, or anew if the server cannot go on from there.
    pub(crate) async fn open(&mut self) -> Result<(), ProbeError> {
        if self.answers >= ANSWERS_MAX {
            let broken = self.broken.as_ref();
            let why = broken.map_or(String::new(), |why| {
                format!("; the last one that broke: {why}")
            });
            return Err(self.problem(format!("it has been answered {ANSWERS_MAX} times{why}")));
        }
        let mut status = self.request().await?;
        if status == GONE && self.went_on_from.is_some() {
            self.lose_place();
            status = self.request().await?;
        }
        match status {
            200 => Ok(()),
            _ => {
                let path = self.path.clone();
                Err(HttpError::Status { path, status }.into())
            }
        }
    }

    async fn request(&mut self) -> Result<u16, ProbeError> {
        self.answer = None;
        self.went_on_from = self.version.clone();
        let from = match self.version.clone() {
            Some(version) => version,
            None => self.first_version().await?,
        };
        let encoded = utf8_percent_encode(&from, NON_ALPHANUMERIC).to_string();
        let value = |name: &str| (name == "version").then(|| encoded.clone());
        // The system's file was checked, so there is no other placeholder.
        self.path = fill(&self.get, value).unwrap_or_else(|_| self.get.clone());
        let headers = self.headers_with_token();
        let request = Request {
            headers: &headers,
            ..Request::get(&self.path)
        };
        let (status, answer) = self.http.stream(&request).await?;
        self.answers += 1;
        self.answer = (status == 200).then_some(answer);
        Ok(status)
    }

    /// The headers of the next request.
    fn headers_with_token(&self) -> Vec<(String, String)> {
        let token = self.tokens.newest();
        let value = |name: &str| match &token {
            Some(token) if name == TOKEN => Some(token.value.clone()),
            _ => None,
        };
        let headers = self.headers.iter();
        // The system's file was checked, so there is no other placeholder.
        let filled = headers.map(|(name, text)| {
            let text_with_token = fill(text, value).unwrap_or_else(|_| text.clone());
            (name.clone(), text_with_token)
        });
        filled.collect()
    }

    /// The version at which to begin anew; empty without versions.
    async fn first_version(&mut self) -> Result<String, ProbeError> {
        let (get, path) = match self.versions.as_ref().map(|versions| &versions.begin) {
            None => return Ok(String::new()),
            Some(Begin::At(text)) => return Ok(text.clone()),
            Some(Begin::Asked { get, path }) => (get, path),
        };
        let headers = self.headers_with_token();
        let request = Request {
            headers: &headers,
            ..Request::get(get)
        };
        let body = document::body(&mut self.http, &request, &mut self.bytes_read).await?;
        let answer = |problem: String| ProbeError::Answer {
            path: get.clone(),
            problem,
        };
        let value: Value = serde_json::from_slice(&body)
            .map_err(|why| answer(format!("the answer is not JSON: {why}")))?;
        let version = text_at(&value, path)
            .ok_or_else(|| answer("the answer has no version where begin says".to_owned()))?;
        // If the answer ends before its first line, the next one goes on from here.
        self.version = Some(version.clone());
        Ok(version)
    }

    /// The version of a line, if it has one.
    pub(super) fn version_of(&self, line: &Value) -> Option<String> {
        text_at(line, &self.versions.as_ref()?.path)
    }

    /// The next answer goes on behind a line with this version.
    pub(super) fn go_on_from(&mut self, version: Option<String>) {
        if version.is_some() {
            self.version = version;
        }
    }

    /// Where lines have their version; `None`: they have none.
    pub(super) fn version_path(&self) -> Option<&str> {
        let versions = self.versions.as_ref()?;
        Some(&versions.path_text)
    }

    /// Whether answers show what was there before: all that do not go on from a version, except those from a version that the
    /// server was asked for.
    pub(super) fn shows_existing(&self) -> bool {
        let begin = self.versions.as_ref().map(|versions| &versions.begin);
        self.went_on_from.is_none() && !matches!(begin, Some(Begin::Asked { .. }))
    }

    /// The next request goes on where this answer is.
    pub(super) fn close(&mut self) {
        self.answer = None;
    }

    /// The same after an answer that did not come to its end.
    pub(super) fn end_broken(&mut self, problem: &HttpError) {
        self.broken = Some(problem.to_string());
        self.close();
    }

    /// The server cannot go on from the version of the last line.
    pub(super) fn lose_place(&mut self) {
        self.gone += 1;
        self.begin_anew();
    }

    /// The next request begins anew.
    pub(super) fn begin_anew(&mut self) {
        self.answer = None;
        self.version = None;
    }

    /// An error of the answer.
    pub(super) fn problem(&self, problem: String) -> ProbeError {
        ProbeError::Answer {
            path: self.path.clone(),
            problem,
        }
    }

    /// What is not known because the stream was interrupted, for the report.
    pub(super) fn remark(&self) -> Option<String> {
        let times = |count: u64| match count {
            1 => "once".to_owned(),
            _ => format!("{count} times"),
        };
        let again = self.answers.saturating_sub(1);
        match &self.versions {
            None if again > 0 => Some(format!(
                "the answer ended and was requested again {}: records that came in between may not have been shown, and then count as missing",
                times(again)
            )),
            Some(versions) if self.gone > 0 => {
                let lost = match versions.begin {
                    Begin::At(_) => {
                        "what was still there then was seen, and records that had been removed count as missing"
                    }
                    Begin::Asked { .. } => {
                        "records that came in between were not shown and count as missing"
                    }
                };
                Some(format!(
                    "the server could not go on from the last version {}, and the watch began anew: {lost}",
                    times(self.gone)
                ))
            }
            _ => None,
        }
    }
}

fn json_path(text: &str) -> Result<JsonPath, Problem> {
    JsonPath::parse(text).map_err(|why| Problem(format!("{text}: {why}")))
}

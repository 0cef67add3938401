//! Errors as clients see them: RFC 9457 `application/problem+json`, with the positions of mistakes in a body.

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;
use waggle_record::Mistake;

const MEDIA_TYPE: &str = "application/problem+json";
/// `Retry-After` of 429 and 503, if nothing else is known.
pub(crate) const RETRY_AFTER_SECONDS: &str = "1";
/// The longest `Retry-After`.
pub(crate) const RETRY_AFTER_MAX: u64 = 60;
/// From 0 seconds on.
static SECONDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    (0..=RETRY_AFTER_MAX)
        .map(|seconds| seconds.to_string())
        .collect()
});

/// A refused or failed request.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    pub(crate) detail: String,
    pub(crate) mistakes: Vec<Mistake>,
    /// When to try again, if that is known.
    pub(crate) retry_after_s: Option<u64>,
}

impl Problem {
    pub(crate) fn new(status: u16, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
            mistakes: Vec::new(),
            retry_after_s: None,
        }
    }

    /// A body that could not be parsed.
    pub(crate) fn mistakes(mistakes: Vec<Mistake>) -> Self {
        let detail = mistakes
            .first()
            .map_or_else(String::new, ToString::to_string);
        Self {
            status: 400,
            detail,
            mistakes,
            retry_after_s: None,
        }
    }

    /// The store cannot write.
    pub(crate) fn store_failed() -> Self {
        Self::new(
            503,
            "the store cannot write at the moment; nothing of this request was stored",
        )
    }

    /// The store has its maximum size. To try again is of no use until somebody makes room.
    pub(crate) fn store_full() -> Self {
        Self::new(
            507,
            "the store is full (--store-max-bytes); nothing of this request was stored",
        )
    }

    /// The store failed while it committed, and what it wrote could not be overwritten.
    pub(crate) fn commit_failed() -> Self {
        Self::new(
            503,
            "the store failed during a commit; records of this request may be in the log nevertheless",
        )
    }

    /// The queue is full.
    pub(crate) fn queue_full() -> Self {
        Self::new(503, "too many records wait for the log; try again")
    }

    /// No further topic is allowed.
    pub(crate) fn too_many_topics() -> Self {
        Self::new(
            507,
            "as many topics exist as this gateway holds (--topics-max)",
        )
    }

    /// What is known of when the same request is not refused: 1 to 60 seconds.
    pub(crate) fn with_retry_after(self, seconds: u64) -> Self {
        Self {
            retry_after_s: Some(seconds.clamp(1, RETRY_AFTER_MAX)),
            ..self
        }
    }

    pub(crate) fn retry_after(&self) -> Option<&'static str> {
        let seconds = self.retry_after_s;
        let known = seconds.and_then(|seconds| SECONDS.get(usize::try_from(seconds).ok()?));
        let text = known.map_or(RETRY_AFTER_SECONDS, String::as_str);
        matches!(self.status, 429 | 503).then_some(text)
    }

    /// How a client says who it is, which 401 must name (RFC 9110, section 11.6.1).
    pub(crate) fn challenge(&self) -> Option<&'static str> {
        (self.status == 401)
            .then_some("Bearer realm=\"waggle-gateway\", Basic realm=\"waggle-gateway\"")
    }

    /// The fields of its answer, but for the length.
    pub(crate) fn fields(&self) -> Vec<(&'static str, &'static [u8])> {
        let mut fields: Vec<(&str, &[u8])> = vec![("content-type", MEDIA_TYPE.as_bytes())];
        if let Some(seconds) = self.retry_after() {
            fields.push(("retry-after", seconds.as_bytes()));
        }
        if let Some(challenge) = self.challenge() {
            fields.push(("www-authenticate", challenge.as_bytes()));
        }
        fields
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        let first = self.mistakes.first();
        let body = ProblemBody {
            r#type: "about:blank",
            title: StatusCode::from_u16(self.status)
                .ok()
                .and_then(|status| status.canonical_reason())
                .unwrap_or("Error"),
            status: self.status,
            detail: &self.detail,
            line: first.map(|mistake| mistake.line),
            column: first.map(|mistake| mistake.column),
            errors: self
                .mistakes
                .iter()
                .map(|mistake| PlacedProblem {
                    line: mistake.line,
                    column: mistake.column,
                    problem: &mistake.problem,
                })
                .collect(),
        };
        serde_json::to_vec(&body).expect("strings and numbers are always JSON")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response =
            (status, [(header::CONTENT_TYPE, MEDIA_TYPE)], self.to_json()).into_response();
        if let Some(seconds) = self.retry_after() {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from_static(seconds));
        }
        if let Some(challenge) = self.challenge() {
            response.headers_mut().insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static(challenge),
            );
        }
        response
    }
}

/// A problem in the form of RFC 9457.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody<'a> {
    /// Always `about:blank`: the status says what kind it is.
    #[schema(example = "about:blank")]
    r#type: &'a str,
    /// Name of the status.
    #[schema(example = "Bad Request")]
    title: &'a str,
    #[schema(example = 400)]
    status: u16,
    /// What is wrong, in a sentence.
    #[schema(example = "line 1, column 4: expected a field, found the end of the line")]
    detail: &'a str,
    /// Line of the first mistake, counted from 1; only for a body that could not be parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// In characters, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    /// Every mistake, up to 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<PlacedProblem<'a>>,
}

/// One mistake in a body, with its position.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlacedProblem)]
pub(crate) struct PlacedProblem<'a> {
    line: usize,
    column: usize,
    problem: &'a str,
}

//! Errors of a query on InfluxDB, and the problems that clients get.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use waggle_influxdb::{AddressError, NoAnswer, TokenError, annotated_csv::CsvError};
use waggle_service::log;

use crate::answers::problem::Problem;

/// Shortest time between two warnings.
const WARN_EVERY: Duration = Duration::from_secs(1);
/// Longest message of the database in a problem.
const TOLD_MAX_CHARACTERS: usize = 1000;

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("too many queries wait already")]
    Busy,
    #[error("no answer from InfluxDB within {0:?}")]
    Late(Duration),
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    #[error("InfluxDB answered {status}: {message}")]
    Refused { status: u16, message: String },
    #[error(transparent)]
    Csv(#[from] CsvError),
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the query is not UTF-8")]
    NoText,
    #[error("--influxdb-url: {0}")]
    Address(#[from] AddressError),
    #[error("--influxdb-token-file: {0}")]
    Token(#[from] TokenError),
    #[error("the thread for queries ended early")]
    Lost,
}

/// Author of a query's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    Client,
    Gateway,
}

impl Failure {
    /// An error of the database: `body` has its message, as JSON or text.
    pub(super) fn from_answer(status: u16, body: &[u8]) -> Self {
        let parsed: Option<serde_json::Value> = serde_json::from_slice(body).ok();
        let said = parsed.as_ref().and_then(|said| {
            let said = said.get("message").or_else(|| said.get("error"));
            said.and_then(serde_json::Value::as_str)
        });
        let text = String::from_utf8_lossy(body);
        let message = said.unwrap_or(&text).chars().take(TOLD_MAX_CHARACTERS);
        Self::Refused {
            status,
            message: message.collect(),
        }
    }

    /// The problem for the client; logged too, unless it is the client's mistake.
    pub(crate) fn problem(self, author: Author) -> Problem {
        let problem = self.as_problem(author);
        if problem.status >= 500 {
            warn(&self);
        }
        problem
    }

    fn as_problem(&self, author: Author) -> Problem {
        let is_clients = author == Author::Client;
        let cannot = |what: &str| Problem::new(502, what);
        match self {
            Self::Busy => Problem::new(429, "too many queries wait already; try again"),
            Self::Late(_)
            | Self::NoAnswer(NoAnswer::Timeout { .. } | NoAnswer::ConnectTimeout { .. }) => {
                Problem::new(
                    504,
                    "InfluxDB has not answered in time; query less or try again",
                )
            }
            Self::NoAnswer(_) => cannot("InfluxDB is unreachable"),
            Self::Refused {
                status: 400 | 422,
                message,
            } if is_clients => Problem::new(400, message.clone()),
            Self::Csv(CsvError::Database(message)) if is_clients => {
                Problem::new(400, message.clone())
            }
            Self::Refused {
                status: 401 | 403, ..
            } => cannot("InfluxDB refuses this gateway's token"),
            Self::Refused {
                status: 404,
                message,
            } => cannot(&format!(
                "InfluxDB has no such organisation or bucket: {message}"
            )),
            Self::Refused {
                status: 429 | 503, ..
            } => Problem::new(503, "InfluxDB is overloaded; try again"),
            Self::Refused { message, .. } | Self::Csv(CsvError::Database(message)) => {
                cannot(&format!("InfluxDB cannot answer: {message}"))
            }
            Self::Csv(CsvError::Unreadable { .. }) => cannot("InfluxDB's answer cannot be read"),
            Self::TooLarge(bytes) => Problem::new(
                422,
                format!("the answer has more than {bytes} bytes (--answer-max-bytes); query less"),
            ),
            Self::NoText => Problem::new(400, "the query is not UTF-8"),
            Self::Address(_) | Self::Token(_) | Self::Lost => cannot("InfluxDB cannot be asked"),
        }
    }
}

/// Logs a failure, not more often than [`WARN_EVERY`].
fn warn(failure: &Failure) {
    static WARNED: Mutex<Option<Instant>> = Mutex::new(None);
    let mut warned = WARNED
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if warned.is_none_or(|instant| instant.elapsed() >= WARN_EVERY) {
        *warned = Some(Instant::now());
        log::warn(format_args!("a query: {failure}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_an_error_decides_the_answer() {
        let refused = |status| Failure::from_answer(status, br#"{"code":"x","message":"because"}"#);
        for (status, author, expected) in [
            (400, Author::Client, 400),
            (400, Author::Gateway, 502),
            (401, Author::Client, 502),
            (404, Author::Client, 502),
            (429, Author::Gateway, 503),
            (500, Author::Gateway, 502),
        ] {
            assert_eq!(refused(status).problem(author).status, expected, "{status}");
        }
        assert_eq!(refused(400).problem(Author::Client).detail, "because");
        let late = Failure::Late(Duration::from_secs(1)).problem(Author::Client);
        assert_eq!((late.status, late.retry_after()), (504, None));
        let busy = Failure::Busy.problem(Author::Client);
        assert_eq!((busy.status, busy.retry_after()), (429, Some("1")));
    }

    #[test]
    fn error_of_the_database_is_found_in_any_format() {
        let message = |body: &str| Failure::from_answer(500, body.as_bytes()).to_string();
        assert_eq!(message(r#"{"error":"x"}"#), "InfluxDB answered 500: x");
        assert_eq!(message("plain"), "InfluxDB answered 500: plain");
    }
}

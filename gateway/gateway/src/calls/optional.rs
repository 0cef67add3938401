//! Calls that not every configuration serves, and what a gateway says that does not serve one.

use http::Method;

use crate::{
    call::QUERY_PATH,
    ingest::records_target,
    settings::{BackendName, Settings},
};

/// A call that not every configuration serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionalCall {
    ReadRecords,
    ReadLatest,
    Query,
    PassQuery,
    DeleteTopic,
}

impl OptionalCall {
    /// The call of a request.
    pub(super) fn from_request(method: &Method, path: &str) -> Option<Self> {
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        if path == QUERY_PATH {
            let is_post = *method == Method::POST;
            return is_read
                .then_some(Self::Query)
                .or(is_post.then_some(Self::PassQuery));
        }
        if records_target(path).is_some() {
            return is_read.then_some(Self::ReadRecords);
        }
        let topic = path.strip_prefix("/api/v1/topics/");
        if *method == Method::DELETE && topic.is_some_and(|name| !name.contains('/')) {
            return Some(Self::DeleteTopic);
        }
        let is_latest = path.starts_with("/api/v1/topics/") && path.ends_with("/latest");
        (is_read && is_latest).then_some(Self::ReadLatest)
    }

    /// Why the configuration does not serve it, and what to do; `None` if it does.
    pub(super) fn refusal_reason(self, settings: &Settings) -> Option<&'static str> {
        let is_on_kafka = settings.backend == BackendName::Kafka;
        let database = &settings.database;
        match self {
            Self::ReadRecords => is_on_kafka.then_some(
                "reading a topic needs the embedded store; with --backend kafka, read it with a Kafka consumer",
            ),
            Self::ReadLatest => (settings.latest_max_series == 0)
                .then_some("this gateway keeps no latest readings (--latest-max-series 0)"),
            Self::Query => (is_on_kafka && database.influxdb_url.is_none())
                .then_some("queries with --backend kafka need --influxdb-url"),
            Self::DeleteTopic if is_on_kafka => {
                Some("with --backend kafka, topics are deleted by Kafka's own tools")
            }
            Self::DeleteTopic => (settings.clients.is_none())
                .then_some("topics are deleted by clients with the right to it (--clients)"),
            Self::PassQuery => (!database.query_pass_through)
                .then_some("this gateway does not pass queries on (--query-pass-through)"),
        }
    }

    pub(super) fn is_served(self, settings: &Settings) -> bool {
        self.refusal_reason(settings).is_none()
    }
}

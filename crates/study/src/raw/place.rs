//! Places that are watched, key by key.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Conditions, Method};

/// A place that is watched for records, one record a line: exactly one of get, by_time and kafka.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probe {
    /// In which configurations it exists; in all in which its component does, by default.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub when: Option<Conditions>,
    /// One of the components.
    #[schemars(required)]
    pub component: Option<String>,
    /// One of its ports.
    #[schemars(required)]
    pub port: Option<String>,
    /// Other components whose data it shows: where one of them is killed it is read anew, as where its own is; none by default.
    pub shows: Option<Vec<String>>,
    /// Text over HTTP that is read on from an offset: path and query; `${offset}` and `${limit}` are replaced at each look.
    pub get: Option<String>,
    /// Text over HTTP that is asked for by the records' times: what may still change is asked for again.
    pub by_time: Option<ByTime>,
    /// Every message of a topic; its value is one or several lines.
    pub kafka: Option<KafkaTopic>,
    /// Text right before a line's offset.
    pub offset_after: Option<String>,
    /// Text right before a record's key.
    pub key_after: Option<String>,
    /// Text right before a record's run.
    pub run_after: Option<String>,
    /// Text right before a record's time; without it the time is what ends the line, as in line protocol (not with get).
    pub time_after: Option<String>,
    /// The answer is CSV with a header; its columns, in place of the four above.
    pub csv: Option<CsvColumns>,
    /// Records read at once; with by_time about as many.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub limit: Option<u32>,
}

/// A question about the records of a stretch of time. Its method is the key of its path: exactly one of get, put, post, …; or
/// `method` with `path`. In path, header fields and body, `${from}` (the first) and `${to}` (behind the last) are nanoseconds
/// since 1970, `${run}` is the mark of the trial's records; `${secret.NAME}` may stand there, too.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ByTime {
    #[serde(flatten)]
    pub method: Method,
    /// Header fields.
    pub headers: Option<IndexMap<String, String>>,
    /// The body.
    pub body: Option<String>,
}

/// A topic of Kafka.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KafkaTopic {
    /// Its name.
    #[schemars(required)]
    pub topic: Option<String>,
}

/// Names of columns in the header of CSV.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CsvColumns {
    /// The record's key.
    #[schemars(required)]
    pub key: Option<String>,
    /// The record's time: nanoseconds since 1970, or as in RFC 3339.
    #[schemars(required)]
    pub time: Option<String>,
    /// The mark of the trial; without it every record in the answer is the trial's.
    pub run: Option<String>,
}

/// A number that is read again and again, as often as CPU and memory: exactly one of metric, json and kafka_lag. Where the
/// component has several replicas, it is their sum.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Watch {
    /// In which configurations it exists; in all in which its component does, by default.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub when: Option<Conditions>,
    /// What it counts, in a few words.
    #[schemars(required)]
    pub summary: Option<String>,
    /// One of the components.
    #[schemars(required)]
    pub component: Option<String>,
    /// One of its ports.
    #[schemars(required)]
    pub port: Option<String>,
    /// Path and query of the text with the metric or the JSON.
    pub get: Option<String>,
    /// A metric in Prometheus text, as `name` or `name{label="value"}`; the sum of all samples that have these labels.
    pub metric: Option<String>,
    /// The number at this JSONPath.
    pub json: Option<String>,
    /// Messages of a topic that a group has not committed yet.
    pub kafka_lag: Option<KafkaLag>,
    /// By how much the number grows in a second, for one that only counts up; false by default.
    pub per_second: Option<bool>,
}

/// A group of consumers and the topic that it reads.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KafkaLag {
    /// The group's name.
    #[schemars(required)]
    pub group: Option<String>,
    /// The topic's name.
    #[schemars(required)]
    pub topic: Option<String>,
}

//! What the parts of the cluster say about its objects.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb},
};

/// Most events that are read; the API keeps them for an hour.
const EVENTS_MAX: &str = "5000";

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Kind and name of the object that it is about.
    pub kind: String,
    pub name: String,
    /// Such as `FailedCreate`, `FailedScheduling`, `Killing`.
    pub reason: String,
    pub message: String,
    /// `Normal` or `Warning`.
    pub severity: String,
    pub count: u32,
    /// Of the last time, in UTC (RFC 3339).
    pub time: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawEvent {
    involved_object: Value,
    reason: String,
    message: Option<String>,
    #[serde(rename = "type")]
    severity: Option<String>,
    count: Option<u32>,
    series: Option<Value>,
    first_timestamp: Option<String>,
    last_timestamp: Option<String>,
    event_time: Option<String>,
}

impl Access {
    /// The events of a namespace, the last one at the end.
    ///
    /// # Errors
    /// They may not be listed, or the API does not answer.
    pub async fn events(&self, namespace: &str) -> Result<Vec<Event>, ApiError> {
        self.list_events(Call::new(Verb::List, Kind::Event, Some(namespace)))
            .await
    }

    /// The events about one object.
    pub(crate) async fn events_about(
        &self,
        namespace: &str,
        kind: &str,
        name: &str,
    ) -> Result<Vec<Event>, ApiError> {
        let about = format!("involvedObject.kind={kind},involvedObject.name={name}");
        let call = Call::new(Verb::List, Kind::Event, Some(namespace));
        self.list_events(call.option("fieldSelector", about)).await
    }

    async fn list_events(&self, call: Call<'_>) -> Result<Vec<Event>, ApiError> {
        let call = call.option("limit", EVENTS_MAX);
        let what = call.target();
        let mut list = self.call(call).await?.value;
        let items = list["items"].take();
        let raw: Option<Vec<RawEvent>> =
            serde_json::from_value(items).map_err(|why| ApiError::Unreadable {
                what,
                why: why.to_string(),
            })?;
        let mut events: Vec<Event> = raw.into_iter().flatten().map(Event::from).collect();
        events.sort_by(|a, b| a.time.cmp(&b.time));
        Ok(events)
    }
}

impl From<RawEvent> for Event {
    fn from(raw: RawEvent) -> Self {
        let part = |key: &str| {
            raw.involved_object[key]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let series = raw.series.as_ref();
        let in_series = |key: &str| series.map(|series| &series[key]);
        let last = in_series("lastObservedTime")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let times = [last, raw.last_timestamp.clone(), raw.event_time.clone()];
        let time = times.into_iter().flatten().next();
        let count = in_series("count").and_then(Value::as_u64);
        let count = count
            .and_then(|count| u32::try_from(count).ok())
            .or(raw.count);
        Self {
            kind: part("kind"),
            name: part("name"),
            time: time
                .or_else(|| raw.first_timestamp.clone())
                .unwrap_or_default(),
            count: count.unwrap_or(1).max(1),
            reason: raw.reason,
            message: raw.message.unwrap_or_default(),
            severity: raw.severity.unwrap_or_default(),
        }
    }
}

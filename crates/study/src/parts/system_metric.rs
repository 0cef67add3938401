//! A metric of a system: what it is read from, and whether it has the keys of that source.

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_metrics::Unit;
use waggle_spec::{ComparedCount, CountComparison};

use super::texts::{check_json_path, refuse_key, refuse_unknown_names, require_key, single_kind};
use crate::{
    MetricSource, Selector,
    at::{At, Key, Place},
    check::Checker,
    raw::{Conditions, Share},
    tree::quote,
};

/// A metric of the system that is read repeatedly, as often as CPU and memory: exactly one of prometheus, json and consumer_lag. If
/// the component has several replicas, it is their sum.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SystemMetric {
    /// In which configurations it exists; in all in which its component does, by default.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub when: Key<Conditions>,
    /// What it counts, in a few words.
    #[schemars(required)]
    pub summary: Key<String>,
    /// One of the components.
    #[schemars(required)]
    pub component: Key<String>,
    /// One of its ports.
    #[schemars(required)]
    pub port: Key<String>,
    /// Path and query of the text in the format of Prometheus, or of the JSON.
    pub get: Key<String>,
    /// A metric in the format of Prometheus, as `name` or `name{label="value"}`; the sum of all samples that have these labels.
    pub prometheus: Key<String>,
    /// The number at this JSONPath.
    pub json: Key<String>,
    /// Messages of a topic that a consumer group has not committed yet.
    pub consumer_lag: Key<ConsumerLag>,
    /// By how much the number grows in a second, for one that only counts up; false by default.
    pub per_second: Key<bool>,
    /// The unit of the number: `bytes`, `s`, `ms`, `us`, `/s`, `bytes/s`, `share` (0 to 1) or `%`; a count by default. With per_second,
    /// bytes become bytes per second, and times become CPUs.
    pub unit: Key<MetricUnit>,
    /// What the load generator counts of the whole load that this number, which only counts up, should grow by: the report shows both
    /// and judges the difference.
    pub compare_with: Key<ComparedCount>,
    /// The largest difference in a trial that is no finding, as a share of the load generator's count; 0 by default.
    pub tolerance: Key<Share>,
}

/// The unit of a number that a system exposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum MetricUnit {
    /// No unit.
    #[serde(rename = "count")]
    Count,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Per second.
    #[serde(rename = "/s")]
    PerSecond,
    /// Bytes per second.
    #[serde(rename = "bytes/s")]
    BytesPerSecond,
    /// A share from 0 to 1.
    #[serde(rename = "share")]
    Share,
    /// A share from 0 to 100.
    #[serde(rename = "%")]
    Percent,
}

/// A consumer group and the topic that it reads.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConsumerLag {
    /// The group's name.
    #[schemars(required)]
    pub group: Key<String>,
    /// The topic's name.
    #[schemars(required)]
    pub topic: Key<String>,
}

/// What a metric is read from; `parameters` are those of the system, which can be put into its texts.
pub(crate) fn source(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<SystemMetric>,
    parameters: &[String],
) -> Option<MetricSource> {
    let kinds = [
        ("prometheus", keys.prometheus.is_some()),
        ("json", keys.json.is_some()),
        ("consumer_lag", keys.consumer_lag.is_some()),
    ];
    let is_invalid =
        keys.prometheus.is_invalid() || keys.json.is_invalid() || keys.consumer_lag.is_invalid();
    let kind = single_kind(checker, place, &kinds, is_invalid)?;
    if kind == "consumer_lag" {
        refuse_key(checker, &keys.get, kind);
        return consumer_lag(checker, keys.consumer_lag.value()?, parameters);
    }
    let get = require_key(checker, place, &keys.get, "get", "a path such as /metrics");
    let get = get.and_then(|get| {
        refuse_unknown_names(checker, get, parameters, &[]);
        checker.target_of(get, &get.value)
    });
    if let Some(text) = keys.prometheus.content() {
        let selector = selector(checker, text)?;
        return Some(MetricSource::Prometheus {
            get: get?,
            selector,
        });
    }
    let At { place, value } = keys.json.content()?;
    check_json_path(checker, place, value, "a JSONPath such as $.queue.depth")?;
    Some(MetricSource::Json {
        get: get?,
        path: value.clone(),
    })
}

/// The unit of values that are read in this unit; `None`: there is no such value per second.
fn unit_of_values(read: MetricUnit, per_second: bool) -> Option<crate::MetricUnit> {
    use MetricUnit as Read;
    let (of_values, factor) = match (read, per_second) {
        (Read::Count, false) => (Unit::Count, 1.0),
        (Read::Count, true) | (Read::PerSecond, false) => (Unit::Rate, 1.0),
        (Read::Bytes, false) => (Unit::Bytes, 1.0),
        (Read::Bytes, true) | (Read::BytesPerSecond, false) => (Unit::ByteRate, 1.0),
        (Read::Seconds, false) => (Unit::Time, 1e6),
        (Read::Milliseconds, false) => (Unit::Time, 1e3),
        (Read::Microseconds, false) => (Unit::Time, 1.0),
        // Time in each second, as of process_cpu_seconds_total.
        (Read::Seconds, true) => (Unit::Cpus, 1.0),
        (Read::Milliseconds, true) => (Unit::Cpus, 1e-3),
        (Read::Microseconds, true) => (Unit::Cpus, 1e-6),
        (Read::Share, false) => (Unit::Share, 1.0),
        (Read::Percent, false) => (Unit::Share, 1e-2),
        (Read::PerSecond | Read::BytesPerSecond | Read::Share | Read::Percent, true) => {
            return None;
        }
    };
    Some(crate::MetricUnit { of_values, factor })
}

impl SystemMetric {
    /// Whether its number is read per second.
    pub(crate) fn is_per_second(&self) -> bool {
        self.per_second.value() == Some(&true)
    }

    /// The unit of its values.
    pub(crate) fn unit(&self, checker: &mut Checker<'_>) -> crate::MetricUnit {
        let Some(At { place, value: read }) = self.unit.content() else {
            return crate::MetricUnit::default();
        };
        let unit = unit_of_values(*read, self.is_per_second());
        let wrong = match unit {
            None => Some((
                "cannot be used with per_second: true",
                "count, bytes, s, ms or us: what the counter counts",
            )),
            Some(_) if self.compare_with.is_some() && *read != MetricUnit::Count => {
                Some(("cannot be compared with requests", "count, or no unit"))
            }
            Some(_) => None,
        };
        if let Some((why, expected)) = wrong {
            checker.report(place.mistake(why).with_expected(expected));
        }
        unit.unwrap_or_default()
    }

    /// The count with which it is compared.
    pub(crate) fn comparison(
        &self,
        checker: &mut Checker<'_>,
        source: Option<&MetricSource>,
    ) -> Option<CountComparison> {
        let tolerance = self.tolerance.content();
        let Some(At {
            place,
            value: count,
        }) = self.compare_with.content()
        else {
            if let Some(At { place, .. }) = tolerance {
                refuse_comparison(checker, place, "compare_with: the count that it belongs to");
            }
            return None;
        };
        if self.is_per_second() {
            let expected = "a number that counts up, without per_second";
            refuse_comparison(checker, place, expected);
        } else if matches!(source, Some(MetricSource::ConsumerLag { .. })) {
            let expected = "a number that counts up, by prometheus or json";
            refuse_comparison(checker, place, expected);
        }
        Some(CountComparison {
            count: *count,
            tolerance: tolerance.map_or(0.0, |tolerance| tolerance.value.0),
        })
    }
}

fn refuse_comparison(checker: &mut Checker<'_>, place: &Place, expected: &str) {
    let mistake = place.mistake("has nothing to compare");
    checker.report(mistake.with_expected(expected));
}

fn consumer_lag(
    checker: &mut Checker<'_>,
    keys: &ConsumerLag,
    parameters: &[String],
) -> Option<MetricSource> {
    let (group, topic) = (keys.group.content()?, keys.topic.content()?);
    for text in [group, topic] {
        refuse_unknown_names(checker, text, parameters, &[]);
    }
    Some(MetricSource::ConsumerLag {
        group: group.value.clone(),
        topic: topic.value.clone(),
    })
}

fn selector(checker: &mut Checker<'_>, At { place, value }: &At<String>) -> Option<Selector> {
    let selector = Selector::read(value);
    if selector.is_none() {
        let mistake = place.mistake(format!("is {}", quote(value)));
        checker.report(mistake.with_expected("name or name{label=\"value\"}"));
    }
    selector
}

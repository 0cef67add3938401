//! Families of metrics in OTLP's JSON encoding. Pure.
//!
//! Source: <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>: names in lowerCamelCase, 64-bit integers as text.

use serde_json::{Value, json};

use super::{
    buckets::{bounds_s, seconds},
    catalogue::{Family, Labels, Series},
};

/// Temporality of sums and histograms: since the start of the process.
const CUMULATIVE: u8 = 2;

/// The instants of a push, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Instants {
    /// Since when counters count.
    pub(super) start_ns: u128,
    pub(super) now_ns: u128,
}

/// The body of a request to `/v1/metrics`.
pub(super) fn body(families: &[Family], instants: Instants) -> Value {
    let metrics = families
        .iter()
        .filter_map(|family| metric(family, instants));
    let version = env!("CARGO_PKG_VERSION");
    json!({ "resourceMetrics": [{
        "resource": { "attributes": [
            attribute("service.name", "waggle"),
            attribute("service.version", version),
        ] },
        "scopeMetrics": [{
            "scope": { "name": "waggle", "version": version },
            "metrics": metrics.collect::<Vec<_>>(),
        }],
    }] })
}

/// `None` without series.
fn metric(family: &Family, instants: Instants) -> Option<Value> {
    let (kind, mut points) = match &family.series {
        Series::Counter(series) => (
            "sum",
            points(series, |count| json!({ "asInt": text(count) })),
        ),
        Series::Gauge(series) => (
            "gauge",
            points(series, |value| json!({ "asInt": text(value) })),
        ),
        Series::Histogram(series) => {
            let point = |buckets: &super::buckets::Buckets| {
                json!({
                    "count": text(&buckets.count()),
                    "sum": seconds(buckets.sum_us),
                    "bucketCounts": buckets.counts.iter().map(text).collect::<Vec<_>>(),
                    "explicitBounds": bounds_s().collect::<Vec<_>>(),
                })
            };
            ("histogram", points(series, point))
        }
    };
    if points.is_empty() {
        return None;
    }
    for point in &mut points {
        point["timeUnixNano"] = json!(text(&instants.now_ns));
        if kind != "gauge" {
            point["startTimeUnixNano"] = json!(text(&instants.start_ns));
        }
    }
    let mut values = json!({ "dataPoints": points });
    if kind != "gauge" {
        values["aggregationTemporality"] = json!(CUMULATIVE);
    }
    if kind == "sum" {
        values["isMonotonic"] = json!(true);
    }
    let about = family.metric;
    Some(json!({ "name": about.name, "unit": about.unit, "description": about.help, kind: values }))
}

fn points<T>(series: &[(Labels, T)], value: impl Fn(&T) -> Value) -> Vec<Value> {
    let mut points = Vec::new();
    for (labels, sample) in series {
        let mut point = value(sample);
        let labels = labels.iter();
        let attributes = labels.map(|(label, value)| attribute(label.name, value));
        point["attributes"] = attributes.collect();
        points.push(point);
    }
    points
}

/// A status is a number in the conventions, everything else text.
fn attribute(name: &str, value: &str) -> Value {
    let value = match name {
        "http.response.status_code" => json!({ "intValue": value }),
        _ => json!({ "stringValue": value }),
    };
    json!({ "key": name, "value": value })
}

fn text(number: &impl ToString) -> String {
    number.to_string()
}

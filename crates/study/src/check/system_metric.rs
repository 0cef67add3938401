//! A metric of a system: what it is read from, and whether it has the keys of that source.

use waggle_metrics::Unit;
use waggle_spec::{ComparedCount, CountComparison};

use super::{Checker, components::Definitions, probe::Keys};
use crate::{MetricSource, MetricUnit, Selector, SystemMetric, mistake::Finding, raw, tree::quote};

const SOURCES: [&str; 3] = ["prometheus", "json", "consumer_lag"];

pub(super) fn system_metric(
    checker: &mut Checker<'_>,
    Definitions { names, conditions }: Definitions<'_>,
    name: String,
    raw: raw::SystemMetric,
) -> Option<SystemMetric> {
    let when = conditions.read(checker, &raw.when);
    let mut keys = Keys {
        checker,
        path: ["metrics", &name],
        parameters: conditions.names,
    };
    let port = names.port_of(keys.checker, &raw.component, &raw.port);
    let given = [
        raw.prometheus.is_some(),
        raw.json.is_some(),
        raw.consumer_lag.is_some(),
    ];
    let source = keys.one_of(SOURCES, given)?;
    let get = if source == "consumer_lag" {
        keys.refuse(&["get"], raw.get.is_some(), source);
        None
    } else {
        let get = keys.require_key(&["get"], raw.get, "a path such as /metrics");
        get.and_then(|get| {
            let path = keys.path(&["get"]);
            keys.refuse_unknown_names(&get, &path, &[]);
            keys.checker.target(&get, &path)
        })
    };
    let source = match (raw.prometheus, raw.json, raw.consumer_lag) {
        (Some(text), ..) => keys
            .selector(&text)
            .zip(get)
            .map(|(selector, get)| MetricSource::Prometheus { get, selector }),
        (_, Some(text), _) => keys
            .json_path(&["json"], &text, "a JSONPath such as $.queue.depth")
            .zip(get)
            .map(|((), get)| MetricSource::Json { get, path: text }),
        (.., lag) => lag.and_then(|lag| keys.consumer_lag(lag)),
    };
    let per_second = raw.per_second.unwrap_or(false);
    let unit = keys.unit(raw.unit, per_second, raw.compare_with.is_some());
    let comparison = keys.comparison(raw.compare_with, raw.tolerance, per_second, &source);
    let (component, port) = port?;
    Some(SystemMetric {
        when,
        summary: raw.summary?,
        component,
        port,
        source: source?,
        per_second,
        unit,
        comparison,
        name,
    })
}

/// The unit of values that are read in this unit; `None`: there is no such value per second.
fn unit_of_values(read: raw::MetricUnit, per_second: bool) -> Option<MetricUnit> {
    use raw::MetricUnit as Read;
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
    Some(MetricUnit { of_values, factor })
}

impl Keys<'_, '_, '_> {
    fn unit(
        &mut self,
        read: Option<raw::MetricUnit>,
        per_second: bool,
        is_compared: bool,
    ) -> MetricUnit {
        let Some(read) = read else {
            return MetricUnit::default();
        };
        let unit = unit_of_values(read, per_second);
        let wrong = match unit {
            None => Some((
                "cannot be used with per_second: true",
                "count, bytes, s, ms or us: what the counter counts",
            )),
            Some(_) if is_compared && read != raw::MetricUnit::Count => {
                Some(("cannot be compared with requests", "count, or no unit"))
            }
            Some(_) => None,
        };
        if let Some((why, expected)) = wrong {
            let what = format!("{}.unit {why}", self.path_text());
            let position = self.checker.position_of(&self.path(&["unit"]));
            self.checker
                .report(Finding::new(position, what).with_expected(expected));
        }
        unit.unwrap_or_default()
    }

    fn comparison(
        &mut self,
        compare_with: Option<ComparedCount>,
        tolerance: Option<raw::Share>,
        per_second: bool,
        source: &Option<MetricSource>,
    ) -> Option<CountComparison> {
        let Some(count) = compare_with else {
            if tolerance.is_some() {
                self.refuse_comparison("tolerance", "compare_with: the count that it belongs to");
            }
            return None;
        };
        if per_second {
            self.refuse_comparison(
                "compare_with",
                "a number that counts up, without per_second",
            );
        } else if matches!(source, Some(MetricSource::ConsumerLag { .. })) {
            self.refuse_comparison(
                "compare_with",
                "a number that counts up, by prometheus or json",
            );
        }
        Some(CountComparison {
            count,
            tolerance: tolerance.map_or(0.0, |raw::Share(share)| share),
        })
    }

    fn refuse_comparison(&mut self, key: &str, expected: &str) {
        let what = format!("{}.{key} has nothing to compare", self.path_text());
        let position = self.checker.position_of(&self.path(&[key]));
        self.checker
            .report(Finding::new(position, what).with_expected(expected));
    }

    fn consumer_lag(&mut self, lag: raw::ConsumerLag) -> Option<MetricSource> {
        let (group, topic) = (lag.group?, lag.topic?);
        for (key, text) in [("group", &group), ("topic", &topic)] {
            let path = self.path(&["consumer_lag", key]);
            self.refuse_unknown_names(text, &path, &[]);
        }
        Some(MetricSource::ConsumerLag { group, topic })
    }

    fn selector(&mut self, text: &str) -> Option<Selector> {
        let selector = Selector::read(text);
        if selector.is_none() {
            let what = format!("{}.prometheus is {}", self.path_text(), quote(text));
            let position = self.checker.position_of(&self.path(&["prometheus"]));
            self.checker.report(
                Finding::new(position, what).with_expected("name or name{label=\"value\"}"),
            );
        }
        selector
    }
}

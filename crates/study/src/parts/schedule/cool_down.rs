//! The cool-down: how long it takes at most, and what ends it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::phase::{PHASE, PHASE_OR_NONE, ScheduleContext};
use crate::{
    CoolDownBound, CoolDownUntil, Sensor,
    at::{At, Key, Place},
    check::Checker,
    mistake::Finding,
    nearest::{list, nearest_word},
    raw::{DurationText, Name, Share, external_names, scalar_or_mapping},
    tree::quote,
};

/// `10s` or `{until: {load_average: 0.5}, poll_interval: 5s, timeout: 5m}`.
#[derive(Debug)]
pub(crate) enum CoolDown {
    Time(DurationText),
    Until(Box<CoolDownKeys>),
}

scalar_or_mapping!(
    CoolDown,
    Time(DurationText),
    Until(Box<CoolDownKeys>),
    "a duration or what ends it"
);

/// A cool-down that ends when a value of the machine is below or above a bound.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CoolDownKeys {
    /// The value and its bound.
    #[schemars(required)]
    pub until: Key<CoolDownEnd>,
    /// Time between two readings; 5s by default.
    pub poll_interval: Key<DurationText>,
    /// The longest it may take; then the next trial begins nevertheless, and the trial has a remark. 5m by default.
    pub timeout: Key<DurationText>,
}

/// What ends a cool-down: exactly one of file, command, metric, `load_average` and `idle_cpu`. The first three need below or above.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CoolDownEnd {
    /// A file that begins with a number, e.g. `/sys/class/thermal/thermal_zone*/temp`. Its path is absolute; `*` and `?` match
    /// within a name, and the bound must hold for every file that matches.
    pub file: Key<String>,
    /// A program with its arguments, whose output begins with a number. It may take 10s.
    #[schemars(length(min = 1))]
    pub command: Key<Vec<String>>,
    /// One of the system's metrics, of a component that waggle does not start (system.external): the others are down by then.
    pub metric: Key<Name>,
    /// The load average over one minute is at most this number.
    #[schemars(range(min = 0))]
    pub load_average: Key<f64>,
    /// At least this share of the CPU time of all CPUs is idle between two readings, e.g. `90%`.
    pub idle_cpu: Key<Share>,
    /// The number in a file, of a command or metric is multiplied by this; 1 by default.
    pub scale: Key<f64>,
    /// The value must be below this.
    pub below: Key<f64>,
    /// The value must be above this.
    pub above: Key<f64>,
}

const SENSORS: &str = "one of file, command, metric, load_average, idle_cpu";
const POLL_INTERVAL: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(300);

/// The longest that the cool-down may take, and what ends it before.
pub(super) fn cool_down(
    checker: &mut Checker<'_>,
    given: &Key<CoolDown>,
    context: &ScheduleContext<'_>,
) -> Option<(Duration, Option<CoolDownUntil>)> {
    let findings = &mut checker.findings;
    let keys = match given {
        Key::Missing => return Some((Duration::ZERO, None)),
        Key::Invalid => return None,
        Key::Given(At { place, value }) => match value {
            CoolDown::Time(DurationText(time)) => {
                return Some((place.check_bounds(*time, PHASE_OR_NONE, findings)?, None));
            }
            CoolDown::Until(keys) => keys,
        },
    };
    let poll_interval = (keys.poll_interval).check_bounds(POLL_INTERVAL, PHASE, findings);
    let timeout = keys.timeout.check_bounds(TIMEOUT, PHASE, findings);
    let until = keys.until.content()?;
    let At { place, value } = sensor(checker, until)?;
    let (bound, scale) = bound(checker, until, &value)?;
    if let Sensor::Metric(name) = &value {
        check_metric(checker, &place, name, context)?;
    }
    let until = CoolDownUntil {
        sensor: value,
        scale,
        bound,
        poll_interval: poll_interval?,
    };
    Some((timeout?, Some(until)))
}

impl CoolDownEnd {
    /// The sensors that are named, each with the place of its key.
    fn sensors(&self) -> Vec<At<Sensor>> {
        fn sensor<T: Clone>(key: &Key<T>, sensor: impl FnOnce(T) -> Sensor) -> Option<At<Sensor>> {
            let At { place, value } = key.content()?.clone();
            Some(At {
                place,
                value: sensor(value),
            })
        }
        let all = [
            sensor(&self.file, Sensor::File),
            sensor(&self.command, Sensor::Command),
            sensor(&self.metric, |Name(name)| Sensor::Metric(name)),
            sensor(&self.load_average, |_| Sensor::LoadAverage),
            sensor(&self.idle_cpu, |_| Sensor::IdleCpu),
        ];
        all.into_iter().flatten().collect()
    }

    fn has_invalid_sensor(&self) -> bool {
        self.file.is_invalid()
            || self.command.is_invalid()
            || self.metric.is_invalid()
            || self.load_average.is_invalid()
            || self.idle_cpu.is_invalid()
    }
}

/// The one sensor that is named.
fn sensor(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<CoolDownEnd>,
) -> Option<At<Sensor>> {
    let mut sensors = keys.sensors();
    let what = match (sensors.pop(), sensors.len()) {
        (Some(sensor), 0) => return check_sensor(checker, sensor),
        (None, _) if keys.has_invalid_sensor() => return None,
        (None, _) => "names no value".to_owned(),
        (Some(_), others) => format!("names {} values", others + 1),
    };
    checker.report(place.key_mistake(what).with_expected(SENSORS));
    None
}

fn check_sensor(checker: &mut Checker<'_>, sensor: At<Sensor>) -> Option<At<Sensor>> {
    let (what, expected) = match &sensor.value {
        Sensor::File(file) if !file.starts_with('/') => {
            (format!("is {}", quote(file)), "an absolute path")
        }
        Sensor::Command(command) if command.iter().any(String::is_empty) => (
            "has an empty text".to_owned(),
            "a program with its arguments",
        ),
        _ => return Some(sensor),
    };
    checker.report(sensor.place.mistake(what).with_expected(expected));
    None
}

/// The bound and the scale.
fn bound(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<CoolDownEnd>,
    sensor: &Sensor,
) -> Option<(CoolDownBound, f64)> {
    let sensor_bound = match sensor {
        Sensor::LoadAverage => keys
            .load_average
            .value()
            .copied()
            .map(CoolDownBound::AtMost),
        Sensor::IdleCpu => {
            (keys.idle_cpu.value()).map(|Share(share)| CoolDownBound::AtLeast(*share))
        }
        Sensor::File(_) | Sensor::Command(_) | Sensor::Metric(_) => None,
    };
    if let Some(sensor_bound) = sensor_bound {
        refuse_second_bound(checker, place, keys, sensor)?;
        return Some((sensor_bound, 1.0));
    }
    let scale = keys.scale.or_default(1.0)?;
    if scale == 0.0 || !scale.is_finite() {
        let mistake = keys.scale.place()?.mistake(format!("is {scale}"));
        checker.report(mistake.with_expected("a number other than 0"));
        return None;
    }
    let below = keys.below.value().copied().map(CoolDownBound::Below);
    let above = keys.above.value().copied().map(CoolDownBound::Above);
    let why = match (below, above) {
        (Some(bound), None) | (None, Some(bound)) => return Some((bound, scale)),
        _ if keys.below.is_invalid() || keys.above.is_invalid() => return None,
        (Some(_), Some(_)) => "has below and above",
        (None, None) => "has no bound",
    };
    checker.report(place.key_mistake(why).with_expected("below or above"));
    None
}

/// Reports what a sensor cannot have that has its bound; `None`: it was reported.
fn refuse_second_bound(
    checker: &mut Checker<'_>,
    place: &Place,
    keys: &CoolDownEnd,
    sensor: &Sensor,
) -> Option<()> {
    let others = [
        ("below", keys.below.place()),
        ("above", keys.above.place()),
        ("scale", keys.scale.place()),
    ];
    let mut others = others
        .into_iter()
        .filter_map(|(key, other)| Some((key, other?)));
    let Some((key, other)) = others.next() else {
        return Some(());
    };
    let sensor = sensor.key();
    let mistake = place.mistake_in(other.key, format!("has {sensor} and {key}"));
    checker.report(mistake.with_expected(format!("{sensor} alone, which has its bound")));
    None
}

/// Reports a metric that the system does not have, or that cannot be read while the system is down.
fn check_metric(
    checker: &mut Checker<'_>,
    place: &Place,
    name: &str,
    context: &ScheduleContext<'_>,
) -> Option<()> {
    // Without a system its metrics are not known.
    let system = context.system?;
    let names = || system.metrics.iter().map(|metric| metric.name.as_str());
    let Some(metric) = system.metrics.iter().find(|metric| metric.name == name) else {
        let what = format!("system {} has no metric {}", system.name, quote(name));
        let expected = match names().next() {
            Some(_) => list(names()),
            None => "a system with metrics".to_owned(),
        };
        let finding = Finding::new(place.value, what).with_expected(expected);
        checker.report(finding.with_suggestion(nearest_word(name, names())));
        return None;
    };
    let external = external_names(context.of_system, Some(system));
    if external.contains(metric.component.as_str()) {
        return Some(());
    }
    let what = format!(
        "the metric {name} is of {}, which is stopped before the cool-down",
        metric.component
    );
    let expected = "a metric of a component in system.external, or a file or command";
    checker.report(Finding::new(place.value, what).with_expected(expected));
    None
}

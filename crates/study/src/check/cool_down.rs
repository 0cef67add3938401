//! The cool-down: how long it takes at most, and what ends it.

use std::time::Duration;

use super::{Checker, external::external_names, schedule::PHASE};
use crate::{
    CoolDownBound, CoolDownUntil, Sensor, System,
    mistake::Finding,
    nearest::{list, nearest_word},
    raw,
    tree::quote,
};

const PATH: [&str; 2] = ["schedule", "cool_down"];
const UNTIL: [&str; 3] = ["schedule", "cool_down", "until"];
const KEYS: &str = "one of file, command, metric, load_average, idle_cpu";
const POLL_INTERVAL: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(300);

/// The system, and the part `system` of the study.
pub(super) type OfSystem<'a> = (Option<&'a System>, Option<&'a raw::UseSystem>);

/// The longest that the cool-down may take, and what ends it before.
pub(super) fn cool_down(
    checker: &mut Checker<'_>,
    raw: Option<&raw::CoolDown>,
    system: OfSystem<'_>,
) -> Option<(Duration, Option<CoolDownUntil>)> {
    let bounds = (Duration::ZERO, PHASE.1);
    let given = match raw {
        None => return checker.value_or_default(None, &PATH, (Duration::ZERO, None)),
        Some(raw::CoolDown::Time(raw::DurationText(time))) => {
            return Some((checker.check_bounds(*time, &PATH, bounds)?, None));
        }
        Some(raw::CoolDown::Until(given)) => given,
    };
    let path = [PATH[0], PATH[1], "poll_interval"];
    let poll_interval = checker.duration(given.poll_interval, &path, POLL_INTERVAL, PHASE);
    let path = [PATH[0], PATH[1], "timeout"];
    let timeout = checker.duration(given.timeout, &path, TIMEOUT, PHASE);
    let until = given.until.as_ref()?;
    let sensor = sensor(checker, until)?;
    let (bound, scale) = bound(checker, until, &sensor)?;
    if let Sensor::Metric(name) = &sensor {
        check_metric(checker, name, system)?;
    }
    let until = CoolDownUntil {
        sensor,
        scale,
        bound,
        poll_interval: poll_interval?,
    };
    Some((timeout?, Some(until)))
}

fn path(key: &str) -> [&str; 4] {
    [UNTIL[0], UNTIL[1], UNTIL[2], key]
}

/// The one sensor that is named.
fn sensor(checker: &mut Checker<'_>, raw: &raw::CoolDownEnd) -> Option<Sensor> {
    let keys = ["file", "command", "metric", "load_average", "idle_cpu"];
    let metric = raw.metric.clone().map(|raw::Name(name)| name);
    let all = [
        raw.file.clone().map(Sensor::File),
        raw.command.clone().map(Sensor::Command),
        metric.map(Sensor::Metric),
        raw.load_average.map(|_| Sensor::LoadAverage),
        raw.idle_cpu.map(|_| Sensor::IdleCpu),
    ];
    let mut sensors: Vec<Sensor> = all.into_iter().flatten().collect();
    let sensor = match (sensors.pop(), sensors.len()) {
        (Some(sensor), 0) => sensor,
        (None, _) if keys.iter().any(|key| checker.is_invalid(&path(key))) => return None,
        (last, others) => {
            let what = match last {
                Some(_) => format!("schedule.cool_down.until names {} values", others + 1),
                None => "schedule.cool_down.until names no value".to_owned(),
            };
            checker.report(Finding::new(checker.key(&UNTIL), what).with_expected(KEYS));
            return None;
        }
    };
    let (what, expected) = match &sensor {
        Sensor::File(file) if !file.starts_with('/') => (
            format!("schedule.cool_down.until.file is {}", quote(file)),
            "an absolute path",
        ),
        Sensor::Command(command) if command.iter().any(String::is_empty) => (
            "schedule.cool_down.until.command has an empty text".to_owned(),
            "a program with its arguments",
        ),
        _ => return Some(sensor),
    };
    let position = checker.position_of(&path(sensor.key()));
    checker.report(Finding::new(position, what).with_expected(expected));
    None
}

/// The bound and the scale.
fn bound(
    checker: &mut Checker<'_>,
    raw: &raw::CoolDownEnd,
    sensor: &Sensor,
) -> Option<(CoolDownBound, f64)> {
    let sensor_bound = match sensor {
        Sensor::LoadAverage => raw.load_average.map(CoolDownBound::AtMost),
        Sensor::IdleCpu => raw
            .idle_cpu
            .map(|raw::Share(share)| CoolDownBound::AtLeast(share)),
        Sensor::File(_) | Sensor::Command(_) | Sensor::Metric(_) => None,
    };
    let given = [
        ("below", raw.below.map(CoolDownBound::Below)),
        ("above", raw.above.map(CoolDownBound::Above)),
    ];
    if let Some(sensor_bound) = sensor_bound {
        let others = given.map(|(key, bound)| bound.map(|_| key));
        let scale = raw.scale.map(|_| "scale");
        let mut others = others.into_iter().chain([scale]).flatten();
        if let Some(key) = others.next() {
            let sensor = sensor.key();
            let what = format!("schedule.cool_down.until has {sensor} and {key}");
            let expected = format!("{sensor} alone, which has its bound");
            checker.report(Finding::new(checker.key(&path(key)), what).with_expected(expected));
            return None;
        }
        return Some((sensor_bound, 1.0));
    }
    let scale = checker.value_or_default(raw.scale, &path("scale"), 1.0)?;
    if scale == 0.0 || !scale.is_finite() {
        let what = format!("schedule.cool_down.until.scale is {scale}");
        let position = checker.position_of(&path("scale"));
        checker.report(Finding::new(position, what).with_expected("a number other than 0"));
        return None;
    }
    match given {
        [(_, Some(bound)), (_, None)] | [(_, None), (_, Some(bound))] => Some((bound, scale)),
        [(_, first), ..] => {
            let is_invalid = given.iter().any(|(key, _)| checker.is_invalid(&path(key)));
            if !is_invalid {
                let what = match first {
                    Some(_) => "schedule.cool_down.until has below and above",
                    None => "schedule.cool_down.until has no bound",
                };
                let position = checker.key(&UNTIL);
                checker.report(Finding::new(position, what).with_expected("below or above"));
            }
            None
        }
    }
}

/// Reports a metric that the system does not have, or that cannot be read while the system is down.
fn check_metric(checker: &mut Checker<'_>, name: &str, (system, used): OfSystem<'_>) -> Option<()> {
    // Without a system its metrics are not known.
    let system = system?;
    let position = checker.position_of(&path("metric"));
    let names = || system.metrics.iter().map(|metric| metric.name.as_str());
    let Some(metric) = system.metrics.iter().find(|metric| metric.name == name) else {
        let what = format!("system {} has no metric {}", system.name, quote(name));
        let expected = match names().next() {
            Some(_) => list(names()),
            None => "a system with metrics".to_owned(),
        };
        let finding = Finding::new(position, what).with_expected(expected);
        checker.report(finding.with_suggestion(nearest_word(name, names())));
        return None;
    };
    let runs = external_names(used, Some(system)).contains(metric.component.as_str());
    if !runs {
        let what = format!(
            "the metric {name} is of {}, which is stopped before the cool-down",
            metric.component
        );
        let expected = "a metric of a component in system.external, or a file or command";
        checker.report(Finding::new(position, what).with_expected(expected));
    }
    runs.then_some(())
}

//! Waiting for records after the load: how long it may take, and what ends it sooner.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_units::format_duration;

use super::phase::PHASE_OR_NONE;
use crate::{
    Delivery,
    at::{Bounds, Key, Place},
    check::Checker,
    mistake::Finding,
    raw::DurationText,
};

/// Waiting for records after the load.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drain {
    /// The longest it may take.
    #[schemars(required)]
    pub timeout: Key<DurationText>,
    /// If all accepted records have arrived and some were not accepted, it ends after nothing new has arrived for this time; 2s
    /// by default.
    pub quiet_period: Key<DurationText>,
}

const TIMEOUT: Duration = Duration::from_secs(30);
const QUIET_PERIOD: Duration = Duration::from_secs(2);

/// How long a drain may take, and for how long nothing new arrives before it ends. `schedule` is the place of the part.
pub(super) fn drain(
    checker: &mut Checker<'_>,
    given: &Key<Drain>,
    schedule: &Place,
    delivery: Option<&Delivery>,
) -> Option<(Duration, Duration)> {
    let findings = &mut checker.findings;
    let (position, timeout) = match given {
        Key::Missing if delivery.is_some() => (schedule.key, TIMEOUT),
        Key::Missing => (schedule.key, Duration::ZERO),
        Key::Invalid => return None,
        Key::Given(drain) => {
            let timeout = drain.value.timeout.content()?;
            let time = timeout.check_bounds(PHASE_OR_NONE, findings)?;
            (timeout.place.value, time)
        }
    };
    let poll_interval = delivery.map(|delivery| delivery.poll_interval);
    if let Some(poll) = poll_interval.filter(|poll| timeout < *poll) {
        let what = format!(
            "schedule.drain.timeout is {}, shorter than delivery.poll_interval",
            format_duration(timeout)
        );
        let poll = format_duration(poll);
        let expected = format!("at least {poll}, or the last records are never looked for");
        findings.push(Finding::new(position, what).with_expected(expected));
    }
    let keys = given.value();
    let quiet_period = keys.map_or(&Key::Missing, |keys| &keys.quiet_period);
    let bounds = Bounds(Duration::ZERO, timeout);
    let quiet_period = quiet_period.check_bounds(QUIET_PERIOD.min(timeout), bounds, findings)?;
    Some((timeout, quiet_period))
}

//! The pause after the loads of a preparation: a time, or until a metric of the system does not change any more.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::schedule::{PHASE, PHASE_OR_NONE};
use crate::{
    System,
    at::{At, Key},
    check::Checker,
    mistake::Finding,
    nearest::{list, nearest_word},
    raw::{DurationText, scalar_or_mapping},
};

/// `2s` or `{metric: jobs, quiet_period: 2s, timeout: 1m}`.
#[derive(Debug)]
pub(crate) enum Settle {
    Time(DurationText),
    Quiet(Box<SettleUntil>),
}

scalar_or_mapping!(
    Settle,
    Time(DurationText),
    Quiet(Box<SettleUntil>),
    "a duration, or a metric"
);

/// Until a metric of the system does not change any more.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettleUntil {
    /// One of the system's metrics.
    #[schemars(required)]
    pub metric: Key<String>,
    /// How long its value must be the same; 2s by default.
    pub quiet_period: Key<DurationText>,
    /// The longest it may take; 1min by default.
    pub timeout: Key<DurationText>,
}

const QUIET_PERIOD: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn settle(
    checker: &mut Checker<'_>,
    At { place, value }: &At<Settle>,
    system: Option<&System>,
) -> Option<crate::Settle> {
    let findings = &mut checker.findings;
    let until = match value {
        Settle::Time(DurationText(time)) => {
            let time = place.check_bounds(*time, PHASE_OR_NONE, findings);
            return time.map(crate::Settle::Time);
        }
        Settle::Quiet(until) => until,
    };
    let quiet_period = (until.quiet_period).check_bounds(QUIET_PERIOD, PHASE, findings);
    let timeout = until.timeout.check_bounds(TIMEOUT, PHASE, findings);
    if let (Some(quiet_period), Some(timeout)) = (quiet_period, timeout)
        && timeout < quiet_period
    {
        // Without a timeout the quiet period is longer than the default.
        let position = until.timeout.place().map_or(place.key, |given| given.key);
        let what = "prepare.settle.timeout is shorter than quiet_period";
        findings.push(Finding::new(position, what).with_expected("at least as long"));
    }
    let metric = until.metric.content()?;
    if let Some(system) = system {
        refuse_unknown_metric(checker, metric, system);
    }
    Some(crate::Settle::Quiet {
        metric: metric.value.clone(),
        quiet_period: quiet_period?,
        timeout: timeout?,
    })
}

/// Reports a metric that the system does not have in this configuration.
fn refuse_unknown_metric(
    checker: &mut Checker<'_>,
    At {
        place,
        value: metric,
    }: &At<String>,
    system: &System,
) {
    let names = || system.metrics.iter().map(|known| known.name.as_str());
    if names().any(|known| known == metric) {
        return;
    }
    let what = format!("the system has no metric {metric:?} in this configuration");
    let expected = match names().next() {
        Some(_) => list(names()),
        None => "a time such as 2s: it has no metrics".to_owned(),
    };
    let finding = Finding::new(place.value, what).with_expected(expected);
    checker.report(finding.with_suggestion(nearest_word(metric, names())));
}

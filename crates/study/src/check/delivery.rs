//! Delivery accounting: which probes are polled, how often, and what counts as late.

use std::time::Duration;

use waggle_units::format_duration;

use super::Checker;
use crate::{
    Delivery, Scenario, System, What,
    mistake::{Finding, Position},
    nearest, raw,
};

/// Bounds of the time between two polls.
const POLL_INTERVAL: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(60));
/// Bounds of what counts as late.
const LATE_THRESHOLD: (Duration, Duration) =
    (Duration::from_millis(1), Duration::from_secs(24 * 3600));
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Whether the load's requests carry records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carries {
    Records,
    Nothing,
    /// None of the scenario's steps carries a record.
    NothingInSteps,
}

impl Carries {
    /// For the load's one request; `None` if it has a mistake.
    pub(crate) fn of_request(checker: &Checker<'_>, load: &raw::Load) -> Option<Self> {
        match &load.request {
            Some(request) if request.records.is_some() => Some(Self::Records),
            Some(_) if checker.is_invalid(&["load", "request", "records"]) => None,
            Some(_) => Some(Self::Nothing),
            None => None,
        }
    }

    /// For a checked request or scenario; `None`: a request whose texts name no record.
    pub(crate) fn of_sent(what: &What) -> Option<Self> {
        match what {
            What::Scenario(scenario) => Some(Self::of_steps(scenario)),
            What::Request(request) => (request.records() > 0).then_some(Self::Records),
        }
    }

    fn of_steps(scenario: &Scenario) -> Self {
        if scenario.steps_with_record().is_empty() {
            Self::NothingInSteps
        } else {
            Self::Records
        }
    }
}

/// Checks `delivery`; `Some(None)`: the study has none.
pub(crate) fn delivery(
    checker: &mut Checker<'_>,
    raw: Option<&raw::Delivery>,
    system: Option<&System>,
    carries: Option<Carries>,
) -> Option<Option<Delivery>> {
    let delivery = raw.and_then(|raw| checked_delivery(checker, raw, system));
    if let (Some(_), Some(carries)) = (raw, carries)
        && carries != Carries::Records
    {
        let (what, expected) = match carries {
            Carries::NothingInSteps => (
                "delivery follows records, but no step of the scenario carries one",
                "{{record.key}} in the path, a header or the body of a step",
            ),
            _ => (
                "delivery follows records, but the request carries none",
                "load.request.records, or {{record.key}} in its path, a header or the body",
            ),
        };
        checker.report(Finding::new(checker.key(&["delivery"]), what).with_expected(expected));
    }
    match raw {
        Some(_) => delivery.map(Some),
        None => Some(None),
    }
}

fn checked_delivery(
    checker: &mut Checker<'_>,
    raw: &raw::Delivery,
    system: Option<&System>,
) -> Option<Delivery> {
    let probes = raw
        .probes
        .as_ref()
        .map_or(&[][..], raw::OneOrSeveral::texts);
    let is_list = matches!(raw.probes, Some(raw::OneOrSeveral::Several(_)));
    for (index, probe) in probes.iter().enumerate() {
        let number = index.to_string();
        let path = ["delivery", "probes", &number];
        let position = checker.position_of(if is_list { &path } else { &path[..2] });
        if probes[..index].contains(probe) {
            let what = format!("delivery.probes has {probe:?} twice");
            checker.report(Finding::new(position, what).with_expected("each probe once"));
        }
        if let Some(system) = system {
            refuse_unknown_probe(checker, position, probe, system);
        }
    }
    let path = ["delivery", "poll_interval"];
    let given = raw.poll_interval.map(|raw::DurationText(time)| time);
    let poll_interval = checker.value_or_default(given, &path, DEFAULT_POLL_INTERVAL)?;
    let poll_interval = checker.check_bounds(poll_interval, &path, POLL_INTERVAL);
    let late_threshold = late_threshold(checker, raw, poll_interval);
    Some(Delivery {
        probes: raw.probes.as_ref()?.texts().to_vec(),
        poll_interval: poll_interval?,
        late_threshold,
    })
}

/// Reports the name of a probe that the system does not have.
fn refuse_unknown_probe(
    checker: &mut Checker<'_>,
    position: Position,
    name: &str,
    system: &System,
) {
    if system.probes.iter().any(|probe| probe.name == name) {
        return;
    }
    let names = || system.probes.iter().map(|probe| probe.name.as_str());
    let what = format!(
        "delivery.probes is {name:?}, which is no probe of system {}",
        system.name
    );
    let expected = if system.probes.is_empty() {
        "a system with probes".to_owned()
    } else {
        nearest::list(names())
    };
    let near = nearest::nearest_word(name, names());
    checker.report(
        Finding::new(position, what)
            .with_expected(expected)
            .with_suggestion(near),
    );
}

fn late_threshold(
    checker: &mut Checker<'_>,
    raw: &raw::Delivery,
    poll_interval: Option<Duration>,
) -> Option<Duration> {
    let path = ["delivery", "late_threshold"];
    let late = checker.check_bounds(raw.late_threshold?.0, &path, LATE_THRESHOLD)?;
    if let Some(poll) = poll_interval.filter(|poll| late < *poll) {
        let what = format!(
            "delivery.late_threshold is {}, less than the time between two polls",
            format_duration(late)
        );
        let expected = format!("at least delivery.poll_interval, {}", format_duration(poll));
        checker.report(Finding::new(checker.position_of(&path), what).with_expected(expected));
    }
    Some(late)
}

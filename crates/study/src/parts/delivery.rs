//! The part `delivery` of a study: which probes are polled, how often, and what counts as late.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_units::format_duration;

use super::load::Load;
use crate::{
    Scenario, System, What,
    at::{At, Bounds, Key, Place},
    check::Checker,
    mistake::{Finding, Position},
    nearest,
    raw::{DurationText, OneOrSeveral},
};

/// Delivery accounting: accepted records are followed until a probe sees them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Delivery {
    /// Name of one of the system's probes, or a list of them in the order in which records arrive: at the last one they must
    /// arrive.
    #[schemars(required)]
    pub probes: Key<OneOrSeveral<At<String>>>,
    /// Time between two polls; 100ms by default.
    pub poll_interval: Key<DurationText>,
    /// A record seen later than this after it was sent is late; none is by default.
    pub late_threshold: Key<DurationText>,
}

const POLL_INTERVAL: Bounds = Bounds(Duration::from_millis(1), Duration::from_secs(60));
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_millis(100);
const LATE_THRESHOLD: Bounds = Bounds(Duration::from_millis(1), Duration::from_secs(24 * 3600));

impl Delivery {
    /// The names of the probes.
    pub(crate) fn probes(&self) -> Vec<String> {
        let entries = self.probes.content().map(At::entries).unwrap_or_default();
        entries
            .into_iter()
            .map(|(_, name)| name.to_owned())
            .collect()
    }
}

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
    pub(crate) fn of_request(load: &Load) -> Option<Self> {
        match load.request.value() {
            Some(request) if request.records.is_some() => Some(Self::Records),
            Some(request) if request.records.is_invalid() => None,
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

/// Checks the part; `Some(None)`: the study has none.
pub(crate) fn delivery(
    checker: &mut Checker<'_>,
    given: &Key<Delivery>,
    system: Option<&System>,
    carries: Option<Carries>,
) -> Option<Option<crate::Delivery>> {
    let key = match given {
        Key::Given(key) => key,
        Key::Missing | Key::Invalid => return Some(None),
    };
    let delivery = check_keys(checker, &key.value, system);
    if let Some(carries) = carries {
        refuse_without_records(checker, &key.place, carries);
    }
    delivery.map(Some)
}

/// Reports that nothing can be followed.
fn refuse_without_records(checker: &mut Checker<'_>, place: &Place, carries: Carries) {
    let (why, expected) = match carries {
        Carries::Records => return,
        Carries::NothingInSteps => (
            "follows records, but no step of the scenario carries one",
            "{{record.key}} in the path, a header or the body of a step",
        ),
        Carries::Nothing => (
            "follows records, but the request carries none",
            "load.request.records, or {{record.key}} in its path, a header or the body",
        ),
    };
    checker.report(place.key_mistake(why).with_expected(expected));
}

fn check_keys(
    checker: &mut Checker<'_>,
    given: &Delivery,
    system: Option<&System>,
) -> Option<crate::Delivery> {
    let entries = given.probes.content().map(At::entries).unwrap_or_default();
    for (index, (position, probe)) in entries.iter().enumerate() {
        if entries[..index].iter().any(|(_, before)| before == probe) {
            let what = format!("delivery.probes has {probe:?} twice");
            checker.report(Finding::new(*position, what).with_expected("each probe once"));
        }
        if let Some(system) = system {
            refuse_unknown_probe(checker, *position, probe, system);
        }
    }
    let findings = &mut checker.findings;
    let poll_interval =
        (given.poll_interval).check_bounds(DEFAULT_POLL_INTERVAL, POLL_INTERVAL, findings);
    let late_threshold = late_threshold(findings, given, poll_interval);
    given.probes.content()?;
    Some(crate::Delivery {
        probes: given.probes(),
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
    findings: &mut Vec<Finding>,
    given: &Delivery,
    poll_interval: Option<Duration>,
) -> Option<Duration> {
    let key = given.late_threshold.content()?;
    let late = key.check_bounds(LATE_THRESHOLD, findings)?;
    if let Some(poll) = poll_interval.filter(|poll| late < *poll) {
        let what = format!(
            "is {}, less than the time between two polls",
            format_duration(late)
        );
        let expected = format!("at least delivery.poll_interval, {}", format_duration(poll));
        findings.push(key.place.mistake(what).with_expected(expected));
    }
    Some(late)
}

//! What is measured besides the answers' times.

use std::time::Duration;

use waggle_units::format_duration;

use super::Checker;
use crate::{
    Delivery, Measure, Scenario, System,
    mistake::{Finding, Place},
    nearest, raw,
};

/// Bounds of a histogram interval and of a sampling period.
const INTERVAL: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(60));
/// Bounds of the time between two looks.
const POLL: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(60));
/// Bounds of what counts as late.
const LATE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(24 * 3600));
const SECOND: Duration = Duration::from_secs(1);
const DEFAULT_POLL: Duration = Duration::from_millis(100);

/// What the load carries to where delivery is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carries {
    Records,
    Nothing,
    /// Sessions without any.
    NothingInSteps,
}

impl Carries {
    /// Of a load's one request; nothing where that is not known.
    pub(crate) fn of_request(checker: &Checker<'_>, load: &raw::Load) -> Option<Self> {
        match &load.request {
            Some(request) if request.records.is_some() => Some(Self::Records),
            Some(_) if checker.is_wild(&["load", "request", "records"]) => None,
            Some(_) => Some(Self::Nothing),
            None => None,
        }
    }

    pub(crate) fn of_steps(scenario: &Scenario) -> Self {
        if scenario.steps_with_record().is_empty() {
            Self::NothingInSteps
        } else {
            Self::Records
        }
    }
}

/// What was found of `measure`; the interval and the delivery are needed by themselves, too.
pub(crate) struct Found {
    pub interval: Option<Duration>,
    pub delivery: Option<Delivery>,
    /// All of it, where all of it is right.
    pub whole: Option<Measure>,
}

pub(crate) fn measure(
    checker: &mut Checker<'_>,
    raw: Option<&raw::Measure>,
    system: Option<&System>,
    carries: Option<Carries>,
) -> Found {
    let mut time = |given: Option<raw::Span>, key: &str| {
        let path = ["measure", key];
        let given = checker.value_or_default(given.map(|raw::Span(time)| time), &path, SECOND)?;
        checker.check_bounds(given, &path, INTERVAL)
    };
    let interval = time(raw.and_then(|raw| raw.interval), "interval");
    let resources = time(raw.and_then(|raw| raw.resources), "resources");
    let asked = raw.and_then(|raw| raw.delivery.as_ref());
    let delivery = asked.and_then(|raw| self::delivery(checker, raw, system));
    if let (Some(_), Some(carries)) = (asked, carries)
        && carries != Carries::Records
    {
        let (what, expected) = match carries {
            Carries::NothingInSteps => (
                "measure.delivery follows records, but no step of the scenario carries one",
                "{{record.key}} in the path, a header or the body of a step",
            ),
            _ => (
                "measure.delivery follows records, but the request carries none",
                "load.request.records, or {{record.key}} in its path, a header or the body",
            ),
        };
        checker.report(
            Finding::new(checker.key(&["measure", "delivery"]), what).with_expected(expected),
        );
    }
    let complete = asked.is_none() || delivery.is_some();
    let whole = interval
        .zip(resources)
        .filter(|_| complete)
        .map(|(interval, resources)| Measure {
            interval,
            resources,
            delivery: delivery.clone(),
        });
    Found {
        interval,
        delivery,
        whole,
    }
}

fn delivery(
    checker: &mut Checker<'_>,
    raw: &raw::Delivery,
    system: Option<&System>,
) -> Option<Delivery> {
    let places = raw.at.as_ref().map_or(&[][..], raw::OneOrSeveral::texts);
    let is_list = matches!(raw.at, Some(raw::OneOrSeveral::Several(_)));
    for (index, at) in places.iter().enumerate() {
        let number = index.to_string();
        let path = ["measure", "delivery", "at", &number];
        let place = checker.position_of(if is_list { &path } else { &path[..3] });
        if places[..index].contains(at) {
            let what = format!("measure.delivery.at has {at:?} twice");
            checker.report(Finding::new(place, what).with_expected("each probe once"));
        }
        if let Some(system) = system {
            exists(checker, place, at, system);
        }
    }
    let poll_path = ["measure", "delivery", "poll"];
    let poll = checker.value_or_default(
        raw.poll.map(|raw::Span(time)| time),
        &poll_path,
        DEFAULT_POLL,
    )?;
    let poll = checker.check_bounds(poll, &poll_path, POLL);
    let late_after = late_after(checker, raw, poll);
    Some(Delivery {
        at: raw.at.as_ref()?.texts().to_vec(),
        poll: poll?,
        late_after,
    })
}

/// The system has a probe of that name.
fn exists(checker: &mut Checker<'_>, place: Place, at: &str, system: &System) {
    if system.probes.iter().any(|probe| probe.name == at) {
        return;
    }
    let names = || system.probes.iter().map(|probe| probe.name.as_str());
    let what = format!(
        "measure.delivery.at is {at:?}, which is no probe of system {}",
        system.name
    );
    let expected = if system.probes.is_empty() {
        "a system with probes".to_owned()
    } else {
        nearest::list(names())
    };
    let near = nearest::nearest_word(at, names());
    checker.report(
        Finding::new(place, what)
            .with_expected(expected)
            .with_suggestion(near),
    );
}

fn late_after(
    checker: &mut Checker<'_>,
    raw: &raw::Delivery,
    poll: Option<Duration>,
) -> Option<Duration> {
    let path = ["measure", "delivery", "late_after"];
    let late = checker.check_bounds(raw.late_after?.0, &path, LATE)?;
    if let Some(poll) = poll.filter(|poll| late < *poll) {
        let what = format!(
            "measure.delivery.late_after is {}, less than the time between two looks",
            format_duration(late)
        );
        let expected = format!("at least measure.delivery.poll, {}", format_duration(poll));
        checker.report(Finding::new(checker.position_of(&path), what).with_expected(expected));
    }
    Some(late)
}

//! The part `faults` of a study: components that are killed in mid-trial, and when.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_template::placeholder::single_name;
use waggle_units::format_duration;

use super::delivery::Delivery;
use crate::{
    Component, Level, Probe, ProbeKind,
    at::{At, Bounds, Key, Place},
    check::{Checker, MAX_REPLICAS},
    configure::Configured,
    nearest::{list, nearest_word},
    raw::{DurationText, UseSystem, external_names},
    tree::quote,
};

/// A component that is killed in mid-trial and restarted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    /// The component: one of its processes gets SIGKILL, with all that it has started; of a workload one of its pods that are ready is
    /// deleted without grace. `none`: nothing in this cell.
    #[schemars(required)]
    pub kill: Key<String>,
    /// Which replica of it, counted from 0; 0 by default.
    #[schemars(range(min = 0, max = 255))]
    pub replica: Key<u32>,
    /// When, counted from the start of the measured phase, within it.
    #[schemars(required)]
    pub at: Key<DurationText>,
    /// How long after the kill it is restarted, with the same ports, folder and files. 0s for a pod of a workload, which Kubernetes
    /// replaces at once.
    #[schemars(required)]
    pub restart_after: Key<DurationText>,
}

/// In place of a component's name: nothing is killed in this cell.
const NOTHING: &str = "none";
/// How long a component stays down.
const RESTART_AFTER: Bounds = Bounds(Duration::ZERO, Duration::from_secs(3600));
/// Most faults of a cell.
const MAX_FAULTS: usize = 32;

/// The parts of a cell that its faults must fit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stage<'a> {
    /// `None`: not known.
    pub system: Option<Configured<'a>>,
    /// The part of the study that names it.
    pub of_system: Option<&'a UseSystem>,
    /// Length of the measured phase; `None`: the schedule has a mistake.
    pub measure: Option<Duration>,
    pub has_recovery: bool,
    pub delivery: Option<&'a Delivery>,
}

/// A fault with its keys.
struct Checked<'a> {
    given: &'a At<Fault>,
    fault: crate::Fault,
}

/// The faults of a cell, sorted by time.
pub(crate) fn faults(
    checker: &mut Checker<'_>,
    given: &Key<Vec<At<Fault>>>,
    stage: Stage<'_>,
) -> Option<Vec<crate::Fault>> {
    let At { place, value } = match given {
        Key::Missing => return Some(Vec::new()),
        Key::Invalid => return None,
        Key::Given(faults) => faults,
    };
    if !value.is_empty() {
        refuse_elsewhere(checker, place, stage)?;
    }
    if value.len() > MAX_FAULTS {
        let mistake = place.key_mistake(format!("has {} entries", value.len()));
        checker.report(mistake.with_expected(format!("at most {MAX_FAULTS}")));
        return None;
    }
    let mut faults = Vec::new();
    let mut is_complete = true;
    for given in value {
        match check_fault(checker, &given.value, stage) {
            Some(Some(fault)) => faults.push(Checked { given, fault }),
            Some(None) => {}
            None => is_complete = false,
        }
    }
    faults.sort_by_key(|checked| checked.fault.at);
    refuse_overlaps(checker, &faults);
    refuse_probes(checker, stage, &faults);
    is_complete.then(|| faults.into_iter().map(|checked| checked.fault).collect())
}

/// Reports faults of a server that runs already, and together with a recovery phase: a recovery time must have one cause, a kill or
/// the load drop.
fn refuse_elsewhere(checker: &mut Checker<'_>, place: &Place, stage: Stage<'_>) -> Option<()> {
    if stage.of_system.is_some_and(|used| used.url.is_some()) {
        let why = "kill what waggle has started, and system.url is a server that runs already";
        let mistake = place.key_mistake(why);
        checker.report(mistake.with_expected("system.use, or no faults"));
        return None;
    }
    if stage.has_recovery {
        let why = "and schedule.recovery in one study leave open what the system recovers from, a kill or its overload";
        let mistake = place.key_mistake(why);
        checker.report(mistake.with_expected("one of the two"));
    }
    Some(())
}

/// Reports a kill of what a probe shows, if the probe cannot be read again from the beginning.
fn refuse_probes(checker: &mut Checker<'_>, stage: Stage<'_>, faults: &[Checked<'_>]) {
    let Some(Configured { whole: system, .. }) = stage.system else {
        return;
    };
    let probes = stage.delivery.map(Delivery::probes).unwrap_or_default();
    let is_named = |probe: &&Probe| probes.contains(&probe.name);
    for probe in system.probes.iter().filter(is_named) {
        let is_read_again = match &probe.kind {
            ProbeKind::Watch(watch) => watch.shows_existing(),
            _ => true,
        };
        let is_shown = |component: &String| probe.sources().any(|source| source == *component);
        let mut faults = faults.iter();
        if let Some(checked) = faults.find(|checked| is_shown(&checked.fault.component))
            && let Some(place) = checked.given.value.kill.place()
            && !is_read_again
        {
            let what = format!(
                "is {:?}, after which probe {} must be read again, and it shows only what comes later",
                checked.fault.component, probe.name
            );
            let expected = "a watch that begins at a version (begin.at)";
            checker.report(place.mistake(what).with_expected(expected));
        }
    }
}

/// One entry; `Some(None)`: it kills nothing in this cell.
fn check_fault(
    checker: &mut Checker<'_>,
    keys: &Fault,
    stage: Stage<'_>,
) -> Option<Option<crate::Fault>> {
    let moment = kill_time(checker, &keys.at, stage.measure);
    let restart_after = keys.restart_after.content();
    let restart_after =
        restart_after.and_then(|time| time.check_bounds(RESTART_AFTER, &mut checker.findings));
    let name = keys.kill.content()?;
    if name.value == NOTHING {
        return moment.and(restart_after).map(|_| None);
    }
    let replica = keys.replica.or_default(0);
    if let Some(system) = stage.system {
        let component = component(checker, name, system)?;
        let external = external_names(stage.of_system, Some(system.whole));
        if external.contains(name.value.as_str()) {
            let what = format!(
                "is {:?}, which runs already and was not started by waggle",
                name.value
            );
            let expected = "a component that waggle starts";
            checker.report(name.place.mistake(what).with_expected(expected));
            return None;
        }
        if component.workload.is_some() {
            refuse_restart_time(checker, keys, restart_after)?;
        }
        let replicas = replicas(component, system.parameters);
        // By default it is the first, which every component has.
        if let (Some(given), Some(replicas)) = (keys.replica.content(), replicas)
            && given.value >= replicas
        {
            refuse_replica(checker, given, &name.value, replicas);
            return None;
        }
    }
    Some(Some(crate::Fault {
        component: name.value.clone(),
        replica: replica?,
        at: moment?,
        restart_after: restart_after?,
    }))
}

/// Reports a time before the restart of a pod: Kubernetes makes another one at once.
fn refuse_restart_time(
    checker: &mut Checker<'_>,
    keys: &Fault,
    restart_after: Option<Duration>,
) -> Option<()> {
    let time = restart_after.filter(|time| !time.is_zero());
    let (Some(time), Some(place)) = (time, keys.restart_after.place()) else {
        return Some(());
    };
    let what = format!(
        "is {}, and Kubernetes replaces a pod at once",
        format_duration(time)
    );
    checker.report(place.mistake(what).with_expected("0s for a workload"));
    None
}

/// Reports a replica that a component does not have.
fn refuse_replica(checker: &mut Checker<'_>, replica: &At<u32>, name: &str, replicas: u32) {
    let (all, expected) = match replicas {
        1 => ("1 replica".to_owned(), "0".to_owned()),
        _ => (
            format!("{replicas} replicas"),
            format!("a number from 0 to {}", replicas - 1),
        ),
    };
    let what = format!("is {}, and component {name} has {all}", replica.value);
    checker.report(replica.place.mistake(what).with_expected(expected));
}

/// The time of a kill, which must be in the measured phase.
fn kill_time(
    checker: &mut Checker<'_>,
    given: &Key<DurationText>,
    measure: Option<Duration>,
) -> Option<Duration> {
    let At { place, value } = given.content()?;
    let DurationText(moment) = *value;
    if let Some(measure) = measure.filter(|measure| moment >= *measure) {
        let measure = format_duration(measure);
        let moment = format_duration(moment);
        let mistake = place.mistake(format!(
            "is {moment}, and the measured phase lasts {measure}"
        ));
        checker.report(mistake.with_expected(format!("less than schedule.measure, {measure}")));
        return None;
    }
    Some(moment)
}

/// The component of a name, which exists in the cell's configuration.
fn component<'a>(
    checker: &mut Checker<'_>,
    At { place, value: name }: &At<String>,
    Configured { whole, present, .. }: Configured<'a>,
) -> Option<&'a Component> {
    let mut components = present.components.iter();
    if let Some(component) = components.find(|known| known.name == *name) {
        return Some(component);
    }
    let names = || {
        let components = present.components.iter();
        let names = components.map(|known| known.name.as_str());
        names.chain(std::iter::once(NOTHING))
    };
    let (what, near) = match whole.components.iter().find(|known| known.name == *name) {
        Some(absent) => (
            format!("is {name:?}, which exists only if {}", absent.when),
            None,
        ),
        None => (
            format!(
                "is {}, which is no component of system {}",
                quote(name),
                whole.name
            ),
            nearest_word(name, names()),
        ),
    };
    let mistake = place.mistake(what).with_expected(list(names()));
    checker.report(mistake.with_suggestion(near));
    None
}

/// How many replicas a component has: a number, or the value of a parameter.
fn replicas(component: &Component, parameters: &BTreeMap<String, Level>) -> Option<u32> {
    let text = &component.replicas;
    let count = match single_name(text) {
        Some(name) => parameters.get(name)?.to_string(),
        None => text.clone(),
    };
    let count: i64 = count.parse().ok()?;
    // Anything else was reported already.
    u32::try_from(count)
        .ok()
        .filter(|_| (1..=MAX_REPLICAS).contains(&count))
}

/// Reports a kill of a replica that is down. `faults` is sorted by time.
fn refuse_overlaps(checker: &mut Checker<'_>, faults: &[Checked<'_>]) {
    for (index, Checked { given, fault }) in faults.iter().enumerate() {
        let is_same = |earlier: &&Checked<'_>| {
            let earlier = &earlier.fault;
            (&earlier.component, earlier.replica) == (&fault.component, fault.replica)
        };
        let Some(earlier) = faults[..index].iter().rev().find(is_same) else {
            continue;
        };
        let until = earlier.fault.at + earlier.fault.restart_after;
        let Some(place) = given.value.at.place().filter(|_| fault.at <= until) else {
            continue;
        };
        let until = format_duration(until);
        let what = format!(
            "is {}, and {} is down from {} to {until} by {}",
            format_duration(fault.at),
            fault.name(),
            format_duration(earlier.fault.at),
            earlier.given.place.path
        );
        let expected = format!("later than {until}");
        checker.report(place.mistake(what).with_expected(expected));
    }
}

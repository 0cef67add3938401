//! Faults: whether a component can be killed in mid-trial, and when.

use std::{collections::BTreeMap, time::Duration};

use waggle_template::placeholder::single_name;
use waggle_units::format_duration;

use super::{Checker, path_text, system::MAX_REPLICAS};
use crate::{
    Component, Fault, Level, Probe, ProbeKind, Schedule, System,
    at::Bounds,
    mistake::Finding,
    nearest::{list, nearest_word},
    parts::delivery::Delivery,
    raw,
    tree::quote,
};

const KEY: &str = "faults";
/// In place of a component's name: nothing is killed in this cell.
const NOTHING: &str = "none";
/// Longest time that a component stays down.
const RESTART_AFTER_MAX: Duration = Duration::from_secs(3600);
/// Most faults of a cell.
const MAX_FAULTS: usize = 32;

/// The parts of a cell that its faults must fit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stage<'a> {
    /// The whole system, and the part of it that exists in the cell's configuration; `None`: not known.
    system: Option<(&'a System, &'a System)>,
    parameters: Option<&'a BTreeMap<String, Level>>,
    /// Length of the measured phase; `None`: the schedule has a mistake.
    measure: Option<Duration>,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(
        system: Option<(&'a System, &'a System)>,
        parameters: Option<&'a BTreeMap<String, Level>>,
        schedule: Option<&Schedule>,
    ) -> Self {
        Self {
            system,
            parameters,
            measure: schedule.map(|schedule| schedule.measure),
        }
    }
}

/// The faults of a cell, sorted by time.
pub(crate) fn faults(
    checker: &mut Checker<'_>,
    raw: &raw::Study,
    stage: Stage<'_>,
) -> Option<Vec<Fault>> {
    let Some(given) = &raw.faults else {
        return (!checker.is_invalid(&[KEY])).then(Vec::new);
    };
    let is_url = raw.system.as_ref().is_some_and(|raw| raw.url.is_some());
    if is_url && !given.is_empty() {
        let what =
            "faults kill what waggle has started, and system.url is a server that runs already";
        let position = checker.key(&[KEY]);
        checker.report(Finding::new(position, what).with_expected("system.use, or no faults"));
        return None;
    }
    refuse_recovery(checker, raw, given);
    if given.len() > MAX_FAULTS {
        let what = format!("faults has {} entries", given.len());
        let position = checker.key(&[KEY]);
        checker.report(Finding::new(position, what).with_expected(format!("at most {MAX_FAULTS}")));
        return None;
    }
    let external = raw::external_names(raw.system.as_ref(), stage.system.map(|(whole, _)| whole));
    let is_external = |name: &str| external.contains(name);
    let mut faults = Vec::new();
    let mut is_complete = true;
    for (index, raw) in given.iter().enumerate() {
        let number = index.to_string();
        let path = [KEY, number.as_str()];
        match check_fault(checker, raw, &path, stage, &is_external) {
            Some(Some(fault)) => faults.push((index, fault)),
            Some(None) => {}
            None => is_complete = false,
        }
    }
    faults.sort_by_key(|(_, fault)| fault.at);
    refuse_overlaps(checker, &faults);
    if let Some((whole, _)) = stage.system {
        refuse_probes(checker, raw, whole, &faults);
    }
    is_complete.then(|| faults.into_iter().map(|(_, faults)| faults).collect())
}

/// Reports a kill of what a probe shows, if the probe cannot be read again from the beginning.
fn refuse_probes(
    checker: &mut Checker<'_>,
    raw: &raw::Study,
    system: &System,
    faults: &[(usize, Fault)],
) {
    let delivery = raw.delivery.value();
    let named = delivery.map(Delivery::probes).unwrap_or_default();
    let is_named = |probe: &&Probe| named.contains(&probe.name);
    for probe in system.probes.iter().filter(is_named) {
        let is_read_again = match &probe.kind {
            ProbeKind::Watch(watch) => watch.shows_existing(),
            _ => true,
        };
        let is_shown = |fault: &Fault| probe.sources().any(|source| source == fault.component);
        if let Some((index, fault)) = faults.iter().find(|(_, fault)| is_shown(fault))
            && !is_read_again
        {
            let number = index.to_string();
            let path = [KEY, number.as_str(), "kill"];
            let what = format!(
                "{} is {:?}, after which probe {} must be read again, and it shows only what comes later",
                path_text(&path),
                fault.component,
                probe.name
            );
            let finding = Finding::new(checker.position_of(&path), what);
            checker.report(finding.with_expected("a watch that begins at a version (begin.at)"));
        }
    }
}

/// Reports faults together with a recovery phase: a recovery time must have one cause, a kill or the load drop.
fn refuse_recovery(checker: &mut Checker<'_>, raw: &raw::Study, given: &[raw::Fault]) {
    let schedule = raw.schedule.value();
    if schedule.is_some_and(|keys| keys.recovery.is_some()) && !given.is_empty() {
        let what = "faults and schedule.recovery in one study leave open what the system recovers from, a kill or its overload";
        let position = checker.key(&[KEY]);
        checker.report(Finding::new(position, what).with_expected("one of the two"));
    }
}

/// One entry; `Some(None)`: it kills nothing in this cell.
fn check_fault(
    checker: &mut Checker<'_>,
    raw: &raw::Fault,
    path: &[&str],
    stage: Stage<'_>,
    is_external: &dyn Fn(&str) -> bool,
) -> Option<Option<Fault>> {
    let key = |key: &'static str| [path, &[key]].concat();
    let moment = kill_time(checker, raw, &key("at"), stage.measure);
    let restart_after = raw.restart_after.and_then(|raw::DurationText(time)| {
        let bounds = Bounds(Duration::ZERO, RESTART_AFTER_MAX);
        checker.check_bounds(time, &key("restart_after"), bounds)
    });
    let name = raw.kill.as_deref()?;
    if name == NOTHING {
        return moment.and(restart_after).map(|_| None);
    }
    let replica = checker.value_or_default(raw.replica, &key("replica"), 0);
    if let Some((whole, present)) = stage.system {
        let component = component(checker, name, &key("kill"), whole, present)?;
        if is_external(name) {
            let what = format!(
                "{} is {name:?}, which runs already and was not started by waggle",
                path_text(&key("kill"))
            );
            let position = checker.position_of(&key("kill"));
            checker.report(
                Finding::new(position, what).with_expected("a component that waggle starts"),
            );
            return None;
        }
        let replicas = stage
            .parameters
            .and_then(|parameters| replicas(component, parameters));
        if let Some((replica, replicas)) = replica.zip(replicas)
            && replica >= replicas
        {
            let what = format!(
                "{} is {replica}, and component {name} has {}",
                path_text(&key("replica")),
                replicas_text(replicas)
            );
            let expected = match replicas {
                1 => "0".to_owned(),
                _ => format!("a number from 0 to {}", replicas - 1),
            };
            // By default it is the first, which every component has.
            let position = checker.position_of(&key("replica"));
            checker.report(Finding::new(position, what).with_expected(expected));
            return None;
        }
    }
    Some(Some(Fault {
        component: name.to_owned(),
        replica: replica?,
        at: moment?,
        restart_after: restart_after?,
    }))
}

/// The time of a kill, which must be in the measured phase.
fn kill_time(
    checker: &mut Checker<'_>,
    raw: &raw::Fault,
    path: &[&str],
    measure: Option<Duration>,
) -> Option<Duration> {
    let moment = raw.at?.0;
    if let Some(measure) = measure.filter(|measure| moment >= *measure) {
        let what = format!(
            "{} is {}, and the measured phase lasts {}",
            path_text(path),
            format_duration(moment),
            format_duration(measure)
        );
        let expected = format!("less than schedule.measure, {}", format_duration(measure));
        checker.report(Finding::new(checker.position_of(path), what).with_expected(expected));
        return None;
    }
    Some(moment)
}

/// The component of a name, which exists in the cell's configuration.
fn component<'a>(
    checker: &mut Checker<'_>,
    name: &str,
    path: &[&str],
    whole: &System,
    present: &'a System,
) -> Option<&'a Component> {
    let lookup = |system: &'a System| system.components.iter().find(|known| known.name == name);
    if let Some(component) = lookup(present) {
        return Some(component);
    }
    let position = checker.position_of(path);
    let names = || {
        let components = present.components.iter();
        let names = components.map(|known| known.name.as_str());
        names.chain(std::iter::once(NOTHING))
    };
    let finding = match whole.components.iter().find(|known| known.name == name) {
        Some(absent) => {
            let what = format!(
                "{} is {name:?}, which exists only if {}",
                path_text(path),
                absent.when
            );
            Finding::new(position, what).with_expected(list(names()))
        }
        None => {
            let what = format!(
                "{} is {}, which is no component of system {}",
                path_text(path),
                quote(name),
                whole.name
            );
            let near = nearest_word(name, names());
            Finding::new(position, what)
                .with_expected(list(names()))
                .with_suggestion(near)
        }
    };
    checker.report(finding);
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

fn replicas_text(replicas: u32) -> String {
    match replicas {
        1 => "1 replica".to_owned(),
        count => format!("{count} replicas"),
    }
}

/// Reports a kill of a replica that is down. `faults` is sorted by time; each fault has its index in the list.
fn refuse_overlaps(checker: &mut Checker<'_>, faults: &[(usize, Fault)]) {
    for (nth, (index, fault)) in faults.iter().enumerate() {
        let is_same = |earlier: &&(usize, Fault)| {
            (&earlier.1.component, earlier.1.replica) == (&fault.component, fault.replica)
        };
        let Some((earlier, before)) = faults[..nth].iter().rev().find(is_same) else {
            continue;
        };
        let until = before.at + before.restart_after;
        if fault.at > until {
            continue;
        }
        let number = index.to_string();
        let path = [KEY, number.as_str(), "at"];
        let what = format!(
            "{} is {}, and {} is down from {} to {} by {KEY}[{}]",
            path_text(&path),
            format_duration(fault.at),
            fault.name(),
            format_duration(before.at),
            format_duration(until),
            earlier + 1
        );
        let expected = format!("later than {}", format_duration(until));
        let finding = Finding::new(checker.position_of(&path), what);
        checker.report(finding.with_expected(expected));
    }
}

//! The part `faults` of a study: components that are killed, upgraded or moved away in mid-trial, and when.

mod together;

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::FaultKind;
use waggle_template::placeholder::single_name;
use waggle_units::format_duration;

use self::together::{add_levels, refuse_other_components, refuse_overlaps, refuse_probes};
use super::{
    delivery::Delivery,
    texts::{refuse_key, require_key, single_kind},
};
use crate::{
    Component, FaultAction, Level,
    at::{At, Bounds, Entries, Key, Place},
    check::{Checker, MAX_REPLICAS, check_set},
    configure::Configured,
    nearest::{list, nearest_word},
    raw::{DurationText, UseSystem, external_names},
    tree::quote,
};

/// What is done to a component in mid-trial: exactly one of `kill`, `upgrade` and `drain`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    /// The component: one of its processes gets SIGKILL, with all that it has started; of a workload one of its pods that are ready is
    /// deleted without grace. `none`: nothing in this cell.
    pub kill: Key<String>,
    /// A component of a system of manifests or a chart that is upgraded under load: parameters get the values of `set`, what changes by
    /// that is applied, and the rollout is waited for. Without `set` its pods are replaced as by `kubectl rollout restart`. `none`: nothing
    /// in this cell.
    pub upgrade: Key<String>,
    /// A component of a system of manifests or a chart: the node of one of its pods is cordoned, and the system's pods on it are evicted, as
    /// by `kubectl drain`. The node is uncordoned when the system is taken down. `none`: nothing in this cell.
    pub drain: Key<String>,
    /// Which replica of it, counted from 0; 0 by default. For `kill` and `drain`.
    #[schemars(range(min = 0, max = 255))]
    pub replica: Key<u32>,
    /// When, counted from the start of the measured phase, within it.
    #[schemars(required)]
    pub at: Key<DurationText>,
    /// How long after the kill it is restarted, with the same ports, folder and files. 0s for a pod of a workload, which Kubernetes
    /// replaces at once. Required for `kill`.
    pub restart_after: Key<DurationText>,
    /// Values that parameters of the system have from then on, also after later upgrades. For `upgrade`.
    pub set: Key<Entries<Level>>,
}

/// In place of a component's name: nothing is done in this cell.
const NOTHING: &str = "none";
const RESTART_AFTER_EXPECTED: &str = "a duration such as 250ms, 10s, 2m or 1h, at most 168h";
/// The kinds of objects whose pods Kubernetes replaces one after the other.
const ROLLED_OUT: [&str; 3] = ["deployment", "statefulset", "daemonset"];
/// Those whose pods come up on another node.
const MOVED: [&str; 2] = ["deployment", "statefulset"];
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

/// The keys of a fault, of which one says what is done to which component.
#[derive(Clone, Copy)]
struct Asked<'a> {
    keys: &'a Fault,
    place: &'a Place,
    kind: FaultKind,
    component: &'a At<String>,
}

impl Fault {
    fn component(&self, kind: FaultKind) -> &Key<String> {
        match kind {
            FaultKind::Kill => &self.kill,
            FaultKind::Upgrade => &self.upgrade,
            FaultKind::Drain => &self.drain,
        }
    }
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
        match check_fault(checker, given, stage) {
            Some(Some(fault)) => faults.push(Checked { given, fault }),
            Some(None) => {}
            None => is_complete = false,
        }
    }
    faults.sort_by_key(|checked| checked.fault.at);
    add_levels(&mut faults, stage);
    refuse_overlaps(checker, &faults);
    refuse_other_components(checker, stage, &faults);
    refuse_probes(checker, stage, &faults);
    is_complete.then(|| faults.into_iter().map(|checked| checked.fault).collect())
}

/// Reports faults of a server that runs already, and together with a recovery phase: a recovery time must have one cause, a kill or
/// the load drop.
fn refuse_elsewhere(checker: &mut Checker<'_>, place: &Place, stage: Stage<'_>) -> Option<()> {
    if stage.of_system.is_some_and(|used| used.url.is_some()) {
        let why = "are of what waggle has started, and system.url is a server that runs already";
        let mistake = place.key_mistake(why);
        checker.report(mistake.with_expected("system.use, or no faults"));
        return None;
    }
    if stage.has_recovery {
        let why = "and schedule.recovery in one study leave open what the system recovers from, a fault or its overload";
        let mistake = place.key_mistake(why);
        checker.report(mistake.with_expected("one of the two"));
    }
    Some(())
}

impl Checked<'_> {
    /// Where the component is named.
    fn component_place(&self) -> Option<&Place> {
        self.given.value.component(self.fault.kind()).place()
    }
}

/// What a fault does, by the key that names its component.
fn find_kind<'a>(checker: &mut Checker<'_>, given: &'a At<Fault>) -> Option<Asked<'a>> {
    let At { place, value: keys } = given;
    let is_given = |kind| !matches!(keys.component(kind), Key::Missing);
    let kinds = FaultKind::ALL.map(|kind| (kind.name(), is_given(kind)));
    let is_invalid = |kind| keys.component(kind).is_invalid();
    let name = single_kind(
        checker,
        place,
        &kinds,
        FaultKind::ALL.into_iter().any(is_invalid),
    )?;
    let kind = FaultKind::ALL
        .into_iter()
        .find(|kind| kind.name() == name)?;
    Some(Asked {
        keys,
        place,
        kind,
        component: keys.component(kind).content()?,
    })
}

/// One entry; `Some(None)`: it does nothing in this cell.
fn check_fault(
    checker: &mut Checker<'_>,
    given: &At<Fault>,
    stage: Stage<'_>,
) -> Option<Option<crate::Fault>> {
    let moment = fault_time(checker, &given.value.at, stage.measure);
    let asked = find_kind(checker, given)?;
    let action = action(checker, asked, stage);
    if asked.component.value == NOTHING {
        return moment.and(action).map(|_| None);
    }
    let replica = asked.keys.replica.or_default(0);
    if let Some(system) = stage.system {
        let component = component(checker, asked.component, system)?;
        refuse_external(checker, asked.component, stage, system)?;
        check_workload(checker, asked, component, stage)?;
        if let (FaultKind::Kill, true, Some(FaultAction::Kill { restart_after })) =
            (asked.kind, component.workload.is_some(), &action)
        {
            refuse_restart_time(checker, asked.keys, Some(*restart_after))?;
        }
        let replicas = replicas(component, system.parameters);
        // By default it is the first, which every component has.
        if let (Some(given), Some(replicas)) = (asked.keys.replica.content(), replicas)
            && given.value >= replicas
        {
            refuse_replica(checker, given, &asked.component.value, replicas);
            return None;
        }
    }
    let action = action?;
    Some(Some(crate::Fault {
        component: asked.component.value.clone(),
        replica: match action {
            FaultAction::Upgrade { .. } => None,
            FaultAction::Kill { .. } | FaultAction::Drain => Some(replica?),
        },
        at: moment?,
        action,
    }))
}

/// The keys that belong to what is done; those of the others are refused.
fn action(
    checker: &mut Checker<'_>,
    Asked {
        keys, place, kind, ..
    }: Asked<'_>,
    stage: Stage<'_>,
) -> Option<FaultAction> {
    match kind {
        FaultKind::Kill => {
            refuse_key(checker, &keys.set, "kill");
            let (key, expected) = ("restart_after", RESTART_AFTER_EXPECTED);
            let time = require_key(checker, place, &keys.restart_after, key, expected)?;
            let restart_after = time.check_bounds(RESTART_AFTER, &mut checker.findings)?;
            Some(FaultAction::Kill { restart_after })
        }
        FaultKind::Upgrade => {
            refuse_key(checker, &keys.replica, "upgrade");
            refuse_key(checker, &keys.restart_after, "upgrade");
            let set = match &keys.set {
                Key::Missing => BTreeMap::new(),
                Key::Invalid => return None,
                Key::Given(given) => check_set(checker, &given.value, stage.system?.whole)?,
            };
            Some(FaultAction::Upgrade {
                set,
                levels: BTreeMap::new(),
            })
        }
        FaultKind::Drain => {
            refuse_key(checker, &keys.set, "drain");
            refuse_key(checker, &keys.restart_after, "drain");
            Some(FaultAction::Drain)
        }
    }
}

fn refuse_external(
    checker: &mut Checker<'_>,
    name: &At<String>,
    stage: Stage<'_>,
    system: Configured<'_>,
) -> Option<()> {
    let external = external_names(stage.of_system, Some(system.whole));
    if !external.contains(name.value.as_str()) {
        return Some(());
    }
    let what = format!(
        "is {:?}, which runs already and was not started by waggle",
        name.value
    );
    let expected = "a component that waggle starts";
    checker.report(name.place.mistake(what).with_expected(expected));
    None
}

/// Reports an upgrade or a drain of what is no workload for which Kubernetes can do that.
fn check_workload(
    checker: &mut Checker<'_>,
    Asked {
        kind,
        component: name,
        ..
    }: Asked<'_>,
    component: &Component,
    stage: Stage<'_>,
) -> Option<()> {
    let (kinds, why) = match kind {
        FaultKind::Kill => return Some(()),
        FaultKind::Upgrade => (&ROLLED_OUT[..], "Kubernetes has no rollout for it"),
        FaultKind::Drain => (&MOVED[..], "its pods are not made again on another node"),
    };
    let is_pods = stage.of_system.is_some_and(|used| used.pods.is_some());
    let (what, expected) = match &component.workload {
        Some(workload) if kinds.contains(&workload.object.kind.as_str()) => return Some(()),
        Some(workload) => (
            format!(
                "is {:?}, which is a {}: {why}",
                name.value, workload.object.kind
            ),
            format!("a component that is a {}", list(kinds.iter().copied())),
        ),
        None => {
            let why = match (kind, is_pods) {
                (FaultKind::Drain, true) => "a pod with a folder on the disk of its node",
                (_, true) => "a pod that waggle has made",
                (_, false) => "a process",
            };
            (
                format!("is {:?}, which is {why}", name.value),
                "kill, or a system of manifests or a chart".to_owned(),
            )
        }
    };
    checker.report(name.place.mistake(what).with_expected(expected));
    None
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

/// The time of a fault, which must be in the measured phase.
fn fault_time(
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

//! What the faults of a cell are together: their order, what upgrades add up to, and whether probes can go on after them.

use waggle_units::format_duration;

use super::{Checked, Stage};
use crate::{
    FaultAction, Probe, ProbeKind, check::Checker, configure::Configured, nearest::list,
    parts::delivery::Delivery,
};

/// Reports a fault of what a probe shows, if the probe cannot be read again from the beginning.
pub(super) fn refuse_probes(checker: &mut Checker<'_>, stage: Stage<'_>, faults: &[Checked<'_>]) {
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
            && let Some(place) = checked.component_place()
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

/// Notes the levels of all parameters after each upgrade: those that an earlier one has set stay. `faults` is sorted by time.
pub(super) fn add_levels(faults: &mut [Checked<'_>], stage: Stage<'_>) {
    let parameters = stage.system.map(|system| system.parameters);
    let mut now = parameters.cloned().unwrap_or_default();
    for checked in faults {
        if let FaultAction::Upgrade { set, levels } = &mut checked.fault.action {
            now.extend(set.clone());
            levels.clone_from(&now);
        }
    }
}

/// Reports an upgrade after which the system would have other components.
pub(super) fn refuse_other_components(
    checker: &mut Checker<'_>,
    stage: Stage<'_>,
    faults: &[Checked<'_>],
) {
    let Some(Configured { whole, present, .. }) = stage.system else {
        return;
    };
    for checked in faults {
        let FaultAction::Upgrade { levels, .. } = &checked.fault.action else {
            continue;
        };
        let after = whole.configure(levels);
        let names = |system: &crate::System| -> Vec<String> {
            let components = system.components.iter();
            components.map(|known| known.name.clone()).collect()
        };
        let (before, after) = (names(present), names(&after));
        if let Some(place) = checked.given.value.set.place().filter(|_| before != after) {
            let components = |names: &[String]| list(names.iter().map(String::as_str));
            let what = format!(
                "changes which components there are, from {} to {}",
                components(&before),
                components(&after)
            );
            let expected = "values with which the components stay the same";
            checker.report(place.mistake(what).with_expected(expected));
        }
    }
}

/// Reports a fault that begins before another one is over. `faults` is sorted by time.
pub(super) fn refuse_overlaps(checker: &mut Checker<'_>, faults: &[Checked<'_>]) {
    let all = faults.iter().map(|checked| &checked.fault);
    let is_sequence = crate::Fault::are_in_sequence(all);
    for (index, Checked { given, fault }) in faults.iter().enumerate() {
        let is_before =
            |earlier: &&Checked<'_>| is_sequence || earlier.fault.name() == fault.name();
        let Some(earlier) = faults[..index].iter().rev().find(is_before) else {
            continue;
        };
        let until = earlier.fault.at + earlier.fault.restart_after();
        let Some(place) = given.value.at.place().filter(|_| fault.at <= until) else {
            continue;
        };
        let shown = format_duration(until);
        let what = match is_sequence {
            true => format!(
                "is {}, and {} begins at {}; faults of a cell with an upgrade or a drain come one after the other",
                format_duration(fault.at),
                earlier.given.place.path,
                format_duration(earlier.fault.at)
            ),
            false => format!(
                "is {}, and {} is down from {} to {shown} by {}",
                format_duration(fault.at),
                fault.name(),
                format_duration(earlier.fault.at),
                earlier.given.place.path
            ),
        };
        checker.report(
            place
                .mistake(what)
                .with_expected(format!("later than {shown}")),
        );
    }
}

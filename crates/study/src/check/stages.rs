//! A load that changes, stage by stage.

use std::time::Duration;

use waggle_spec::{LoadModel, LoadStage};
use waggle_units::format_duration;

use super::{
    Checker,
    load::{MAX_CONNECTIONS, MAX_RATE_PER_S},
    schedule::{PHASE, has_ramp_up},
};
use crate::{mistake::Finding, raw};

const PATH: [&str; 2] = ["load", "stages"];

/// The highest target of the stages; `None`: none of them has one.
pub(super) fn highest(stages: &[raw::LoadStage]) -> Option<f64> {
    let targets = stages.iter().filter_map(|stage| stage.target);
    targets
        .map(|raw::LoadLevel(target)| target)
        .max_by(f64::total_cmp)
}

/// The stages of a load; none if its level does not change.
pub(crate) fn stages(
    checker: &mut Checker<'_>,
    raw: &raw::Load,
    model: Option<&LoadModel>,
) -> Option<Vec<LoadStage>> {
    let Some(given) = &raw.stages else {
        return (!checker.is_invalid(&PATH)).then(Vec::new);
    };
    if raw.rate.is_some() {
        let what = "load has both rate and stages";
        checker.report(Finding::new(checker.key(&PATH), what).with_expected("one of the two"));
    }
    let mut stages = Vec::new();
    for (index, raw) in given.iter().enumerate() {
        stages.extend(stage(checker, raw, &index.to_string(), model));
    }
    if stages.len() < given.len() {
        return None;
    }
    let brings_nothing = highest(given).is_none_or(|target| target <= 0.0);
    if brings_nothing || stages.iter().all(|stage| stage.duration.is_zero()) {
        let what = "load.stages bring no requests";
        let expected = "a stage with a target above 0, and one that takes time";
        checker.report(Finding::new(checker.key(&PATH), what).with_expected(expected));
        return None;
    }
    Some(stages)
}

/// How long the stages of a load take; `None`: it has none.
pub(crate) fn total_duration(
    stages: Option<&[LoadStage]>,
    model: Option<&LoadModel>,
) -> Option<Duration> {
    let is_closed = matches!(
        model,
        Some(LoadModel::Closed { .. } | LoadModel::Clients { .. })
    );
    let stages = stages.filter(|stages| !stages.is_empty() && !is_closed)?;
    Some(stages.iter().map(|stage| stage.duration).sum())
}

fn stage(
    checker: &mut Checker<'_>,
    raw: &raw::LoadStage,
    index: &str,
    model: Option<&LoadModel>,
) -> Option<LoadStage> {
    let path = |key: &'static str| [PATH[0], PATH[1], index, key];
    let duration = raw.duration.and_then(|raw::DurationText(time)| {
        checker.check_bounds(time, &path("duration"), (Duration::ZERO, PHASE.1))
    });
    let raw::LoadLevel(target) = raw.target?;
    let (fits, expected) = match model {
        Some(LoadModel::Users { users, .. }) => (
            target.fract() == 0.0 && target <= f64::from((*users).min(MAX_CONNECTIONS)),
            format!("a whole number of users up to {users}"),
        ),
        _ => (
            target <= MAX_RATE_PER_S,
            format!("a rate of at most {MAX_RATE_PER_S}/s"),
        ),
    };
    if !fits {
        let what = format!("load.stages[{}].target is {target}", number_of(index));
        let position = checker.position_of(&path("target"));
        checker.report(Finding::new(position, what).with_expected(expected));
        return None;
    }
    Some(LoadStage {
        duration: duration?,
        target,
    })
}

/// Counted from 1, as messages count.
fn number_of(index: &str) -> usize {
    index.parse::<usize>().map_or(0, |index| index + 1)
}

/// Reports a phase of the schedule that sets a level of its own.
pub(super) fn refuse_other_levels(checker: &mut Checker<'_>, raw: &raw::Schedule) {
    let given = [
        (&["schedule", "warm_up", "ramp_up"][..], has_ramp_up(raw)),
        (&["schedule", "recovery"][..], raw.recovery.is_some()),
    ];
    for (path, _) in given.into_iter().filter(|(_, given)| *given) {
        let what = format!(
            "{} sets a level, but load.stages set every level",
            path.join(".")
        );
        checker.report(Finding::new(checker.key(path), what).with_expected("one more stage"));
    }
}

/// Reports phases that are longer than the stages.
pub(super) fn refuse_phases_after_stages(
    checker: &mut Checker<'_>,
    phases: Duration,
    stages: Duration,
) {
    if phases > stages {
        let what = format!(
            "load.stages take {}, and the schedule {}",
            format_duration(stages),
            format_duration(phases)
        );
        let expected = "warm-up and measured phase within the stages";
        checker.report(Finding::new(checker.key(&PATH), what).with_expected(expected));
    }
}

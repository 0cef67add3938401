//! A load that changes, stage by stage.

use std::time::Duration;

use waggle_spec::{LoadModel, LoadStage};

use super::{
    Checker,
    load::{MAX_CONNECTIONS, MAX_RATE_PER_S},
};
use crate::{at::At, mistake::Finding, parts::schedule::PHASE_OR_NONE, raw};

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
pub(crate) fn duration_of_stages(
    checker: &Checker<'_>,
    stages: Option<&[LoadStage]>,
    model: Option<&LoadModel>,
) -> Option<At<Duration>> {
    let is_closed = matches!(
        model,
        Some(LoadModel::Closed { .. } | LoadModel::Clients { .. })
    );
    let stages = stages.filter(|stages| !stages.is_empty() && !is_closed)?;
    Some(At {
        place: checker.place(&PATH),
        value: stages.iter().map(|stage| stage.duration).sum(),
    })
}

fn stage(
    checker: &mut Checker<'_>,
    raw: &raw::LoadStage,
    index: &str,
    model: Option<&LoadModel>,
) -> Option<LoadStage> {
    let path = |key: &'static str| [PATH[0], PATH[1], index, key];
    let duration = raw.duration.and_then(|raw::DurationText(time)| {
        checker.check_bounds(time, &path("duration"), PHASE_OR_NONE)
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

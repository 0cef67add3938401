//! A load that changes, stage by stage.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::LoadModel;

use super::bounds::{MAX_CONNECTIONS, MAX_RATE_PER_S};
use crate::{
    at::{At, Key},
    check::Checker,
    mistake::Finding,
    parts::schedule::PHASE_OR_NONE,
    raw::{DurationText, LoadLevel, Rate},
};

/// A stretch of time in which the level of the load changes evenly to another one.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadStage {
    /// How long it takes; 0s: the load jumps to the target.
    #[schemars(required)]
    pub duration: Key<DurationText>,
    /// The level at its end: a rate such as `1000/s`, or a number of users.
    #[schemars(required)]
    pub target: Key<LoadLevel>,
}

/// The highest target of the stages; `None`: none of them has one.
pub(super) fn highest(stages: &[At<LoadStage>]) -> Option<f64> {
    let targets = stages.iter().filter_map(|stage| stage.value.target.value());
    targets
        .map(|LoadLevel(target)| *target)
        .max_by(f64::total_cmp)
}

/// The stages of a load with this rate; none if its level does not change.
pub(crate) fn stages(
    checker: &mut Checker<'_>,
    given: &Key<Vec<At<LoadStage>>>,
    rate: &Key<Rate>,
    model: Option<&LoadModel>,
) -> Option<Vec<waggle_spec::LoadStage>> {
    let At { place, value } = match given {
        Key::Missing => return Some(Vec::new()),
        Key::Invalid => return None,
        Key::Given(stages) => stages,
    };
    if rate.is_some() {
        let finding = Finding::new(place.key, "load has both rate and stages");
        checker.report(finding.with_expected("one of the two"));
    }
    let stages = value
        .iter()
        .map(|given| stage(checker, &given.value, model));
    let stages: Vec<_> = stages.collect();
    let stages = stages.into_iter().collect::<Option<Vec<_>>>()?;
    let brings_nothing = highest(value).is_none_or(|target| target <= 0.0);
    if brings_nothing || stages.iter().all(|stage| stage.duration.is_zero()) {
        let expected = "a stage with a target above 0, and one that takes time";
        let mistake = place.key_mistake("bring no requests");
        checker.report(mistake.with_expected(expected));
        return None;
    }
    Some(stages)
}

/// How long the stages of a load take; `None`: it has none.
pub(crate) fn duration_of_stages(
    given: &Key<Vec<At<LoadStage>>>,
    stages: Option<&[waggle_spec::LoadStage]>,
    model: Option<&LoadModel>,
) -> Option<At<Duration>> {
    let is_constant = model.is_some_and(|model| model.changing_level().is_none());
    let stages = stages.filter(|stages| !stages.is_empty() && !is_constant)?;
    Some(At {
        place: given.place()?.clone(),
        value: stages.iter().map(|stage| stage.duration).sum(),
    })
}

fn stage(
    checker: &mut Checker<'_>,
    keys: &LoadStage,
    model: Option<&LoadModel>,
) -> Option<waggle_spec::LoadStage> {
    let duration = keys.duration.content();
    let duration =
        duration.and_then(|time| time.check_bounds(PHASE_OR_NONE, &mut checker.findings));
    let At { place, value } = keys.target.content()?;
    let LoadLevel(target) = *value;
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
        let mistake = place.mistake(format!("is {target}"));
        checker.report(mistake.with_expected(expected));
        return None;
    }
    Some(waggle_spec::LoadStage {
        duration: duration?,
        target,
    })
}

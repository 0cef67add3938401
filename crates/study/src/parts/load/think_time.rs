//! The time between an answer and the next request: fixed or random.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_units::format_duration;

use crate::{
    at::{At, Bounds, Key},
    check::Checker,
    raw::{DurationText, scalar_or_mapping},
};

/// `1s`, `{exponential: 1s}` or `{uniform: [1s, 3s]}`.
#[derive(Debug, Clone)]
pub(crate) enum Think {
    Fixed(DurationText),
    Random(Box<RandomThink>),
}

scalar_or_mapping!(
    Think,
    Fixed(DurationText),
    Random(Box<RandomThink>),
    "a duration, exponential or uniform"
);

/// How a user's think time is drawn; exactly one key.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RandomThink {
    /// Exponentially distributed with this mean.
    pub exponential: Key<DurationText>,
    /// Uniformly distributed between the two.
    #[schemars(length(min = 2, max = 2))]
    pub uniform: Key<Vec<DurationText>>,
}

const THINK_TIME: Bounds = Bounds(Duration::ZERO, Duration::from_secs(3600));

/// A pause.
pub(crate) fn think_time(
    checker: &mut Checker<'_>,
    At { place, value }: &At<Think>,
) -> Option<waggle_spec::Think> {
    let findings = &mut checker.findings;
    let random = match value {
        Think::Fixed(DurationText(time)) => {
            let time = place.check_bounds(*time, THINK_TIME, findings)?;
            return Some(waggle_spec::Think::Fixed(time));
        }
        Think::Random(random) => random,
    };
    let (why, expected) = match (random.exponential.content(), random.uniform.content()) {
        (Some(mean), None) => {
            let mean = mean.check_bounds(THINK_TIME, findings)?;
            return Some(waggle_spec::Think::Exponential(mean));
        }
        (None, Some(range)) => return uniform(checker, range),
        (Some(_), Some(_)) => ("is both exponential and uniform", "one of the two"),
        (None, None) if random.exponential.is_invalid() || random.uniform.is_invalid() => {
            return None;
        }
        (None, None) => (
            "is empty",
            "1s, { exponential: 1s } or { uniform: [1s, 3s] }",
        ),
    };
    checker.report(place.key_mistake(why).with_expected(expected));
    None
}

fn uniform(
    checker: &mut Checker<'_>,
    At { place, value }: &At<Vec<DurationText>>,
) -> Option<waggle_spec::Think> {
    let [DurationText(from), DurationText(to)] = value[..] else {
        return None;
    };
    if from > to {
        let (from, to) = (format_duration(from), format_duration(to));
        let mistake = place.mistake(format!("runs from {from} to {to}"));
        checker.report(mistake.with_expected("the shorter time first"));
    }
    let to = place.check_bounds(to, THINK_TIME, &mut checker.findings)?;
    Some(waggle_spec::Think::Uniform { from, to })
}

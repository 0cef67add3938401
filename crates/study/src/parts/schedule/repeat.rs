//! How many trials each cell has.

use std::time::Duration;

use schemars::{JsonSchema, json_schema};
use serde::Deserialize;

use crate::{
    at::{At, Key},
    check::Checker,
    raw::{DurationText, Width, inline_schema, scalar_or_mapping},
};

/// `3` or `{min: 3, max: 8, max_ci_width: 20%}`.
#[derive(Debug)]
pub(crate) enum Repeat {
    Times(Times),
    Until(Box<RepeatUntil>),
}

scalar_or_mapping!(
    Repeat,
    Times(Times),
    Until(Box<RepeatUntil>),
    "a number or its limits"
);

/// A number of trials.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(transparent)]
pub(crate) struct Times(u32);

inline_schema!(Times, _generator => json_schema!({ "type": "integer", "minimum": 1, "maximum": 1_000 }));

/// How many trials each cell has: `min`, and more until the interval over them is narrow enough, or `max` is reached.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RepeatUntil {
    /// The fewest trials of each cell; 3 by default, or `max` if that is less.
    #[schemars(range(min = 1, max = 1_000))]
    pub min: Key<u32>,
    /// The most trials of each cell; 8 by default, or `min` if that is more. A trial that the machine has disturbed is replaced in
    /// addition, at most twice a cell.
    #[schemars(range(min = 1, max = 1_000))]
    pub max: Key<u32>,
    /// No repetition is added that would end later than this after the start of the study; three times the duration with `min`
    /// repetitions by default.
    pub max_duration: Key<DurationText>,
    /// The widest 95 % confidence interval over trials of a metric that the study asks about: its full width as a share of the
    /// metric, from 0.1% to 1000%; 20% by default. A cell with a wider one gets further trials.
    pub max_ci_width: Key<Width>,
}

/// Fewest and most trials of a cell, by default.
const REPEAT: (u32, u32) = (3, 8);
/// Widest 95 % interval of a metric that the study asks about before a cell needs no further trial, by default.
const MAX_CI_WIDTH: f64 = 0.2;

impl Key<Repeat> {
    /// The fewest and the most trials; nothing if they contradict each other, which is reported.
    pub(crate) fn repetitions(&self, checker: &mut Checker<'_>) -> Option<(u32, u32)> {
        let until = match self.value() {
            Some(Repeat::Times(Times(times))) => return Some((*times, *times)),
            Some(Repeat::Until(until)) => until,
            None => return Some(REPEAT),
        };
        match (until.min.value(), until.max.content()) {
            (Some(&min), Some(max)) if max.value < min => {
                let mistake = max
                    .place
                    .mistake(format!("is {}, less than min", max.value));
                checker.report(mistake.with_expected(format!("at least {min}")));
                None
            }
            (Some(&min), Some(max)) => Some((min, max.value)),
            (Some(&min), None) => Some((min, REPEAT.1.max(min))),
            (None, Some(max)) => Some((REPEAT.0.min(max.value), max.value)),
            (None, None) => Some(REPEAT),
        }
    }

    /// The time after which no repetition is added, if the study has one.
    pub(crate) fn max_duration(&self) -> Option<Duration> {
        let max_duration = self.limits()?.max_duration.value()?;
        Some(max_duration.0)
    }

    /// How wide the interval of a metric that the study asks about may be in a cell that needs no further trial.
    pub(crate) fn max_ci_width(&self) -> f64 {
        let width = self.limits().and_then(|until| until.max_ci_width.value());
        width.map_or(MAX_CI_WIDTH, |Width(width)| *width)
    }

    fn limits(&self) -> Option<&RepeatUntil> {
        match self.value()? {
            Repeat::Until(until) => Some(until),
            Repeat::Times(_) => None,
        }
    }

    /// Reports the key in a study with a search, which decides itself how often it tries a level.
    pub(crate) fn refuse_search(&self, checker: &mut Checker<'_>) {
        let place = match self.content() {
            Some(At { place, value }) => match value {
                Repeat::Times(_) => Some(place),
                Repeat::Until(until) => (until.min.place())
                    .or(until.max.place())
                    .or(until.max_duration.place()),
            },
            None => None,
        };
        if let Some(place) = place {
            let why =
                "belongs to studies without search, which tries each level as often as it must";
            let expected = "search.confirmations and search.max_trials";
            checker.report(place.key_mistake(why).with_expected(expected));
        }
    }
}

//! The scenario of the load: its feeds, its flows, and whether every variable has a value when it is used.

mod answer;
mod flows;
mod names;
mod repeat;
mod step;

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{LoadModel, OnFailure};

pub(crate) use self::step::Step;
use self::{flows::Flows, step::captured_names};
use super::request::{
    feeds::{Feed, feeds, into_feeds},
    refuse_reserved,
    variables::Known,
};
use crate::{
    Action,
    at::{At, Key, Place},
    check::Checker,
    mistake::Finding,
    raw::Name,
};

/// What sessions do: each goes through one flow, step by step, on one connection, with variables and cookies of its own.
/// Variables are written {{name}}, columns of a feed {{feed.column}}.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "waggle scenario")]
pub(crate) struct Scenario {
    /// The file that it is in, relative to the study's folder, in place of all keys but `endpoint`.
    #[expect(dead_code, reason = "the tree of the file is in its place by then")]
    pub file: Option<String>,
    /// Its name in thresholds and in the report, for all steps together.
    pub name: Key<Name>,
    /// The system's endpoint that receives it; by default the only one. In a study only.
    pub endpoint: Key<String>,
    /// What becomes of a session whose request failed, unless its step has its own; end_session by default.
    pub on_failure: Key<OnFailure>,
    /// Rows of values for the sessions.
    pub feeds: Key<Vec<At<Feed>>>,
    /// The ways through the system; each session takes one of them, drawn by weight.
    #[schemars(length(min = 1, max = 100))]
    pub flows: Key<Vec<At<Flow>>>,
}

/// One way through the system.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flow {
    /// Its name.
    #[schemars(required)]
    pub name: Key<Name>,
    /// Its share of the sessions is this over the sum of all weights; 1 by default.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub weight: Key<u32>,
    /// What a session does, in this order.
    #[schemars(required, length(min = 1))]
    pub steps: Key<Vec<At<Step>>>,
}

/// Steps that are the only flow of a scenario.
pub(crate) struct Alone<'k> {
    pub name: Option<String>,
    pub feeds: &'k Key<Vec<At<Feed>>>,
    pub steps: &'k Key<Vec<At<Step>>>,
    /// The key of the steps.
    pub key: &'k str,
    /// Of the load whose steps they are.
    pub place: &'k Place,
}

/// Checks a scenario of one flow, with the feeds. A step may have its name.
pub(crate) fn flow_alone(
    checker: &mut Checker<'_>,
    alone: Alone<'_>,
    model: Option<&LoadModel>,
) -> Option<crate::Scenario> {
    let feeds = feeds(checker, alone.feeds, model);
    let mut flows = Flows::new(checker, &feeds, None, OnFailure::EndSession);
    let actions = alone.steps.content().and_then(|steps| flows.flow(steps));
    let steps = flows.finish(alone.place.key);
    let flow = crate::Flow {
        name: alone.key.to_owned(),
        weight: 1,
        actions: actions?,
    };
    Some(crate::Scenario {
        name: alone.name?,
        steps,
        feeds: into_feeds(feeds)?,
        flows: vec![flow],
    })
}

/// Checks a scenario that was read, with its feeds.
pub(crate) fn scenario(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<Scenario>,
    model: Option<&LoadModel>,
) -> Option<crate::Scenario> {
    if let Some(name) = keys.name.content() {
        refuse_reserved(checker, name);
    }
    let expected = "name: what all steps together are called";
    refuse_missing(checker, place, &keys.name, "name", expected);
    let feeds = feeds(checker, &keys.feeds, model);
    let expected = "flows: a list of flows, each with steps";
    refuse_missing(checker, place, &keys.flows, "flows", expected);
    let name = keys.name.value().map(|Name(name)| name);
    let on_failure = keys.on_failure.value().copied().unwrap_or_default();
    let mut flows = Flows::new(checker, &feeds, name.map(String::as_str), on_failure);
    let given = keys.flows.value();
    let checked = given.and_then(|given| flows.check_flows(given));
    let steps = flows.finish(keys.flows.place().unwrap_or(place).key);
    Some(crate::Scenario {
        name: name?.clone(),
        steps,
        feeds: into_feeds(feeds)?,
        flows: checked?,
    })
}

/// Reports a key that a scenario lacks, at the key of the scenario or at the beginning of its own file.
fn refuse_missing<T>(
    checker: &mut Checker<'_>,
    around: &Place,
    given: &Key<T>,
    key: &str,
    expected: &str,
) {
    if matches!(given, Key::Missing) {
        let whole = match around.path.as_str() {
            "" => "the scenario",
            path => path,
        };
        let position = match around.key.file == around.value.file {
            true => around.key,
            false => around.value,
        };
        let finding = Finding::new(position, format!("{whole} lacks the key {key:?}"));
        checker.report(finding.with_expected(expected));
    }
}

impl Flows<'_, '_> {
    fn check_flows(&mut self, given: &[At<Flow>]) -> Option<Vec<crate::Flow>> {
        let mut names: Vec<&str> = Vec::new();
        let mut checked = Vec::new();
        for At { value: keys, .. } in given {
            let name = keys.name.content();
            let name = name.map(
                |At {
                     place,
                     value: Name(name),
                 }| (place, name.as_str()),
            );
            if let Some((place, name)) = name.filter(|(_, name)| names.contains(name)) {
                let what = format!("there are two flows {name:?}");
                let finding = Finding::new(place.value, what);
                self.checker.report(finding.with_expected("each name once"));
            }
            names.extend(name.map(|(_, name)| name));
            let actions = keys.steps.content().and_then(|steps| self.flow(steps));
            let flow = name.zip(keys.weight.or_default(1)).zip(actions);
            checked.push(flow.map(|(((_, name), weight), actions)| crate::Flow {
                name: name.to_owned(),
                weight,
                actions,
            }));
        }
        checked.into_iter().collect()
    }

    /// The steps of a flow.
    fn flow(&mut self, At { place, value }: &At<Vec<At<Step>>>) -> Option<Vec<Action>> {
        let mut known = Known::new(captured_names(value));
        let actions = self.actions(value, &mut known)?;
        if !actions.iter().any(sends) {
            let mistake = place.key_mistake("sends no request");
            self.checker
                .report(mistake.with_expected("a step with get, put, post, …"));
        }
        Some(actions)
    }

    /// The steps of a list; `None` if one of them is wrong.
    fn actions(&mut self, given: &[At<Step>], known: &mut Known) -> Option<Vec<Action>> {
        let all: Vec<_> = given.iter().map(|step| self.step(step, known)).collect();
        all.into_iter().collect()
    }
}

fn sends(action: &Action) -> bool {
    match action {
        Action::Request(_) => true,
        Action::Pause(_) => false,
        Action::Repeat { actions, .. } => actions.iter().any(sends),
    }
}

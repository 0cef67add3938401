//! The scenario of the load: its feeds, its flows, and whether every variable has a value when it is used.

mod answer;
mod names;
mod repeat;
mod step;

use std::collections::HashMap;

use waggle_spec::{LoadModel, OnFailure};

use super::{
    Checker,
    path::Path,
    request::refuse_reserved,
    variables::{Known, Named, Variables},
};
use crate::{
    Action, Flow, Scenario,
    at::{At, Key},
    mistake::{Finding, Position},
    parts::request::feeds::{Feed, NamedFeed, feeds, into_feeds},
    raw,
};

/// Most steps with a name of their own: each has histograms of its own in every worker.
const MAX_STEPS: usize = 100;

/// The context in which a scenario is checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around<'a> {
    /// From the root of the tree: `load.scenario`, or nothing for a file of its own.
    pub path: &'a [&'a str],
    /// `None`: not known here.
    pub model: Option<&'a LoadModel>,
}

/// Steps that are the only flow of a scenario.
pub(crate) struct Alone<'a> {
    pub name: Option<String>,
    pub feeds: &'a Key<Vec<At<Feed>>>,
    pub steps: Option<Vec<raw::Step>>,
    /// The key of the steps.
    pub key: &'a str,
}

/// Checks a scenario of one flow, with the feeds. A step may have its name.
pub(crate) fn flow_alone(
    checker: &mut Checker<'_>,
    alone: Alone<'_>,
    around: Around<'_>,
) -> Option<Scenario> {
    let path = Path::new(around.path);
    let feeds = feeds(checker, alone.feeds, around.model);
    let mut flows = Flows::new(checker, &feeds, None, OnFailure::EndSession);
    let actions = alone
        .steps
        .and_then(|steps| flows.flow(steps, &path.child(alone.key)));
    let steps = flows.finish(&path);
    let flow = Flow {
        name: alone.key.to_owned(),
        weight: 1,
        actions: actions?,
    };
    Some(Scenario {
        name: alone.name?,
        steps,
        feeds: into_feeds(feeds)?,
        flows: vec![flow],
    })
}

/// Checks a scenario that was read, with its feeds.
pub(crate) fn scenario(
    checker: &mut Checker<'_>,
    raw: raw::Scenario,
    around: Around<'_>,
) -> Option<Scenario> {
    let path = Path::new(around.path);
    let name = name(checker, raw.name, &path);
    let feeds = feeds(checker, &raw.feeds, around.model);
    let on_failure = raw.on_failure.unwrap_or_default();
    let given = raw.flows.is_some() || checker.is_invalid(&path.child("flows").steps());
    if !given {
        let what = format!("{} lacks the key \"flows\"", path.to_text("the scenario"));
        let expected = "flows: a list of flows, each with steps";
        checker
            .report(Finding::new(scenario_position(checker, &path), what).with_expected(expected));
    }
    let mut flows = Flows::new(checker, &feeds, name.as_deref(), on_failure);
    let given = raw.flows;
    let checked = given.and_then(|given| flows.check_flows(given, &path.child("flows")));
    let steps = flows.finish(&path);
    Some(Scenario {
        name: name?,
        steps,
        feeds: into_feeds(feeds)?,
        flows: checked?,
    })
}

fn name(checker: &mut Checker<'_>, given: Option<raw::Name>, path: &Path) -> Option<String> {
    let here = path.child("name");
    let Some(raw::Name(name)) = given else {
        if !checker.is_invalid(&here.steps()) {
            let what = format!("{} lacks the key \"name\"", path.to_text("the scenario"));
            let expected = "name: what all steps together are called";
            checker.report(
                Finding::new(scenario_position(checker, path), what).with_expected(expected),
            );
        }
        return None;
    };
    refuse_reserved(checker, &name, &here);
    Some(name)
}

/// The position of a scenario as a whole: its key, or the beginning of its own file.
fn scenario_position(checker: &Checker<'_>, path: &Path) -> Position {
    let (key, position) = (
        checker.key(&path.steps()),
        checker.position_of(&path.steps()),
    );
    if key.file == position.file {
        key
    } else {
        position
    }
}

/// The flows while they are checked.
struct Flows<'c, 'a> {
    checker: &'c mut Checker<'a>,
    variables: Variables<'c>,
    /// The scenario's own name, which no step may have.
    scenario: Option<&'c str>,
    on_failure: OnFailure,
    /// Names of steps in their order.
    steps: Vec<String>,
    /// What the first step of each name sends.
    requests: HashMap<String, step::Sends>,
    /// Of the variables of loops.
    first_values: Vec<repeat::FirstValue>,
}

impl<'c, 'a> Flows<'c, 'a> {
    fn new(
        checker: &'c mut Checker<'a>,
        feeds: &'c [NamedFeed<'c>],
        scenario: Option<&'c str>,
        on_failure: OnFailure,
    ) -> Self {
        Self {
            checker,
            variables: Variables::new(feeds, Named::Captures),
            scenario,
            on_failure,
            steps: Vec::new(),
            requests: HashMap::new(),
            first_values: Vec::new(),
        }
    }

    /// Checks what only all flows show; returns the names of all steps.
    fn finish(mut self, path: &Path) -> Vec<String> {
        self.check_first_values();
        self.variables.refuse_unused(self.checker);
        if self.steps.len() > MAX_STEPS {
            let what = format!("the scenario has {} steps", self.steps.len());
            let position = self.checker.key(&path.child("flows").steps());
            let finding = Finding::new(position, what);
            self.checker
                .report(finding.with_expected(format!("at most {MAX_STEPS}")));
        }
        self.steps
    }
}

impl Flows<'_, '_> {
    fn check_flows(&mut self, raw: Vec<raw::Flow>, path: &Path) -> Option<Vec<Flow>> {
        let mut names: Vec<String> = Vec::new();
        let mut checked = Vec::new();
        for (index, flow) in raw.into_iter().enumerate() {
            let here = path.entry(index);
            let name = flow.name.map(|raw::Name(name)| name);
            if let Some(name) = name.as_ref().filter(|name| names.contains(name)) {
                let what = format!("there are two flows {name:?}");
                let position = self.checker.position_of(&here.child("name").steps());
                self.checker
                    .report(Finding::new(position, what).with_expected("each name once"));
            }
            names.extend(name.clone());
            let weight =
                self.checker
                    .value_or_default(flow.weight, &here.child("weight").steps(), 1);
            let actions = flow
                .steps
                .and_then(|steps| self.flow(steps, &here.child("steps")));
            checked.push(
                name.zip(weight)
                    .zip(actions)
                    .map(|((name, weight), actions)| Flow {
                        name,
                        weight,
                        actions,
                    }),
            );
        }
        checked.into_iter().collect()
    }

    /// The steps of a flow; `path` is that of their list.
    fn flow(&mut self, raw: Vec<raw::Step>, path: &Path) -> Option<Vec<Action>> {
        let mut known = Known::new(captured_names(&raw));
        let actions = self.actions(raw, path, &mut known)?;
        if !actions.iter().any(sends) {
            let what = format!("{} sends no request", path.to_text(""));
            let position = self.checker.key(&path.steps());
            self.checker.report(
                Finding::new(position, what).with_expected("a step with get, put, post, …"),
            );
        }
        Some(actions)
    }

    /// The steps of a list; `None` if one of them is wrong.
    fn actions(
        &mut self,
        raw: Vec<raw::Step>,
        path: &Path,
        known: &mut Known,
    ) -> Option<Vec<Action>> {
        let all: Vec<_> = raw
            .into_iter()
            .enumerate()
            .map(|(index, step)| self.step(step, &path.entry(index), known))
            .collect();
        all.into_iter().collect()
    }
}

/// Every variable that the steps capture, or steps within them.
fn captured_names(steps: &[raw::Step]) -> Vec<String> {
    let mut names = Vec::new();
    for step in steps {
        names.extend(step.capture.iter().flatten().map(|(name, _)| name.clone()));
        names.extend(captured_names(step.steps.as_deref().unwrap_or_default()));
    }
    names
}

fn sends(action: &Action) -> bool {
    match action {
        Action::Request(_) => true,
        Action::Pause(_) => false,
        Action::Repeat { actions, .. } => actions.iter().any(sends),
    }
}

//! One step of a flow: a request, a pause, or steps that are repeated.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::OnFailure;

use super::{
    answer::{Captures, Check, Extractor},
    flows::{Flows, Sends},
};
use crate::{
    Action, Level,
    at::{At, Key, Place},
    mistake::Finding,
    parts::{
        load::think_time::{Think, think_time},
        request::{
            Expect, Method, TIMEOUT, TIMEOUT_BOUNDS, expect, refuse_reserved, variables::Known,
        },
    },
    raw::{DurationText, Name},
    tree::quote,
};

/// A request (`name` and exactly one of get, put, post, …, or `method` with `path`), a pause (`think_time`), or steps gone
/// through several times (`repeat` or `while`, and `steps`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "step")]
pub(crate) struct Step {
    /// Its name in thresholds and in the report. The same request may be a step several times under one name.
    pub name: Key<Name>,
    #[serde(rename = "$waggle::Part")]
    #[schemars(flatten)]
    pub method: At<Method>,
    /// Header fields in addition to those that every request has.
    pub headers: Key<IndexMap<String, At<String>>>,
    /// The body.
    pub body: Key<String>,
    /// Which answers are a success; any 2xx by default.
    pub expect: Key<Expect>,
    /// Further conditions on the answer.
    pub check: Key<Vec<At<Check>>>,
    /// Variables, each with how its value is extracted from the answer.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub capture: Key<Captures>,
    /// What becomes of the session if this request fails; by default that of the scenario.
    pub on_failure: Key<OnFailure>,
    /// How long an answer is waited for; 10s by default.
    pub timeout: Key<DurationText>,
    /// A pause: `1s`, `{ exponential: 1s }` or `{ uniform: [1s, 3s] }`.
    pub think_time: Key<Think>,
    /// How often `steps` are repeated.
    #[schemars(range(min = 1, max = 10_000))]
    pub repeat: Key<u32>,
    /// In place of `repeat`: a variable that the steps capture. They are repeated as long as they leave something in it.
    #[serde(rename = "while")]
    pub while_captured: Key<Name>,
    /// With `while`: the variable's value in the first round; empty by default.
    pub first: Key<Level>,
    /// With `while`: most rounds; 10000 by default.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_rounds: Key<u32>,
    /// With `while`: what becomes of the session if the last of these rounds leaves something in the variable; end_session by default:
    /// it fails.
    pub on_limit: Key<OnFailure>,
    /// {{offset}} in the steps is 0 in the first round, and larger by this in each further one.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub offset_step: Key<u32>,
    /// The steps that are repeated.
    #[schemars(length(min = 1))]
    pub steps: Key<Vec<At<Step>>>,
}

/// The texts that may have variables.
fn texts_of((_, target, headers, body): &Sends) -> Vec<&str> {
    let values = headers.iter().map(|(_, value)| value.as_str());
    values.chain([target.as_str(), body.as_str()]).collect()
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Request,
    Think,
    Repeat,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Request => "a request",
            Self::Think => "a pause",
            Self::Repeat => "a repetition",
        }
    }
}

impl Step {
    /// The variables that it captures itself.
    pub(super) fn captures(&self) -> impl Iterator<Item = (&String, &Extractor)> {
        let captures = self.capture.value().into_iter().flatten();
        captures.map(|(name, from)| (name, &from.value))
    }

    /// The steps that it repeats.
    pub(super) fn steps_within(&self) -> &[At<Self>] {
        self.steps.value().map_or(&[], Vec::as_slice)
    }

    /// The keys that it has, each with the kind of step that has such a key.
    fn keys(&self) -> Vec<(Kind, &'static str, &Place)> {
        let method = &self.method.value;
        let paths = method.paths().into_iter();
        let mut keys: Vec<_> = paths
            .map(|(key, path)| (Kind::Request, key, Some(&path.place)))
            .collect();
        keys.extend([
            (Kind::Request, "method", method.method.place()),
            (Kind::Request, "name", self.name.place()),
            (Kind::Request, "headers", self.headers.place()),
            (Kind::Request, "body", self.body.place()),
            (Kind::Request, "expect", self.expect.place()),
            (Kind::Request, "check", self.check.place()),
            (Kind::Request, "capture", self.capture.place()),
            (Kind::Request, "on_failure", self.on_failure.place()),
            (Kind::Request, "timeout", self.timeout.place()),
            (Kind::Think, "think_time", self.think_time.place()),
            (Kind::Repeat, "repeat", self.repeat.place()),
            (Kind::Repeat, "while", self.while_captured.place()),
            (Kind::Repeat, "first", self.first.place()),
            (Kind::Repeat, "max_rounds", self.max_rounds.place()),
            (Kind::Repeat, "on_limit", self.on_limit.place()),
            (Kind::Repeat, "offset_step", self.offset_step.place()),
            (Kind::Repeat, "steps", self.steps.place()),
        ]);
        let keys = keys.into_iter();
        keys.filter_map(|(kind, key, place)| Some((kind, key, place?)))
            .collect()
    }

    /// What it does by those of its keys that say so, the first of them before others.
    fn kind(&self) -> Option<Kind> {
        let method = &self.method.value;
        let paths = method.paths().into_iter();
        let paths = paths.map(|(_, path)| (Kind::Request, Some(&path.place)));
        let others = [
            (Kind::Request, method.method.place()),
            (Kind::Think, self.think_time.place()),
            (Kind::Repeat, self.repeat.place()),
            (Kind::Repeat, self.while_captured.place()),
            (Kind::Repeat, self.steps.place()),
        ];
        let given = paths.chain(others);
        let given = given.filter_map(|(kind, place)| Some((kind, place?.key)));
        let first = given.min_by_key(|(_, position)| *position);
        let is_repetition =
            self.repeat.is_invalid() || self.while_captured.is_invalid() || self.steps.is_invalid();
        match first {
            Some((kind, _)) => Some(kind),
            None if method.has_invalid() => Some(Kind::Request),
            None if self.think_time.is_invalid() => Some(Kind::Think),
            None => is_repetition.then_some(Kind::Repeat),
        }
    }
}

/// Every variable that the steps capture, or steps within them.
pub(super) fn captured_names(steps: &[At<Step>]) -> Vec<String> {
    let mut names = Vec::new();
    for At { value: step, .. } in steps {
        names.extend(step.captures().map(|(name, _)| name.clone()));
        names.extend(captured_names(step.steps_within()));
    }
    names
}

impl Flows<'_, '_> {
    pub(super) fn step(&mut self, given: &At<Step>, known: &mut Known) -> Option<Action> {
        let Some(kind) = self.kind(given) else {
            // Its captures count as known, so that their uses are not reported as well.
            let captured = captured_names(std::slice::from_ref(given));
            captured.iter().for_each(|variable| known.capture(variable));
            return None;
        };
        match kind {
            Kind::Request => self
                .request(&given.value, known)
                .map(|step| Action::Request(Box::new(step))),
            Kind::Think => {
                think_time(self.checker, given.value.think_time.content()?).map(Action::Pause)
            }
            Kind::Repeat => self.repeat(given, known),
        }
    }

    /// The kind of a step by its keys; `None` if they do not fit together.
    fn kind(&mut self, At { place, value: step }: &At<Step>) -> Option<Kind> {
        const EXPECTED: &str =
            "a request (name and get, put, post, …), think_time, or repeat or while with steps";
        let Some(kind) = step.kind() else {
            let mistake = place.mistake("does nothing");
            self.checker.report(mistake.with_expected(EXPECTED));
            return None;
        };
        let mut is_fit = true;
        let keys = step.keys().into_iter();
        for (_, key, foreign) in keys.filter(|(owner, ..)| *owner != kind) {
            let what = format!("is {}; it cannot have the key {key:?}", kind.name());
            let mistake = place.mistake_in(foreign.key, what);
            self.checker.report(mistake.with_expected(EXPECTED));
            is_fit = false;
        }
        is_fit.then_some(kind)
    }

    fn request(&mut self, keys: &Step, known: &mut Known) -> Option<crate::Step> {
        let name = self.name(keys);
        let called = keys.method.single(self.checker);
        let target = called.as_ref();
        let target = target.and_then(|called| self.target(called.path, known));
        let method = called.map(|called| called.method);
        let headers = self.headers(&keys.headers, known);
        let body = self.body(&keys.body, known);
        let expect = expect(self.checker, &keys.expect, method.as_deref());
        let checks = self.checks(&keys.check, known);
        let captures = self.check_captures(&keys.capture, known);
        let findings = &mut self.checker.findings;
        let timeout = keys.timeout.check_bounds(TIMEOUT, TIMEOUT_BOUNDS, findings);
        let sends = (method?, target?, headers?, body?);
        let texts = texts_of(&sends);
        let given = keys.check.value().into_iter().flatten();
        for (check, given) in checks.iter().flatten().zip(given) {
            self.refuse_unsent(&check.holds, &texts, &given.value);
        }
        let step = self.index_of(name?, &sends);
        let (method, target, headers, body) = sends;
        Some(crate::Step {
            step,
            method,
            path: target,
            headers,
            body,
            expect,
            checks: checks?,
            captures: captures?,
            on_failure: keys.on_failure.value().copied().unwrap_or(self.on_failure),
            timeout: timeout?,
            from_outside: Vec::new(),
        })
    }

    fn name<'k>(&mut self, keys: &'k Step) -> Option<&'k At<Name>> {
        let Some(name) = keys.name.content() else {
            if !keys.name.is_invalid() {
                let mistake = keys.method.place.mistake("lacks the key \"name\"");
                self.checker
                    .report(mistake.with_expected("name: a word for this request"));
            }
            return None;
        };
        refuse_reserved(self.checker, name);
        let Name(text) = &name.value;
        if self.scenario == Some(text) {
            let what = format!("a step is called {text:?}, as the whole scenario is");
            let finding = Finding::new(name.place.value, what);
            self.checker
                .report(finding.with_expected("a name of its own"));
        }
        Some(name)
    }

    /// The index of a step; the same name must mean the same request.
    fn index_of(&mut self, At { place, value }: &At<Name>, sends: &Sends) -> usize {
        let Name(name) = value;
        if let Some(first) = self.requests.get(name)
            && first != sends
        {
            let what = format!("another step {name:?} sends something else");
            let finding = Finding::new(place.value, what);
            self.checker
                .report(finding.with_expected("a name of its own, or the same request again"));
        }
        if let Some(index) = self.steps.iter().position(|known| known == name) {
            return index;
        }
        self.requests.insert(name.clone(), sends.clone());
        self.steps.push(name.clone());
        self.steps.len() - 1
    }

    fn target(&mut self, text: &At<String>, known: &Known) -> Option<String> {
        let fixed = self.template(text, known)?;
        let At { place, value } = text;
        let clean = fixed
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if clean && (value.starts_with('/') || value.starts_with("{{")) {
            return Some(value.clone());
        }
        let expected = "a path such as /orders/{{id}}: starting with / or a variable, in ASCII, without space and #";
        let mistake = place.mistake(format!("is {}", quote(value)));
        self.checker.report(mistake.with_expected(expected));
        None
    }

    fn headers(
        &mut self,
        given: &Key<IndexMap<String, At<String>>>,
        known: &Known,
    ) -> Option<Vec<(String, String)>> {
        let headers = self.checker.header_fields(given);
        let mut fine = true;
        for (_, value) in given.value().into_iter().flatten() {
            fine &= self.template(value, known).is_some();
        }
        fine.then_some(headers)
    }

    fn body(&mut self, given: &Key<String>, known: &Known) -> Option<String> {
        match given {
            Key::Missing => Some(String::new()),
            Key::Invalid => None,
            Key::Given(text) => self.template(text, known).map(|_| text.value.clone()),
        }
    }
}

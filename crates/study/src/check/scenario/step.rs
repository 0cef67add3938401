//! One step of a flow: a request, a pause, or steps that are repeated.

use super::{Flows, captured_names, repeat};
use crate::{
    Action, Step,
    check::{
        expect::expect,
        path::Path,
        request::{TIMEOUT, TIMEOUT_BOUNDS, refuse_reserved},
        variables::Known,
    },
    mistake::Finding,
    parts::load::think_time,
    raw,
    tree::quote,
};

/// What makes two requests the same: method, path, headers, body.
pub(super) type Sends = (String, String, Vec<(String, String)>, String);

/// The keys of a request besides its method.
const OF_REQUEST: [&str; 8] = [
    "name",
    "headers",
    "body",
    "expect",
    "check",
    "capture",
    "on_failure",
    "timeout",
];

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
    fn from_key(key: &str) -> Option<Self> {
        match key {
            "think_time" => Some(Self::Think),
            "repeat" | "while" | "steps" => Some(Self::Repeat),
            "method" => Some(Self::Request),
            _ if raw::Method::KEYS.contains(&key) => Some(Self::Request),
            _ => None,
        }
    }

    fn allows(self, key: &str) -> bool {
        let keys: &[&str] = match self {
            Self::Request => &OF_REQUEST,
            Self::Think => &[],
            Self::Repeat => &repeat::KEYS,
        };
        Self::from_key(key) == Some(self) || keys.contains(&key)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Request => "a request",
            Self::Think => "a pause",
            Self::Repeat => "a repetition",
        }
    }
}

impl Flows<'_, '_> {
    pub(super) fn step(
        &mut self,
        raw: raw::Step,
        path: &Path,
        known: &mut Known,
    ) -> Option<Action> {
        let Some(kind) = self.kind(path) else {
            // Its captures count as known, so that their uses are not reported as well.
            let captured = captured_names(std::slice::from_ref(&raw));
            captured.iter().for_each(|variable| known.capture(variable));
            return None;
        };
        match kind {
            Kind::Request => self
                .request(raw, path, known)
                .map(|step| Action::Request(Box::new(step))),
            Kind::Think => think_time(self.checker, raw.think_time.content()?).map(Action::Pause),
            Kind::Repeat => self.repeat(raw, path, known),
        }
    }

    /// The kind of a step by its keys; `None` if they do not fit together.
    fn kind(&mut self, path: &Path) -> Option<Kind> {
        const EXPECTED: &str =
            "a request (name and get, put, post, …), think_time, or repeat or while with steps";
        let node = self.checker.node(&path.steps())?;
        let keys = || node.entries().iter().map(|entry| entry.key.as_str());
        let Some(kind) = keys().find_map(Kind::from_key) else {
            let what = format!("{} does nothing", path.to_text(""));
            let finding = Finding::new(node.position, what).with_expected(EXPECTED);
            self.checker.report(finding);
            return None;
        };
        let foreign: Vec<_> = node
            .entries()
            .iter()
            .filter(|entry| !kind.allows(&entry.key))
            .collect();
        for entry in &foreign {
            let what = format!(
                "{} is {}; it cannot have the key {:?}",
                path.to_text(""),
                kind.name(),
                entry.key
            );
            self.checker
                .report(Finding::new(entry.position, what).with_expected(EXPECTED));
        }
        foreign.is_empty().then_some(kind)
    }

    fn request(&mut self, raw: raw::Step, path: &Path, known: &mut Known) -> Option<Step> {
        let name = self.name(raw.name.as_ref(), path);
        let called = self.checker.method_key(&raw.method, &path.steps());
        let method = called.as_ref().map(|called| called.method.clone());
        let target =
            called.and_then(|called| self.target(called.path, &path.child(called.key), known));
        let headers = self.headers(raw.headers, &path.child("headers"), known);
        let body = self.body(raw.body, path, known);
        let expect = expect(
            self.checker,
            raw.expect,
            method.as_deref(),
            &path.child("expect").steps(),
        );
        let checks = self.checks(raw.check, &path.child("check"), known);
        let captures = self.captures(raw.capture, &path.child("capture"), known);
        let here = path.child("timeout");
        let timeout = raw.timeout.map(|raw::DurationText(time)| time);
        let timeout = self
            .checker
            .value_or_default(timeout, &here.steps(), TIMEOUT);
        let timeout = timeout.and_then(|time| {
            self.checker
                .check_bounds(time, &here.steps(), TIMEOUT_BOUNDS)
        });
        let sends = (method?, target?, headers?, body?);
        let texts = texts_of(&sends);
        for (index, check) in checks.iter().flatten().enumerate() {
            let here = path.child("check").entry(index);
            self.refuse_unsent(&check.holds, &texts, &here);
        }
        let step = self.index_of(name?, &sends, path);
        let (method, target, headers, body) = sends;
        Some(Step {
            step,
            method,
            path: target,
            headers,
            body,
            expect,
            checks: checks?,
            captures: captures?,
            on_failure: raw.on_failure.unwrap_or(self.on_failure),
            timeout: timeout?,
            from_outside: Vec::new(),
        })
    }

    fn name(&mut self, given: Option<&raw::Name>, path: &Path) -> Option<String> {
        let here = path.child("name");
        let Some(raw::Name(name)) = given else {
            if !self.checker.is_invalid(&here.steps()) {
                let what = format!("{} lacks the key \"name\"", path.to_text(""));
                let position = self.checker.position_of(&path.steps());
                self.checker.report(
                    Finding::new(position, what).with_expected("name: a word for this request"),
                );
            }
            return None;
        };
        refuse_reserved(self.checker, name, &here);
        if self.scenario == Some(name) {
            let what = format!("a step is called {name:?}, as the whole scenario is");
            let position = self.checker.position_of(&here.steps());
            self.checker
                .report(Finding::new(position, what).with_expected("a name of its own"));
        }
        Some(name.clone())
    }

    /// The index of a step; the same name must mean the same request.
    fn index_of(&mut self, name: String, sends: &Sends, path: &Path) -> usize {
        if let Some(first) = self.requests.get(&name)
            && first != sends
        {
            let what = format!("another step {name:?} sends something else");
            let position = self.checker.position_of(&path.child("name").steps());
            self.checker.report(
                Finding::new(position, what)
                    .with_expected("a name of its own, or the same request again"),
            );
        }
        if let Some(index) = self.steps.iter().position(|known| *known == name) {
            return index;
        }
        self.requests.insert(name.clone(), sends.clone());
        self.steps.push(name);
        self.steps.len() - 1
    }

    fn target(&mut self, text: String, path: &Path, known: &Known) -> Option<String> {
        let fixed = self.template(&text, path, known)?;
        let clean = fixed
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if clean && (text.starts_with('/') || text.starts_with("{{")) {
            return Some(text);
        }
        let what = format!("{} is {}", path.to_text(""), quote(&text));
        let expected = "a path such as /orders/{{id}}: starting with / or a variable, in ASCII, without space and #";
        let position = self.checker.position_of(&path.steps());
        self.checker
            .report(Finding::new(position, what).with_expected(expected));
        None
    }

    fn headers(
        &mut self,
        given: Option<indexmap::IndexMap<String, String>>,
        path: &Path,
        known: &Known,
    ) -> Option<Vec<(String, String)>> {
        let headers = self.checker.headers(given, &path.steps());
        let mut fine = true;
        for (name, value) in &headers {
            fine &= self.template(value, &path.child(name), known).is_some();
        }
        fine.then_some(headers)
    }

    fn body(&mut self, given: Option<String>, path: &Path, known: &Known) -> Option<String> {
        let here = path.child("body");
        let Some(text) = given else {
            return (!self.checker.is_invalid(&here.steps())).then(String::new);
        };
        self.template(&text, &here, known).map(|_| text)
    }
}

//! A step of a system's functional check.

use std::time::Duration;

use indexmap::IndexMap;
use waggle_template::variable::variables;

use super::{
    Checker,
    components::{Conditions, check_request_texts},
    system::TIMEOUT_BOUNDS,
    system_text::Names,
};
use crate::{
    Check, Endpoint, When,
    at::{At, Key},
    mistake::{Finding, Position},
    nearest::{list, nearest_word},
    parts::{
        request::{Called, expect},
        texts::refuse_unknown_names,
    },
    raw,
    tree::quote,
};

const TIMEOUT: Duration = Duration::from_secs(5);

/// The names that steps may use.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) endpoints: &'a [Endpoint],
    pub(super) names: &'a Names<'a>,
    pub(super) conditions: &'a Conditions<'a>,
}

/// A name that a step captures, and in which configurations it does.
struct Captured {
    name: String,
    when: When,
}

/// The context of one step.
struct StepContext<'a> {
    /// In which configurations it is done.
    when: When,
    /// By earlier steps.
    captured: &'a [Captured],
}

/// The steps, in order.
pub(super) fn steps(
    checker: &mut Checker<'_>,
    context: Context<'_>,
    given: &Key<Vec<At<raw::Verify>>>,
) -> Vec<Check> {
    let mut captured = Vec::new();
    let mut steps = Vec::new();
    for At { value: keys, .. } in given.value().into_iter().flatten() {
        let condition = context.conditions.read(checker, &keys.when);
        let endpoint = keys.endpoint.value().map(String::as_str);
        let when = condition.intersect(&context.endpoint_condition(endpoint));
        let names = keys.capture.value().into_iter().flatten();
        let names = names.map(|(name, _)| Captured {
            name: name.clone(),
            when: when.clone(),
        });
        let names: Vec<Captured> = names.collect();
        let step_context = StepContext {
            when,
            captured: &captured,
        };
        steps.extend(step(checker, context, &step_context, condition, keys));
        captured.extend(names);
    }
    steps
}

impl Context<'_> {
    /// In which configurations an endpoint exists; one that is not known was reported.
    fn endpoint_condition(&self, endpoint: Option<&str>) -> When {
        let mut endpoints = self.endpoints.iter();
        let known = endpoints.find(|known| Some(known.name.as_str()) == endpoint);
        known.map_or_else(When::default, |known| {
            known.when.intersect(&self.names.when_of(&known.component))
        })
    }
}

fn step(
    checker: &mut Checker<'_>,
    Context {
        endpoints,
        names,
        conditions,
    }: Context<'_>,
    step_context: &StepContext<'_>,
    when: When,
    keys: &raw::Verify,
) -> Option<Check> {
    let called = keys.method.check(checker);
    let headers = checker.header_fields(&keys.headers);
    check_request_texts(checker, conditions.names, &keys.headers, &keys.body);
    if let Some(called) = &called {
        refuse_unknown_names(checker, called.path, conditions.names, &[]);
    }
    let endpoint = keys.endpoint.content();
    if let Some(given) = endpoint.filter(|given| !names.has_invalid_endpoint(&given.value)) {
        require_endpoint(checker, endpoints, given);
    }
    let timeout = (keys.timeout).check_bounds(TIMEOUT, TIMEOUT_BOUNDS, &mut checker.findings);
    let method = called.as_ref().map(|called| called.method.as_str());
    let expect = expect(checker, &keys.expect, method);
    let captures = captures(checker, &keys.capture);
    let Called { method, path } = called?;
    let headers_with_places = keys.headers.value().into_iter().flatten();
    let texts = [path].into_iter().chain(keys.body.content());
    for text in texts.chain(headers_with_places.map(|(_, value)| value)) {
        names_are_known(checker, step_context, text.place.value, &text.value);
    }
    if let Some(keys) = keys.expect.value() {
        for (position, text) in keys.body_texts() {
            names_are_known(checker, step_context, position, text);
        }
    }
    Some(Check {
        name: keys.name.value()?.clone(),
        when,
        endpoint: endpoint?.value.clone(),
        method,
        path: path.value.clone(),
        headers,
        body: keys.body.value().cloned().unwrap_or_default(),
        expect,
        captures,
        timeout: timeout?,
    })
}

/// Reports the name of an endpoint that the system does not have.
pub(super) fn require_endpoint(
    checker: &mut Checker<'_>,
    endpoints: &[Endpoint],
    At { place, value: name }: &At<String>,
) {
    let names = || endpoints.iter().map(|known| known.name.as_str());
    if names().any(|known| known == name) {
        return;
    }
    let expected = match endpoints.is_empty() {
        true => "an endpoint of the system, which has none".to_owned(),
        false => list(names()),
    };
    let finding = Finding::new(place.value, format!("there is no endpoint {name:?}"));
    let finding = finding.with_expected(expected);
    checker.report(finding.with_suggestion(nearest_word(name, names())));
}

/// What is captured of an answer: names, each with its JSONPath.
pub(super) fn captures(
    checker: &mut Checker<'_>,
    given: &Key<IndexMap<String, raw::VerifyCapture>>,
) -> Vec<(String, String)> {
    let mut captures = Vec::new();
    for (name, keys) in given.value().into_iter().flatten() {
        let Some(At { place, value: json }) = keys.json.content() else {
            continue;
        };
        match serde_json_path::JsonPath::parse(json) {
            Ok(_) => captures.push((name.clone(), json.clone())),
            Err(problem) => {
                let what = format!("{} is no JSONPath: {problem}", quote(json));
                let finding = Finding::new(place.value, what);
                checker.report(finding.with_expected("a JSONPath such as $.token"));
            }
        }
    }
    captures
}

/// Reports each `{{name}}` of a text unless an earlier step captures it in every configuration in which this step is done.
fn names_are_known(
    checker: &mut Checker<'_>,
    StepContext { when, captured, .. }: &StepContext<'_>,
    position: Position,
    text: &str,
) {
    let Ok(used) = variables(text) else {
        let what = format!("{} has a {{{{ without a name and its }}}}", quote(text));
        checker.report(Finding::new(position, what).with_expected("{{name}}; {{{{ for two braces"));
        return;
    };
    for variable in used {
        let by = || captured.iter().filter(|capture| capture.name == variable);
        if by().any(|capture| capture.when.follows_from(when)) {
            continue;
        }
        let only: Vec<String> = by().map(|capture| capture.when.to_string()).collect();
        if !only.is_empty() {
            let name = quote(variable);
            let what = format!("{name} is captured only if {}", only.join(", or if "));
            let expected = "the same condition (when) around it";
            checker.report(Finding::new(position, what).with_expected(expected));
            continue;
        }
        let what = format!("no earlier step captures {}", quote(variable));
        let names = || captured.iter().map(|capture| capture.name.as_str());
        let expected = if captured.is_empty() {
            "a step before it with capture".to_owned()
        } else {
            list(names())
        };
        let near = nearest_word(variable, names()).map(str::to_owned);
        checker.report(
            Finding::new(position, what)
                .with_expected(expected)
                .with_suggestion(near),
        );
    }
}

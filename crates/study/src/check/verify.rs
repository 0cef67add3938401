//! A step of a system's functional check.

use std::time::Duration;

use indexmap::IndexMap;
use waggle_template::variable::variables;

use super::{
    Checker, MethodAndPath,
    components::{self, Conditions},
    expect::expect,
    system::TIMEOUT_BOUNDS,
    system_text::Names,
};
use crate::{
    BodyExpect, Check, Endpoint, When,
    mistake::Finding,
    nearest::{list, nearest_word},
    raw,
    tree::quote,
};

const TIMEOUT: Duration = Duration::from_secs(5);

/// The names that steps may use.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) endpoints: &'a [Endpoint],
    pub(super) names: &'a Names,
    pub(super) conditions: &'a Conditions<'a>,
}

/// A name that a step captures, and in which configurations it does.
struct Captured {
    name: String,
    when: When,
}

/// The context of one step.
struct StepContext<'a> {
    index: String,
    /// In which configurations it is done.
    when: When,
    /// By earlier steps.
    captured: &'a [Captured],
}

/// The steps, in order.
pub(super) fn steps(
    checker: &mut Checker<'_>,
    context: Context<'_>,
    raw: Option<Vec<raw::Verify>>,
) -> Vec<Check> {
    let mut captured = Vec::new();
    let mut steps = Vec::new();
    for (index, raw) in raw.into_iter().flatten().enumerate() {
        let index = index.to_string();
        let condition = context.conditions.read(checker, &raw.when);
        let when = condition.intersect(&context.endpoint_condition(raw.endpoint.as_deref()));
        let names = raw.capture.iter().flatten().map(|capture| Captured {
            name: capture.0.clone(),
            when: when.clone(),
        });
        let names: Vec<Captured> = names.collect();
        let step_context = StepContext {
            index,
            when,
            captured: &captured,
        };
        steps.extend(step(checker, context, &step_context, condition, raw));
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
        conditions,
        ..
    }: Context<'_>,
    step_context: &StepContext<'_>,
    when: When,
    raw: raw::Verify,
) -> Option<Check> {
    let index = &step_context.index;
    let path = |key: &'static str| ["verify", index.as_str(), key];
    let method = checker.method_and_path(&raw.method, &["verify", index]);
    let headers = checker.headers(raw.headers.clone(), &path("headers"));
    let body = raw.body.clone().unwrap_or_default();
    let here = ["verify", index.as_str()];
    components::check_request_texts(checker, conditions.names, &headers, &body, &here);
    components::check_path(checker, conditions.names, &method, &here);
    endpoint(
        checker,
        endpoints,
        raw.endpoint.as_deref(),
        &path("endpoint"),
    );
    let timeout = checker.value_or_default(
        raw.timeout.map(|raw::DurationText(time)| time),
        &path("timeout"),
        TIMEOUT,
    )?;
    let timeout = checker.check_bounds(timeout, &path("timeout"), TIMEOUT_BOUNDS);
    let called = method.as_ref().map(|called| called.method.as_str());
    let is_list = matches!(
        raw.expect
            .as_ref()
            .and_then(|raw| raw.body_contains.as_ref()),
        Some(raw::OneOrSeveral::Several(_))
    );
    let expect = expect(checker, raw.expect, called, &path("expect"));
    let captures = captures(checker, raw.capture, &path("capture"));
    let MethodAndPath {
        method,
        path: target,
        key,
    } = method?;
    let mut known = |text: &str, path: &[&str]| names_are_known(checker, step_context, text, path);
    known(&target, &path(key));
    known(&body, &path("body"));
    for (name, value) in &headers {
        known(value, &[&path("headers")[..], &[name.as_str()]].concat());
    }
    match &expect.body {
        BodyExpect::Any => {}
        BodyExpect::Equals(text) => {
            known(text, &[&path("expect")[..], &["body_equals"]].concat());
        }
        BodyExpect::Contains(texts) => {
            for (number, text) in texts.iter().enumerate() {
                let number = number.to_string();
                let of_text = ["body_contains", number.as_str()];
                let of_text = &of_text[..1 + usize::from(is_list)];
                known(text, &[&path("expect")[..], of_text].concat());
            }
        }
    }
    Some(Check {
        name: raw.name?,
        when,
        endpoint: raw.endpoint?,
        method,
        path: target,
        headers,
        body,
        expect,
        captures,
        timeout: timeout?,
    })
}

fn endpoint(checker: &mut Checker<'_>, endpoints: &[Endpoint], name: Option<&str>, path: &[&str]) {
    let Some(name) = name else {
        return;
    };
    let is_known = endpoints.iter().any(|known| known.name == name);
    if is_known || checker.is_invalid(&["endpoints"]) || checker.is_invalid(&["endpoints", name]) {
        return;
    }
    let names = || endpoints.iter().map(|known| known.name.as_str());
    let what = format!("there is no endpoint {name:?}");
    let finding = Finding::new(checker.position_of(path), what)
        .with_expected(expected_endpoint(names()))
        .with_suggestion(nearest_word(name, names()));
    checker.report(finding);
}

/// One of these endpoints.
pub(super) fn expected_endpoint<'n>(names: impl Iterator<Item = &'n str>) -> String {
    match list(names) {
        none if none.is_empty() => "an endpoint of the system, which has none".to_owned(),
        names => names,
    }
}

/// What is captured of an answer: names, each with its JSONPath.
pub(super) fn captures(
    checker: &mut Checker<'_>,
    raw: Option<IndexMap<String, raw::VerifyCapture>>,
    path: &[&str],
) -> Vec<(String, String)> {
    let mut captures = Vec::new();
    for (name, raw::VerifyCapture { json }) in raw.into_iter().flatten() {
        let here = [path, &[name.as_str()]].concat();
        let Some(json) = json else {
            continue;
        };
        match serde_json_path::JsonPath::parse(&json) {
            Ok(_) => captures.push((name, json)),
            Err(problem) => {
                let what = format!("{} is no JSONPath: {problem}", quote(&json));
                let position = checker.position_of(&[&here[..], &["json"]].concat());
                checker.report(
                    Finding::new(position, what).with_expected("a JSONPath such as $.token"),
                );
            }
        }
    }
    captures
}

/// Reports each `{{name}}` of a text unless an earlier step captures it in every configuration in which this step is done.
fn names_are_known(
    checker: &mut Checker<'_>,
    StepContext { when, captured, .. }: &StepContext<'_>,
    text: &str,
    path: &[&str],
) {
    let Ok(used) = variables(text) else {
        let what = format!("{} has a {{{{ without a name and its }}}}", quote(text));
        let position = checker.position_of(path);
        checker.report(Finding::new(position, what).with_expected("{{name}}; {{{{ for two braces"));
        return;
    };
    for variable in used {
        let by = || captured.iter().filter(|capture| capture.name == variable);
        if by().any(|capture| capture.when.follows_from(when)) {
            continue;
        }
        let position = checker.position_of(path);
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

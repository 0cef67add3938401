//! Captures and checks of an answer.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::flows::Flows;
use crate::{
    Capture, Condition, Level, StepCheck,
    at::{At, Key, Place},
    check::{Checker, is_token},
    mistake::Finding,
    parts::request::variables::Known,
    tree::quote,
};

pub(crate) type Captures = IndexMap<String, At<Extractor>>;

/// How a value is extracted from an answer; exactly one of json, header, regex and cookie, or a regex in a header.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extractor {
    #[serde(rename = "$waggle::Part")]
    #[schemars(flatten)]
    pub from: At<Extracted>,
    /// Whether the value may be missing, or null in JSON: then the variable is empty. false by default: the request fails.
    pub optional: Key<bool>,
}

/// The part of an answer in which a value is.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Extracted {
    /// A JSONPath (RFC 9535) such as $.items[0].id, into a body of JSON; the first one found counts.
    pub json: Key<String>,
    /// Name of a header.
    pub header: Key<String>,
    /// A regular expression, searched in the body; with `header`, in the headers of this name.
    pub regex: Key<String>,
    /// The group of the regular expression; 1 by default if it has one, else 0, the whole match.
    #[schemars(range(min = 0, max = 1_000))]
    pub group: Key<u32>,
    /// Name of a cookie that the session has after the answer.
    pub cookie: Key<String>,
}

/// A condition on an answer: a value, by exactly one of json, header, regex, cookie and part, or a regex in a header; and a comparison, by one of equals,
/// contains and matches. Without a comparison the value must exist.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    #[serde(rename = "$waggle::Part")]
    #[schemars(flatten)]
    pub from: At<Extracted>,
    /// The whole body, or the status as its three digits.
    pub part: Key<CheckPart>,
    /// The value is this.
    pub equals: Key<Level>,
    /// The value contains this.
    pub contains: Key<Level>,
    /// This regular expression matches somewhere in the value.
    pub matches: Key<String>,
}

/// A part of an answer that a check looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckPart {
    Body,
    Status,
}

impl Extractor {
    /// Whether its value is one of JSON.
    pub(super) fn is_of_json(&self) -> bool {
        self.from.value.json.is_some()
    }
}

impl Flows<'_, '_> {
    /// The captures of a step; their variables are known afterwards.
    pub(super) fn check_captures(
        &mut self,
        given: &Key<Captures>,
        known: &mut Known,
    ) -> Option<Vec<Capture>> {
        let mut checked = Vec::new();
        for (variable, At { place, value: keys }) in given.value().into_iter().flatten() {
            self.refuse_reserved_capture(variable, place);
            let from = single_extractor(self.checker, &keys.from, None).and_then(|from| from);
            known.capture(variable);
            checked.push(from.map(|from| Capture {
                variable: variable.clone(),
                from,
                is_optional: keys.optional.value().copied().unwrap_or(false),
            }));
        }
        checked.into_iter().collect()
    }

    pub(super) fn checks(
        &mut self,
        given: &Key<Vec<At<Check>>>,
        known: &Known,
    ) -> Option<Vec<StepCheck>> {
        let given = given.value().into_iter().flatten();
        let checked: Vec<_> = given.map(|check| self.check(check, known)).collect();
        checked.into_iter().collect()
    }

    fn check(&mut self, given: &At<Check>, known: &Known) -> Option<StepCheck> {
        let keys = &given.value;
        let part = single_extractor(self.checker, &keys.from, Some(&keys.part));
        let part = part.and_then(|extractor| match (extractor, keys.part.value()) {
            (Some(extractor), _) => Some(crate::CheckPart::Value(extractor)),
            (None, Some(CheckPart::Body)) => Some(crate::CheckPart::Body),
            (None, Some(CheckPart::Status)) => Some(crate::CheckPart::Status),
            (None, None) => None,
        });
        let holds = self.condition(given, known);
        Some(StepCheck {
            part: part?,
            holds: holds?,
        })
    }

    fn condition(
        &mut self,
        At { place, value: keys }: &At<Check>,
        known: &Known,
    ) -> Option<Condition> {
        let given = given_keys([
            ("equals", keys.equals.place()),
            ("contains", keys.contains.place()),
            ("matches", keys.matches.place()),
        ]);
        if let [(first, _), (second, key), ..] = given[..] {
            let mistake = place.mistake_in(key.key, format!("has both {first} and {second}"));
            self.checker.report(mistake.with_expected("one of the two"));
            return None;
        }
        if let Some(pattern) = keys.matches.content() {
            regex(self.checker, pattern)?;
            return Some(Condition::Matches(pattern.value.clone()));
        }
        if let Some(level) = keys.equals.content() {
            return self.text(level, known).map(Condition::Equals);
        }
        if let Some(level) = keys.contains.content() {
            return self.text(level, known).map(Condition::Contains);
        }
        if keys.equals.is_invalid() || keys.contains.is_invalid() || keys.matches.is_invalid() {
            return None;
        }
        let Some(part) = keys.part.place() else {
            return Some(Condition::Exists);
        };
        let mistake = place.mistake_in(part.key, "has no condition");
        self.checker
            .report(mistake.with_expected("equals, contains or matches"));
        None
    }

    /// The text with which a value is compared.
    fn text(&mut self, At { place, value }: &At<Level>, known: &Known) -> Option<String> {
        let text = At {
            place: place.clone(),
            value: value.to_string(),
        };
        self.template(&text, known).map(|_| text.value)
    }
}

/// Those of some keys that are given.
fn given_keys<'k, const COUNT: usize>(
    keys: [(&'static str, Option<&'k Place>); COUNT],
) -> Vec<(&'static str, &'k Place)> {
    let keys = keys.into_iter();
    keys.filter_map(|(key, place)| Some((key, place?)))
        .collect()
}

/// The one extractor that is given; `Some(None)` if `part` is given instead; `None` after a mistake, which is reported.
fn single_extractor(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<Extracted>,
    part: Option<&Key<CheckPart>>,
) -> Option<Option<crate::Extractor>> {
    let given = given_keys([
        ("json", keys.json.place()),
        ("header", keys.header.place()),
        ("regex", keys.regex.place()),
        ("cookie", keys.cookie.place()),
        ("part", part.and_then(Key::place)),
    ]);
    if let (Some(group), None) = (keys.group.place(), keys.regex.place()) {
        let mistake = group.key_mistake("is for regex");
        checker.report(mistake.with_expected("regex as well"));
        return None;
    }
    let (mistake, expected) = match given[..] {
        [("part", _)] => return Some(None),
        [("json", _)] => return json(checker, keys.json.content()?).map(Some),
        [("header", _)] => {
            let name = header_name(checker, keys.header.content()?)?;
            return Some(Some(crate::Extractor::Header(name)));
        }
        [("cookie", _)] => {
            let name = keys.cookie.value()?.clone();
            return Some(Some(crate::Extractor::Cookie(name)));
        }
        [("regex", _)] => {
            let (pattern, group) = pattern(checker, keys)?;
            return Some(Some(crate::Extractor::Regex { pattern, group }));
        }
        [("header", _), ("regex", _)] => {
            let name = header_name(checker, keys.header.content()?);
            let (pattern, group) = pattern(checker, keys)?;
            return Some(Some(crate::Extractor::HeaderMatch {
                name: name?,
                pattern,
                group,
            }));
        }
        [] if keys.has_invalid() || part.is_some_and(Key::is_invalid) => return None,
        [] => (
            place.mistake("names no part of the answer"),
            "json, header, regex or cookie",
        ),
        [("header", _), ("regex", _), (other, key)]
        | [(other, key), ("header", _), ("regex", _)] => (
            place.mistake_in(key.key, format!("has {other} beside header and regex")),
            "header and regex alone",
        ),
        [(first, _), (second, key), ..] => (
            place.mistake_in(key.key, format!("has both {first} and {second}")),
            "one of the two",
        ),
        _ => return None,
    };
    checker.report(mistake.with_expected(expected));
    None
}

impl Extracted {
    fn has_invalid(&self) -> bool {
        self.json.is_invalid()
            || self.header.is_invalid()
            || self.regex.is_invalid()
            || self.group.is_invalid()
            || self.cookie.is_invalid()
    }
}

fn json(
    checker: &mut Checker<'_>,
    At { place, value: text }: &At<String>,
) -> Option<crate::Extractor> {
    match serde_json_path::JsonPath::parse(text) {
        Ok(_) => Some(crate::Extractor::Json(text.clone())),
        Err(error) => {
            let what = format!("{} is no JSONPath: {}", quote(text), error.message());
            let finding = Finding::new(place.value, what);
            checker.report(finding.with_expected("a JSONPath such as $.items[0].id"));
            None
        }
    }
}

fn header_name(
    checker: &mut Checker<'_>,
    At { place, value: name }: &At<String>,
) -> Option<String> {
    if !name.is_empty() && name.bytes().all(is_token) {
        return Some(name.clone());
    }
    let what = format!("{} is no name of a header", quote(name));
    checker.report(Finding::new(place.value, what).with_expected("letters, digits and -"));
    None
}

/// How many groups a regular expression has, the whole match among them.
fn regex(checker: &mut Checker<'_>, At { place, value: text }: &At<String>) -> Option<usize> {
    match regex::bytes::Regex::new(text) {
        Ok(regex) => Some(regex.captures_len()),
        Err(error) => {
            // Its text shows the pattern with a mark below it; the last line has the reason.
            let text_of = error.to_string();
            let last = text_of.lines().last().unwrap_or_default();
            let why = last.trim_start_matches("error: ");
            let what = format!("{} is no regular expression: {why}", quote(text));
            checker.report(Finding::new(place.value, what).with_expected("a regular expression"));
            None
        }
    }
}

/// A regular expression, and its group.
fn pattern(checker: &mut Checker<'_>, keys: &Extracted) -> Option<(String, usize)> {
    let pattern = keys.regex.content()?;
    let groups = regex(checker, pattern)?;
    let group = keys.group.value();
    let group = group.map_or(usize::from(groups > 1), |group| *group as usize);
    if let Some(place) = keys.group.place().filter(|_| group >= groups) {
        let what = format!(
            "is {group}, and {} has {}",
            quote(&pattern.value),
            match groups - 1 {
                0 => "no group".to_owned(),
                1 => "one group".to_owned(),
                more => format!("{more} groups"),
            }
        );
        let expected = "a group of it, or 0 for the whole match";
        checker.report(place.mistake(what).with_expected(expected));
        return None;
    }
    Some((pattern.value.clone(), group))
}

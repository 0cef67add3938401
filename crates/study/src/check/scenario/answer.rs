//! Captures and checks of an answer.

use super::Flows;
use crate::{
    Capture, CheckPart, Condition, Extractor, StepCheck,
    check::{Checker, path::Path, variables::Known},
    mistake::Finding,
    raw,
    tree::quote,
};

/// The keys of an extractor that are given.
struct GivenExtractor<'r> {
    json: Option<&'r String>,
    header: Option<&'r String>,
    regex: Option<&'r String>,
    group: Option<u32>,
    cookie: Option<&'r String>,
}

impl Flows<'_, '_> {
    /// The captures of a step; their variables are known afterwards.
    pub(super) fn captures(
        &mut self,
        raw: Option<raw::Captures>,
        path: &Path,
        known: &mut Known,
    ) -> Option<Vec<Capture>> {
        let mut checked = Vec::new();
        for (variable, capture) in raw.into_iter().flatten() {
            let here = path.child(&variable);
            self.refuse_reserved_capture(&variable, &here);
            let given = GivenExtractor {
                json: capture.json.as_ref(),
                header: capture.header.as_ref(),
                regex: capture.regex.as_ref(),
                group: capture.group,
                cookie: capture.cookie.as_ref(),
            };
            let from = single_extractor(self.checker, &given, &here, false).and_then(|from| from);
            known.capture(&variable);
            checked.push(from.map(|from| Capture {
                variable,
                from,
                is_optional: capture.optional.unwrap_or(false),
            }));
        }
        checked.into_iter().collect()
    }

    pub(super) fn checks(
        &mut self,
        raw: Option<Vec<raw::Check>>,
        path: &Path,
        known: &Known,
    ) -> Option<Vec<StepCheck>> {
        let checked: Vec<_> = raw
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(index, check)| self.check(&check, &path.entry(index), known))
            .collect();
        checked.into_iter().collect()
    }

    fn check(&mut self, raw: &raw::Check, path: &Path, known: &Known) -> Option<StepCheck> {
        let given = GivenExtractor {
            json: raw.json.as_ref(),
            header: raw.header.as_ref(),
            regex: raw.regex.as_ref(),
            group: raw.group,
            cookie: raw.cookie.as_ref(),
        };
        let part = single_extractor(self.checker, &given, path, raw.part.is_some());
        let part = part.and_then(|extractor| match (extractor, raw.part) {
            (Some(extractor), _) => Some(CheckPart::Value(extractor)),
            (None, Some(raw::CheckPart::Body)) => Some(CheckPart::Body),
            (None, Some(raw::CheckPart::Status)) => Some(CheckPart::Status),
            (None, None) => None,
        });
        let holds = self.condition(raw, path, known);
        Some(StepCheck {
            part: part?,
            holds: holds?,
        })
    }

    fn condition(&mut self, raw: &raw::Check, path: &Path, known: &Known) -> Option<Condition> {
        let given = [
            ("equals", raw.equals.is_some()),
            ("contains", raw.contains.is_some()),
            ("matches", raw.matches.is_some()),
        ];
        let mut keys = given
            .iter()
            .filter(|(_, given)| *given)
            .map(|(key, _)| *key);
        if let (Some(first), Some(second)) = (keys.next(), keys.next()) {
            let what = format!("{} has both {first} and {second}", path.to_text(""));
            let position = self.checker.key(&path.child(second).steps());
            self.checker
                .report(Finding::new(position, what).with_expected("one of the two"));
            return None;
        }
        if let Some(pattern) = &raw.matches {
            regex(self.checker, pattern, &path.child("matches"))?;
            return Some(Condition::Matches(pattern.clone()));
        }
        let mut text = |level: &crate::Level, key: &str| {
            let text = level.to_string();
            self.template(&text, &path.child(key), known).map(|_| text)
        };
        match (&raw.equals, &raw.contains) {
            (Some(level), _) => text(level, "equals").map(Condition::Equals),
            (None, Some(level)) => text(level, "contains").map(Condition::Contains),
            (None, None) => {
                let invalid = given
                    .iter()
                    .any(|(key, _)| self.checker.is_invalid(&path.child(key).steps()));
                if raw.part.is_some() && !invalid {
                    let what = format!("{} has no condition", path.to_text(""));
                    let position = self.checker.key(&path.child("part").steps());
                    self.checker.report(
                        Finding::new(position, what).with_expected("equals, contains or matches"),
                    );
                    return None;
                }
                (!invalid).then_some(Condition::Exists)
            }
        }
    }
}

/// The one extractor that is given; `Some(None)` if `part` is given instead; `None` after a mistake, which is reported.
fn single_extractor(
    checker: &mut Checker<'_>,
    given: &GivenExtractor<'_>,
    path: &Path,
    part: bool,
) -> Option<Option<Extractor>> {
    let keys: Vec<&str> = [
        ("json", given.json.is_some()),
        ("header", given.header.is_some()),
        ("regex", given.regex.is_some()),
        ("cookie", given.cookie.is_some()),
        ("part", part),
    ]
    .into_iter()
    .filter_map(|(key, given)| given.then_some(key))
    .collect();
    if let (Some(_), None) = (given.group, given.regex) {
        let what = format!("{} is for regex", path.child("group").to_text(""));
        let position = checker.key(&path.child("group").steps());
        checker.report(Finding::new(position, what).with_expected("regex as well"));
        return None;
    }
    match keys[..] {
        ["part"] => Some(None),
        ["json"] => json(checker, given.json?, &path.child("json")).map(Some),
        ["header"] => header_name(checker, given.header?, &path.child("header"))
            .map(|name| Some(Extractor::Header(name))),
        ["cookie"] => Some(Some(Extractor::Cookie(given.cookie?.clone()))),
        ["regex"] => pattern(checker, given, path)
            .map(|(pattern, group)| Some(Extractor::Regex { pattern, group })),
        ["header", "regex"] => {
            let name = header_name(checker, given.header?, &path.child("header"));
            let (pattern, group) = pattern(checker, given, path)?;
            Some(Some(Extractor::HeaderMatch {
                name: name?,
                pattern,
                group,
            }))
        }
        [] => {
            let possible = ["json", "header", "regex", "cookie", "part", "group"];
            if !possible
                .iter()
                .any(|key| checker.is_invalid(&path.child(key).steps()))
            {
                let what = format!("{} names no part of the answer", path.to_text(""));
                let position = checker.position_of(&path.steps());
                checker.report(
                    Finding::new(position, what).with_expected("json, header, regex or cookie"),
                );
            }
            None
        }
        ["header", "regex", other] | [other, "header", "regex"] => {
            let what = format!("{} has {other} beside header and regex", path.to_text(""));
            let position = checker.key(&path.child(other).steps());
            checker.report(Finding::new(position, what).with_expected("header and regex alone"));
            None
        }
        [first, second, ..] => {
            let what = format!("{} has both {first} and {second}", path.to_text(""));
            let position = checker.key(&path.child(second).steps());
            checker.report(Finding::new(position, what).with_expected("one of the two"));
            None
        }
        _ => None,
    }
}

fn json(checker: &mut Checker<'_>, text: &str, path: &Path) -> Option<Extractor> {
    match serde_json_path::JsonPath::parse(text) {
        Ok(_) => Some(Extractor::Json(text.to_owned())),
        Err(error) => {
            let what = format!("{} is no JSONPath: {}", quote(text), error.message());
            let position = checker.position_of(&path.steps());
            checker.report(
                Finding::new(position, what).with_expected("a JSONPath such as $.items[0].id"),
            );
            None
        }
    }
}

fn header_name(checker: &mut Checker<'_>, name: &str, path: &Path) -> Option<String> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !name.is_empty() && name.bytes().all(token) {
        return Some(name.to_owned());
    }
    let what = format!("{} is no name of a header", quote(name));
    let position = checker.position_of(&path.steps());
    checker.report(Finding::new(position, what).with_expected("letters, digits and -"));
    None
}

/// How many groups a regular expression has, the whole match among them.
fn regex(checker: &mut Checker<'_>, text: &str, path: &Path) -> Option<usize> {
    match regex::bytes::Regex::new(text) {
        Ok(regex) => Some(regex.captures_len()),
        Err(error) => {
            // Its text shows the pattern with a mark below it; the last line has the reason.
            let text_of = error.to_string();
            let last = text_of.lines().last().unwrap_or_default();
            let why = last.trim_start_matches("error: ");
            let what = format!("{} is no regular expression: {why}", quote(text));
            let position = checker.position_of(&path.steps());
            checker.report(Finding::new(position, what).with_expected("a regular expression"));
            None
        }
    }
}

/// A regular expression, and its group.
fn pattern(
    checker: &mut Checker<'_>,
    given: &GivenExtractor<'_>,
    path: &Path,
) -> Option<(String, usize)> {
    let pattern = given.regex?;
    let groups = regex(checker, pattern, &path.child("regex"))?;
    let group = given
        .group
        .map_or(usize::from(groups > 1), |group| group as usize);
    if group >= groups {
        let what = format!(
            "{} is {group}, and {} has {}",
            path.child("group").to_text(""),
            quote(pattern),
            match groups - 1 {
                0 => "no group".to_owned(),
                1 => "one group".to_owned(),
                more => format!("{more} groups"),
            }
        );
        let position = checker.position_of(&path.child("group").steps());
        checker.report(
            Finding::new(position, what).with_expected("a group of it, or 0 for the whole match"),
        );
        return None;
    }
    Some((pattern.clone(), group))
}

//! What is looked for in an answer: captures and checks.

use super::Flows;
use crate::{
    Capture, CheckPart, Condition, Found, StepCheck,
    check::{Checker, path::Path, variables::Known},
    mistake::Finding,
    raw,
    tree::quote,
};

/// The places in an answer that a file can name.
struct Places<'r> {
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
        for (variable, found) in raw.into_iter().flatten() {
            let here = path.child(&variable);
            self.refuse_own(&variable, &here);
            let places = Places {
                json: found.json.as_ref(),
                header: found.header.as_ref(),
                regex: found.regex.as_ref(),
                group: found.group,
                cookie: found.cookie.as_ref(),
            };
            let from = one_of(self.checker, &places, &here, false).and_then(|from| from);
            known.capture(&variable);
            checked.push(from.map(|from| Capture { variable, from }));
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
            .map(|(place, check)| self.check(&check, &path.entry(place), known))
            .collect();
        checked.into_iter().collect()
    }

    fn check(&mut self, raw: &raw::Check, path: &Path, known: &Known) -> Option<StepCheck> {
        let places = Places {
            json: raw.json.as_ref(),
            header: raw.header.as_ref(),
            regex: raw.regex.as_ref(),
            group: raw.group,
            cookie: raw.cookie.as_ref(),
        };
        let part = one_of(self.checker, &places, path, raw.part.is_some());
        let part = part.and_then(|found| match (found, raw.part) {
            (Some(found), _) => Some(CheckPart::Value(found)),
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
            let at = self.checker.key(&path.child(second).steps());
            self.checker
                .report(Finding::new(at, what).with_expected("one of the two"));
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
                let wild = given
                    .iter()
                    .any(|(key, _)| self.checker.is_wild(&path.child(key).steps()));
                if raw.part.is_some() && !wild {
                    let what = format!("{} asks nothing of it", path.to_text(""));
                    let at = self.checker.key(&path.child("part").steps());
                    self.checker.report(
                        Finding::new(at, what).with_expected("equals, contains or matches"),
                    );
                    return None;
                }
                (!wild).then_some(Condition::Exists)
            }
        }
    }
}

/// The one place that is named, or `Some(None)` if `part` is given instead; nothing if something is wrong.
fn one_of(
    checker: &mut Checker<'_>,
    places: &Places<'_>,
    path: &Path,
    part: bool,
) -> Option<Option<Found>> {
    let given: Vec<&str> = [
        ("json", places.json.is_some()),
        ("header", places.header.is_some()),
        ("regex", places.regex.is_some()),
        ("cookie", places.cookie.is_some()),
        ("part", part),
    ]
    .into_iter()
    .filter_map(|(key, given)| given.then_some(key))
    .collect();
    if let (Some(_), None) = (places.group, places.regex) {
        let what = format!("{} is for regex", path.child("group").to_text(""));
        let at = checker.key(&path.child("group").steps());
        checker.report(Finding::new(at, what).with_expected("regex beside it"));
        return None;
    }
    match given[..] {
        ["part"] => Some(None),
        ["json"] => json(checker, places.json?, &path.child("json")).map(Some),
        ["header"] => header(checker, places.header?, &path.child("header")).map(Some),
        ["cookie"] => Some(Some(Found::Cookie(places.cookie?.clone()))),
        ["regex"] => pattern(checker, places, path).map(Some),
        [] => {
            let keys = ["json", "header", "regex", "cookie", "part", "group"];
            if !keys
                .iter()
                .any(|key| checker.is_wild(&path.child(key).steps()))
            {
                let what = format!("{} does not say where to look", path.to_text(""));
                let at = checker.position_of(&path.steps());
                checker
                    .report(Finding::new(at, what).with_expected("json, header, regex or cookie"));
            }
            None
        }
        [first, second, ..] => {
            let what = format!("{} has both {first} and {second}", path.to_text(""));
            let at = checker.key(&path.child(second).steps());
            checker.report(Finding::new(at, what).with_expected("one of the two"));
            None
        }
        _ => None,
    }
}

fn json(checker: &mut Checker<'_>, text: &str, path: &Path) -> Option<Found> {
    match serde_json_path::JsonPath::parse(text) {
        Ok(_) => Some(Found::Json(text.to_owned())),
        Err(error) => {
            let what = format!("{} is no JSONPath: {}", quote(text), error.message());
            let at = checker.position_of(&path.steps());
            checker
                .report(Finding::new(at, what).with_expected("a JSONPath such as $.items[0].id"));
            None
        }
    }
}

fn header(checker: &mut Checker<'_>, name: &str, path: &Path) -> Option<Found> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !name.is_empty() && name.bytes().all(token) {
        return Some(Found::Header(name.to_owned()));
    }
    let what = format!("{} is no name of a header", quote(name));
    let at = checker.position_of(&path.steps());
    checker.report(Finding::new(at, what).with_expected("letters, digits and -"));
    None
}

/// How many groups a regular expression has, the whole match among them.
fn regex(checker: &mut Checker<'_>, text: &str, path: &Path) -> Option<usize> {
    match regex::bytes::Regex::new(text) {
        Ok(regex) => Some(regex.captures_len()),
        Err(error) => {
            // Its text shows the pattern with a mark below it; the last line says what is wrong.
            let text_of = error.to_string();
            let last = text_of.lines().last().unwrap_or_default();
            let why = last.trim_start_matches("error: ");
            let what = format!("{} is no regular expression: {why}", quote(text));
            let at = checker.position_of(&path.steps());
            checker.report(Finding::new(at, what).with_expected("a regular expression"));
            None
        }
    }
}

fn pattern(checker: &mut Checker<'_>, places: &Places<'_>, path: &Path) -> Option<Found> {
    let pattern = places.regex?;
    let groups = regex(checker, pattern, &path.child("regex"))?;
    let group = places
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
        let at = checker.position_of(&path.child("group").steps());
        checker.report(
            Finding::new(at, what).with_expected("a group of it, or 0 for the whole match"),
        );
        return None;
    }
    Some(Found::Regex {
        pattern: pattern.clone(),
        group,
    })
}

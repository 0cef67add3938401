//! `expect`: which answers are a success; of requests, of steps, of a component's setup and of the functional check.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    BodyExpect,
    at::{At, Key},
    check::Checker,
    mistake::{Finding, Position},
    raw::{OneOrSeveral, Status},
};

/// Which answers are a success.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// A status code or a list of them.
    pub status: Key<Status>,
    /// The whole body.
    pub body_equals: Key<String>,
    /// A part of the body, or a list of parts that must all be in it.
    pub body_contains: Key<OneOrSeveral<At<String>>>,
}

impl Expect {
    /// The texts with which a body is compared.
    pub(crate) fn body_texts(&self) -> Vec<(Position, &str)> {
        if let Some(text) = self.body_equals.content() {
            return vec![(text.place.value, &text.value)];
        }
        let parts = self.body_contains.content();
        parts.map(At::entries).unwrap_or_default()
    }
}

/// Most texts of one `body_contains`.
pub const MAX_BODY_TEXTS: usize = 8;

pub(crate) fn expect(
    checker: &mut Checker<'_>,
    given: &Key<Expect>,
    method: Option<&str>,
) -> crate::Expect {
    let Some(At { place, value: keys }) = given.content() else {
        return crate::Expect::default();
    };
    let compared = [keys.body_equals.place(), keys.body_contains.place()];
    if let [Some(_), Some(second)] = compared {
        let mistake = place.mistake_in(second.key, "has both body_equals and body_contains");
        checker.report(mistake.with_expected("one of the two"));
    }
    let refused = compared.into_iter().flatten();
    for key in refused.filter(|_| method == Some("HEAD")) {
        let finding = Finding::new(key.key, "an answer to HEAD has no body");
        checker.report(finding.with_expected("status only"));
    }
    let parts = keys.body_contains.content();
    let parts = parts.map(|given| (&given.place, given.entries()));
    if let Some((place, parts)) = &parts
        && parts.len() > MAX_BODY_TEXTS
    {
        let mistake = place.mistake(format!("has {} texts", parts.len()));
        checker.report(mistake.with_expected(format!("at most {MAX_BODY_TEXTS}")));
    }
    let body = match (keys.body_equals.value(), parts) {
        (Some(text), _) => BodyExpect::Equals(text.clone()),
        (None, Some((_, parts))) => {
            BodyExpect::Contains(parts.iter().map(|(_, text)| (*text).to_owned()).collect())
        }
        (None, None) => BodyExpect::Any,
    };
    let status = keys.status.value().map(|Status(codes)| codes.clone());
    crate::Expect {
        status: status.unwrap_or_default(),
        body,
    }
}

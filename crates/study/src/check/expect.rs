//! `expect`: which answers are a success; of requests, of steps, of a component's setup and of the functional check.

use super::{Checker, path_text};
use crate::{BodyExpect, Expect, mistake::Finding, raw};

/// Most texts of one `body_contains`.
pub const MAX_BODY_TEXTS: usize = 8;

/// Checks `expect`, whose path is `around`.
pub(crate) fn expect(
    checker: &mut Checker<'_>,
    raw: Option<raw::Expect>,
    method: Option<&str>,
    around: &[&str],
) -> Expect {
    let Some(raw) = raw else {
        return Expect::default();
    };
    let given = [
        ("body_equals", raw.body_equals.is_some()),
        ("body_contains", raw.body_contains.is_some()),
    ];
    let path = |key: &'static str| [around, &[key]].concat();
    if given.iter().all(|(_, given)| *given) {
        let what = format!(
            "{} has both body_equals and body_contains",
            path_text(around)
        );
        checker.report(
            Finding::new(checker.key(&path("body_contains")), what).with_expected("one of the two"),
        );
    }
    for (key, _) in given
        .into_iter()
        .filter(|(_, given)| *given && method == Some("HEAD"))
    {
        let what = "an answer to HEAD has no body";
        checker.report(Finding::new(checker.key(&path(key)), what).with_expected("status only"));
    }
    let parts = raw.body_contains.as_ref().map(raw::OneOrSeveral::texts);
    if let Some(count) = parts.map(<[String]>::len)
        && count > MAX_BODY_TEXTS
    {
        let here = path("body_contains");
        let what = format!("{} has {count} texts", path_text(&here));
        let expected = format!("at most {MAX_BODY_TEXTS}");
        checker.report(Finding::new(checker.position_of(&here), what).with_expected(expected));
    }
    let body = match (raw.body_equals, parts) {
        (Some(text), _) => BodyExpect::Equals(text),
        (None, Some(texts)) => BodyExpect::Contains(texts.to_vec()),
        (None, None) => BodyExpect::Any,
    };
    let status = raw.status.map(|raw::Status(codes)| codes);
    Expect {
        status: status.unwrap_or_default(),
        body,
    }
}

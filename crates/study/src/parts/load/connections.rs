//! How connections of the load are opened, used and closed.

use std::time::Duration;

use waggle_spec::LoadKind;
use waggle_units::format_size;

use super::Load;
use crate::{
    HeaderLimits, Problem, Request, What, at::Place, check::Checker,
    parts::request::TIMEOUT_BOUNDS, raw::Size,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long opening a connection may take.
pub(crate) fn connect_timeout(
    checker: &mut Checker<'_>,
    keys: &Load,
    what: Option<&(What, String)>,
) -> Option<Duration> {
    let default = match what {
        Some((What::Request(request), _)) if keys.model.value() == Some(&LoadKind::Clients) => {
            request.timeout
        }
        _ => CONNECT_TIMEOUT,
    };
    let given = &keys.connect_timeout;
    given.check_bounds(default, TIMEOUT_BOUNDS, &mut checker.findings)
}

/// Limits on the heads of answers.
pub(crate) fn header_limits(checker: &mut Checker<'_>, keys: &Load) -> Option<HeaderLimits> {
    let default = HeaderLimits::default();
    let size = &keys.max_header_size;
    let Size(max_bytes) = size.or_default(Size(default.max_bytes))?;
    if let (Err(Problem(expected)), Some(place)) =
        (HeaderLimits::check_bytes(max_bytes), size.place())
    {
        let mistake = place.mistake(format!("is {}", format_size(max_bytes)));
        checker.report(mistake.with_expected(expected));
        return None;
    }
    Some(HeaderLimits {
        max_bytes,
        max_fields: keys.max_headers.or_default(default.max_fields)?,
    })
}

/// If the study does not keep connections alive, each request asks the server to close its connection.
pub(crate) fn apply_keep_alive(
    checker: &mut Checker<'_>,
    keys: &Load,
    what: Option<&mut (What, String)>,
) {
    let Some(keep_alive) = keys.keep_alive.content().filter(|given| !given.value) else {
        return;
    };
    let refused = match what {
        _ if keys
            .pipelining
            .value()
            .is_some_and(|requests| *requests > 1) =>
        {
            "load.pipelining"
        }
        Some((What::Scenario(_), _)) => "load.scenario",
        Some((What::Request(request), _)) => return close_connections(request),
        None => return,
    };
    refuse_closing(checker, refused, &keep_alive.place);
}

/// Makes each request ask the server to close its connection.
pub(crate) fn close_connections(request: &mut Request) {
    let close = ("Connection".to_owned(), "close".to_owned());
    request.headers.push(close);
}

/// Reports that connections cannot be closed after each request; `place` is that of `keep_alive`.
fn refuse_closing(checker: &mut Checker<'_>, refused: &str, place: &Place) {
    let mistake = place.key_mistake(format!("is false, which cannot be combined with {refused}"));
    checker.report(mistake.with_expected("one of the two"));
}

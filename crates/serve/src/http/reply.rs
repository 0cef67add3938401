//! Answers: pages with their policy, and problems with their reason.

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};

use crate::pages::{
    layout::{POLICY, POLICY_AROUND},
    problem,
};

/// A page.
#[derive(Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    html: String,
    has_own_policy: bool,
}

impl Reply {
    /// One of the pages of this server.
    pub(crate) fn page(html: String) -> Self {
        Self {
            status: StatusCode::OK,
            html,
            has_own_policy: false,
        }
    }

    /// A report, a comparison or a history: it carries the hashes of what it runs.
    pub(crate) fn document(html: String) -> Self {
        Self {
            has_own_policy: true,
            ..Self::page(html)
        }
    }

    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let policy = match self.has_own_policy {
            true => POLICY_AROUND,
            false => POLICY.as_str(),
        };
        let fields = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CONTENT_SECURITY_POLICY, policy),
        ];
        (self.status, fields, self.html).into_response()
    }
}

/// Fields that every answer has. Without a referrer policy of this kind a form would have no origin.
pub(crate) fn guard_answer(mut answer: Response) -> Response {
    let fields: [(HeaderName, &'static str); 5] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fields {
        let headers = answer.headers_mut();
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// The page after something was done.
pub(crate) fn see_other(address: &str) -> Response {
    // Addresses are made here, of encoded parts.
    let location = HeaderValue::from_str(address).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    status: StatusCode,
    title: &'static str,
    why: String,
}

impl Problem {
    pub(crate) fn not_found(why: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not there", why)
    }

    pub(crate) fn refusal(why: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Refused", why)
    }

    pub(crate) fn mistake(why: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Not understood", why)
    }

    pub(crate) fn conflict(why: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "Not now", why)
    }

    /// What was asked for is there, and cannot be shown.
    pub(crate) fn unreadable(why: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Cannot be shown", why)
    }

    pub(crate) fn broken(why: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Failed", why)
    }

    fn new(status: StatusCode, title: &'static str, why: impl Into<String>) -> Self {
        Self {
            status,
            title,
            why: why.into(),
        }
    }
}

impl Problem {
    /// Of an answer that has none: what was asked for was refused before any page was.
    fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::METHOD_NOT_ALLOWED => {
                Self::new(status, "Refused", "this page is not asked for in this way")
            }
            _ => Self::new(status, "Not understood", "expected the address of a page"),
        }
    }

    /// The page of the problem; `may_run`: runs can be started from here.
    pub(crate) fn page(&self, may_run: bool) -> Response {
        let page = problem::problem(self.title, &self.why, may_run);
        Reply::page(page).with_status(self.status).into_response()
    }
}

/// Without a page, which [`problem_page`] makes of it: it is like the others of this server.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut answer = self.status.into_response();
        answer.extensions_mut().insert(self);
        answer
    }
}

/// The page of the problem that an answer has, else the answer.
pub(crate) fn problem_page(mut answer: Response, may_run: bool) -> Response {
    let has_page = answer
        .headers()
        .contains_key(header::CONTENT_SECURITY_POLICY);
    let is_refused = answer.status().is_client_error() && !has_page;
    match answer.extensions_mut().remove::<Problem>() {
        Some(problem) => problem.page(may_run),
        None if is_refused => {
            let mut page = Problem::of_status(answer.status()).page(may_run);
            // The methods by which it is asked for.
            let allowed = answer.headers_mut().remove(header::ALLOW);
            allowed.and_then(|methods| page.headers_mut().insert(header::ALLOW, methods));
            page
        }
        None => answer,
    }
}

//! Why a call of the API failed, in sentences that name the verb, the resource and the namespace.

use std::{fmt, time::Duration};

use super::kind::Verb;
use crate::rights::rbac_options;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// 401: the API does not know who asks.
    #[error(
        "{what}: the API server does not accept the credentials ({message}); log in again, or choose another context"
    )]
    Unauthorized { what: Target, message: String },
    /// 403 by a missing right.
    #[error(
        "{what}: not allowed, the verb \"{}\" for \"{}\" is missing ({message}); `waggle cluster rbac{}` prints the rights that \
         waggle needs",
        what.verb, what.resource, rbac_options(what)
    )]
    Forbidden { what: Target, message: String },
    /// 403 by a rule about the content of an object: a quota, limits, the security of pods, a webhook.
    #[error("{what}: the cluster does not admit it: {message}")]
    NotAdmitted { what: Target, message: String },
    /// 404.
    #[error("{what}: it is not there ({message})")]
    NotFound { what: Target, message: String },
    /// 409: it is there already, or it is another one than expected. `retried`: an earlier attempt may have made it.
    #[error("{what}: {message}")]
    Conflict {
        what: Target,
        message: String,
        retried: bool,
    },
    /// Any other status.
    #[error("{what}: the API server answers {code}: {message}")]
    Refused {
        what: Target,
        code: u16,
        message: String,
    },
    /// No answer, whatever was tried.
    #[error("{what}: no answer after {attempts} attempts: {why}")]
    Unreachable {
        what: Target,
        attempts: u32,
        why: String,
    },
    /// The answer is not what the API documents.
    #[error("{what}: its answer cannot be read: {why}")]
    Unreadable { what: Target, why: String },
    /// New credentials could not be had.
    #[error("{what}: {why}")]
    Credentials { what: Target, why: String },
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub verb: Verb,
    /// With its subresource: `pods/log`.
    pub resource: String,
    pub namespace: Option<String>,
    pub name: Option<String>,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}", self.verb, self.resource)?;
        if let Some(name) = &self.name {
            write!(f, " {name}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

impl ApiError {
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// A right is missing, which no time changes.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Forbidden { .. })
    }

    /// Nobody knows whether the API did what was asked.
    pub(crate) fn is_uncertain(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Unreadable { .. } => true,
            Self::Refused { code, .. } => *code >= 500,
            Self::Conflict { retried, .. } => *retried,
            _ => false,
        }
    }
}

/// An answer that is an error of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub code: u16,
    pub message: String,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// The error of a call that is not repeated.
    pub(crate) fn into_error(self, what: Target, attempts: u32) -> ApiError {
        let Self { code, message, .. } = self;
        match code {
            401 => ApiError::Unauthorized { what, message },
            403 if is_missing_right(&message) => ApiError::Forbidden { what, message },
            403 => ApiError::NotAdmitted { what, message },
            404 => ApiError::NotFound { what, message },
            409 => ApiError::Conflict {
                what,
                message,
                retried: attempts > 1,
            },
            _ => ApiError::Refused {
                what,
                code,
                message,
            },
        }
    }
}

/// The API's authorizer names the user and the verb: `pods is forbidden: User "x" cannot list resource "pods" in API group ""`. For
/// programs in pods it gives no reason at all.
fn is_missing_right(message: &str) -> bool {
    let names_verb = message.contains(" cannot ") && message.contains("User \"");
    names_verb || message.trim_end().ends_with(" is forbidden:")
}

impl ApiError {
    /// Of an answer that `kube` has read.
    pub(crate) fn from_status(status: &kube::core::Status, what: Target) -> Self {
        let failure = Failure {
            code: status.code,
            message: status.message.clone(),
            retry_after: None,
        };
        failure.into_error(what, 1)
    }
}

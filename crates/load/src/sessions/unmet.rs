//! The check or capture that an answer failed, and what the answer had there.

use super::program::{ConditionProgram, RequestProgram};
use crate::{
    failure::Failure,
    scenario::mismatch::{Expected, Mismatch},
};

/// The longest kept value. A secret within it is removed later, which needs all of the secret, so this is more than a header's
/// value from outside may have (16 KiB).
const FOUND_MAX_BYTES: usize = 64 * 1024;

/// The first check or capture of a request that its answer failed, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unmet {
    Check(usize),
    Capture(usize),
}

impl From<Unmet> for Failure {
    fn from(unmet: Unmet) -> Self {
        match unmet {
            Unmet::Check(_) => Self::CheckFailed,
            Unmet::Capture(_) => Self::NotCaptured,
        }
    }
}

impl Unmet {
    /// What the answer lacked. `compared` is the filled-in text that the check compares with.
    pub(crate) fn mismatch(
        self,
        request: &RequestProgram,
        content: Option<&[u8]>,
        compared: &[u8],
    ) -> Mismatch {
        let compared = || text(compared);
        let (subject, expected) = match self {
            Self::Check(index) => {
                let check = &request.checks[index];
                let expected = match &check.holds {
                    ConditionProgram::Exists => Expected::Value,
                    ConditionProgram::Equals(_) => Expected::Equal(compared()),
                    ConditionProgram::Contains(_) => Expected::Containing(compared()),
                    ConditionProgram::Matches(pattern) => {
                        Expected::Match(pattern.0.as_str().to_owned())
                    }
                };
                (check.of.to_string(), expected)
            }
            Self::Capture(index) => {
                let capture = &request.captures[index];
                let expected = match capture.is_link {
                    true => Expected::Link,
                    false => Expected::Value,
                };
                (capture.from.to_string(), expected)
            }
        };
        Mismatch {
            step: request.step,
            is_capture: matches!(self, Self::Capture(_)),
            subject,
            expected,
            found: content.map(text),
            rows: Vec::new(),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(FOUND_MAX_BYTES)]).into_owned()
}

//! Which answers are successes, and think times: used by prepared requests and by scenarios.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long a user waits between an answer and the next request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum ThinkTime {
    Fixed(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
    Uniform {
        from: Duration,
        to: Duration,
    },
}

/// Which answers count as success.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// Status codes; empty: any 2xx.
    pub status: Vec<u16>,
    pub body: BodyCheck,
}

/// Most texts that a body is searched for; more are ignored.
pub const MAX_BODY_TEXTS: usize = 8;

/// Condition on the body of a successful answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BodyCheck {
    #[default]
    Any,
    Equals(Vec<u8>),
    /// It contains all of these, at most [`MAX_BODY_TEXTS`].
    Contains(Vec<Vec<u8>>),
}

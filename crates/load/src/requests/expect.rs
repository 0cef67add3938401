//! Which answers are successes, and think times: used by prepared requests and by scenarios.

use serde::{Deserialize, Serialize};

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

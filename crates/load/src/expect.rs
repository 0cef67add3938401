//! Which answers are right, and how long a user waits before the next request: what requests and scenarios are both told.

use std::time::Duration;

/// How long a user waits between an answer and the next request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Think {
    Fixed(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
    Uniform {
        from: Duration,
        to: Duration,
    },
}

/// Which answers count as success.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expect {
    /// Status codes; empty: any 2xx.
    pub status: Vec<u16>,
    pub body: BodyCheck,
}

/// Most texts that a body is searched for; any more are not looked for.
pub const MAX_BODY_TEXTS: usize = 8;

/// What the body of a good answer must be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum BodyCheck {
    #[default]
    Any,
    Equals(Vec<u8>),
    /// Every one of these, at most [`MAX_BODY_TEXTS`], is a part of it.
    Contains(Vec<Vec<u8>>),
}

//! Work beside the connection, and bodies of answers that are not sent.

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use tokio::task::AbortHandle;

use crate::{
    call::Answered,
    calls::{AnswerMemory, RestOfPage},
};

/// Work that is going on.
pub(super) struct Beside {
    pub(super) stream: u32,
    pub(super) handle: AbortHandle,
    /// It only reads, so that nobody needs it if its client has left.
    pub(super) is_read: bool,
}

/// What is done beside the connection for one of its streams.
pub(super) enum Work {
    Answered(u32, Box<Answered>),
    /// The next part of an answer; `None` if it cannot be read.
    Part(u32, Option<Part>),
}

pub(super) struct Part {
    pub(super) body: Vec<u8>,
    pub(super) memory: Arc<AnswerMemory>,
    pub(super) rest: Box<RestOfPage>,
}

/// A body of which a part is not sent.
pub(super) struct Sending {
    pub(super) stream: u32,
    pub(super) body: Bytes,
    /// Counts the body.
    pub(super) held: Option<Arc<AnswerMemory>>,
    pub(super) rest: Rest,
    /// When a window last let something go, if it lets nothing go.
    pub(super) stalled_since: Option<Instant>,
}

/// What follows the part in hand.
pub(super) enum Rest {
    Nothing,
    Unread(Box<RestOfPage>),
    /// It is being read.
    Reading,
}

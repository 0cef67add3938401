//! A request in flight: when it was due and sent, and its number.

use crate::recording::recorder::Instants;

/// A request that was sent and whose answer is not complete yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) due: u64,
    pub(crate) sent: u64,
    /// Its number in the request outcomes.
    pub(crate) index: u64,
    /// The number of its session on the connection; 0 over HTTP/1.1, which has one there.
    pub(crate) lane: u32,
    pub(crate) is_head: bool,
}

impl Flight {
    #[inline]
    pub(crate) fn instants_until(&self, done: u64) -> Instants {
        Instants {
            due: self.due,
            sent: self.sent,
            done,
        }
    }
}

//! The stamps of the records that a worker's requests carry: keys and times that no other request has.

use super::program::RequestProgram;
use crate::{account::NO_RECORD, key_of, share::Share, writer::unique_time};

/// What a request and its record are known by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// 0 where the request carries none.
    pub(crate) key: u64,
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
}

/// Stamps the requests of one worker. Records are numbered without gaps, so that a place that is read by time knows from
/// the keys that came what is still missing.
#[derive(Debug)]
pub(crate) struct Records {
    worker: usize,
    workers: u64,
    next: u64,
    last_time: u64,
}

impl Records {
    pub(crate) fn new(share: &Share) -> Self {
        Self {
            worker: share.worker,
            workers: share.workers as u64,
            next: 0,
            last_time: 0,
        }
    }

    /// The number in the account and the stamps of a request that is sent at `unix`, in nanoseconds since 1970.
    pub(crate) fn stamp(&mut self, request: &RequestProgram, unix: u64) -> (u64, Record) {
        self.last_time = unique_time(self.last_time, unix, self.worker, self.workers);
        let time = self.last_time;
        if !request.carries_record {
            return (NO_RECORD, Record { key: 0, time });
        }
        let index = self.next;
        self.next += 1;
        let key = key_of(self.worker, index);
        (index, Record { key, time })
    }
}

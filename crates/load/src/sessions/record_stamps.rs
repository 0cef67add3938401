//! Stamps of the records in a worker's requests: unique keys and times.

use super::program::RequestProgram;
use crate::{
    job::partition::Partition,
    recording::request_outcomes::NO_RECORD,
    requests::{prepared::key_of, writer::unique_time},
};

/// The stamps of a request and its record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// 0 if the request carries none.
    pub(crate) key: u64,
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
}

/// Stamps the requests of one worker. Records are numbered without gaps, so that a probe that queries by time knows from the
/// received keys which ones are missing.
#[derive(Debug)]
pub(crate) struct Records {
    worker: usize,
    workers: u64,
    next: u64,
    last_time: u64,
}

impl Records {
    pub(crate) fn new(partition: &Partition) -> Self {
        Self {
            worker: partition.worker,
            workers: partition.workers as u64,
            next: 0,
            last_time: 0,
        }
    }

    /// The number in the request outcomes and the stamps of a request that is sent at `unix`, in nanoseconds since 1970.
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

//! When a record's request fell due, from the record's key.

use waggle_load::{DueTimes, worker_and_sequence};

/// The due instants of the records of an open load.
#[derive(Debug, Clone)]
pub(crate) struct DueInstants {
    times: DueTimes,
    start_unix_ns: u64,
    records_per_request: u64,
}

impl DueInstants {
    /// Of a load that started then; each request carries this many records.
    pub(crate) fn new(times: DueTimes, start_unix_ns: u64, records_per_request: u32) -> Self {
        Self {
            times,
            start_unix_ns,
            records_per_request: u64::from(records_per_request).max(1),
        }
    }

    /// In nanoseconds since 1970; `None` if it is no key of this load.
    pub(crate) fn due_unix_ns(&mut self, key: u64) -> Option<u64> {
        let (worker, sequence) = worker_and_sequence(key)?;
        let request = sequence / self.records_per_request;
        // After the end of its schedule nothing falls due.
        self.start_unix_ns
            .checked_add(self.times.due_ns(worker, request)?)
    }
}

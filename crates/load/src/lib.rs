//! The HTTP load engine: a job in, measured intervals and counts out.
//!
//! Knows no study, no file and no terminal. Five parts and one joint: *when* (schedule), *what* (prepared
//! requests), *how* (connection), *until when* (stop), *where it is noted* (recorder). The worker joins them.

mod account;
mod job;
mod outcome;

pub use account::{Account, State};
pub use job::{
    Arrivals, BodyCheck, Expect, Job, Limits, Model, Prepared, Slot, Stamp, Target, Think, KEY_DIGITS, TIME_DIGITS,
    key_of, worker_and_sequence,
};
pub use outcome::{Counts, Failure, Failures, Interval, Outcome};

// The calls other crates rely on, in `engine.rs`:
//
// pub fn start(job: Job) -> Result<Running, StartError>   spawns one thread per worker and a merger
// impl Running {
//     pub fn next_interval(&self, wait: Duration) -> Option<Interval>   merged, in order; None: none within `wait`
//     pub fn has_ended(&self) -> bool          all workers done and every interval handed out
//     pub fn stop(&self)                       no new requests; answers in flight are awaited (Limits::finish)
//     pub fn stop_handle(&self) -> Stop        a clonable handle that does the same from elsewhere
//     pub fn join(self) -> Outcome
// }

//! The run folder from outside: written, crashed, damaged, read again, and read by HdrHistogram's own tool.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends where something it needs fails"
)]

mod crash;
mod damage;
mod disturbed;
mod golden;
mod java;
mod lock;
mod on_the_way;
mod round_trip;
mod sample;

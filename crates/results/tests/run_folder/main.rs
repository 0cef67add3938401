//! The run folder from outside: written, crashed, damaged, read again, and read by HdrHistogram's own tool.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends if something it needs fails"
)]

mod crash;
mod damage;
mod faults;
mod golden;
mod intermediate_probes;
mod java;
mod left_out;
mod lock;
mod numbers;
mod round_trip;
mod sample;

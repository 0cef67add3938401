//! Scenarios: what sessions send, how they fail, which records they carry and what they keep.

mod failures;
mod over_http2;
mod preparation;
mod records;
mod scenarios;
mod walks;

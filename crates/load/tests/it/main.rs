//! The load engine from outside: jobs against servers that do as a test asks.

#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

mod calibrate;
mod clients;
mod counts;
mod cuts;
mod generators;
mod limits;
mod machine;
mod protocol;
mod replace;
mod running;
mod sessions;
mod stamps;
mod starved;
mod times;

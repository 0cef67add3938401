//! The load engine from outside: jobs against servers that do as a test asks.

#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

mod answers;
mod calibrate;
mod clients;
mod counts;
mod cuts;
mod foreign;
mod generators;
mod http2;
mod idle;
mod inspection;
mod limits;
mod machine;
mod preparation;
mod replace;
mod resend;
mod running;
mod scenario_failures;
mod scenario_records;
mod scenarios;
mod stamps;
mod starved;
mod times;
mod tls;
mod walks;

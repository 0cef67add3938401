//! What every server of ours needs and none of them is about: log lines, pages of metrics, the operators'
//! listener, signals and exit codes. It knows no record, no protocol of a client and no other server.

pub mod log;
pub mod metrics;
pub mod operators;
pub mod program;

//! Scenarios that run: sessions of several requests, with variables, cookies, pauses and loops.
//!
//! `compile` turns a scenario into a `program`, in which every name is a number. `worker_sessions` runs it, one `session` per
//! connection, with rows from `feeds`; `request_text` writes requests, `record_stamps` stamps them, `answer_checks` and `cookies`
//! read answers, `link_path` their links. Sockets, clocks and histograms belong to the worker.

pub(crate) mod answer_checks;
pub(crate) mod compile;
pub(crate) mod cookies;
mod feeds;
mod link_path;
pub(crate) mod pauses;
pub(crate) mod program;
mod record_stamps;
mod request_text;
mod retry_pause;
pub(crate) mod session;
mod unmet;
pub(crate) mod worker_sessions;

//! Scenarios: sessions of several requests, with variables, cookies, pauses and loops.
//!
//! `model` has the parts of a scenario and `template` texts with variables; `compile` turns both into a `program`, in which every
//! name is a number. `sessions` runs it, one `session` per connection, with rows from `feeds`; `text` writes requests, `record`
//! stamps them, `inspect` and `cookies` read answers, `link` their links. Sockets, clocks and histograms belong to the worker.

mod compile;
mod cookies;
mod decimal;
mod escape;
mod feeds;
mod inspect;
mod kept;
mod link;
mod mismatch;
mod model;
mod program;
mod record;
mod retry;
mod rows;
mod session;
mod sessions;
mod template;
mod text;
mod unmet;
mod zipf;

pub use compile::ScenarioError;
pub use cookies::Jar;
pub use escape::Escape;
pub use kept::KeptRows;
pub use mismatch::{Expected, Mismatch};
pub use model::{
    Action, Capture, Check, Condition, Extractor, Feed, FeedOrder, Flow, OnFailure, Pattern,
    Preparation, Query, Repeat, Retries, Rounds, Scenario, StepRequest, Subject, SyntaxError,
    WhileCaptured,
};
pub use rows::{FeedRow, GeneratedRows, RowValue, Rows};
pub use template::{Filled, Template, TemplateError, Value};
pub use zipf::Zipf;

pub(crate) use compile::compile;
pub(crate) use inspect::headers;
pub(crate) use kept::{Kept, merge_kept};
pub(crate) use mismatch::merge as merge_mismatches;
pub(crate) use program::Program;
pub(crate) use sessions::{Sessions, Whole};

//! Scenarios: sessions of several requests, with variables, cookies, pauses and loops.
//!
//! `model` is what a scenario is made of and `template` a text with variables; `compile` turns both into a `program`, in
//! which every name is a number. `sessions` runs it, one `session` for each connection, with what `feeds` hands out; `text`
//! writes requests, `record` stamps them, `inspect` and `cookies` look at answers, `link` at what they lead to. Sockets, clocks and histograms are the worker's.

mod compile;
mod cookies;
mod escape;
mod feeds;
mod inspect;
mod link;
mod model;
mod program;
mod record;
mod session;
mod sessions;
mod template;
mod text;

pub use compile::ScenarioError;
pub use cookies::Jar;
pub use escape::Place;
pub use model::{
    Action, Capture, Check, Condition, Feed, FeedOrder, Flow, OnFailure, Pattern, Query, Repeat,
    Scenario, Source, StepRequest, Subject, SyntaxError,
};
pub use template::{Filled, Template, TemplateError, Value};

pub(crate) use sessions::{Sessions, Whole};

//! Scenarios: sessions of several requests, with variables, cookies, pauses and loops.
//!
//! `model` is what a scenario is made of, `template` texts with variables in them.

mod model;
mod template;

pub use model::{
    Action, Capture, Check, Condition, Feed, FeedOrder, Flow, OnFailure, Pattern, Query, Repeat,
    Scenario, Source, StepRequest, Subject, SyntaxError,
};
pub use template::{Template, TemplateError};

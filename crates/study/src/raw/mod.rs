//! The files as they are written: types that mirror them key by key and mean nothing yet. The published JSON Schema
//! is made from these types, doc comments included, and the same schema finds what is wrong with a file's shape;
//! so every key is an `Option` here, also the required ones: what is missing or wrong was reported by then.

mod load;
mod method;
mod probe;
mod provision;
mod scalar;
mod scenario;
mod schedule;
mod study;
mod system;
mod system_metric;

pub(crate) use load::{
    Arrivals, Expect, Load, LoadStage, Model, Protocol, Records, RecordsFormat, Request,
};
pub(crate) use method::Method;
pub(crate) use probe::{Extract, Probe, ValueAt};
pub(crate) use provision::{Arguments, Artifact, Conditions, Levels, SetupStep};
pub(crate) use scalar::{
    LoadLevel, Measured, Name, OneOrSeveral, Rate, Repeat, Share, Size, Span, Status, Think,
    WarmUp, Width, parse_width,
};
pub(crate) use scenario::{
    Captures, Check, CheckPart, Feed, FeedOrder, FeedRows, Flow, OnFailure, Scenario, Step,
};
pub(crate) use schedule::{
    MeasuredRequests, Order, RampUp, Recovery, RepeatUntil, Restart, Schedule, StopWhen,
    WarmUpUntil,
};
pub(crate) use study::{
    Delivery, Fault, Maximize, Reference, ReferenceColumn, Search, Study, UseSystem,
};
pub(crate) use system::{
    Component, Endpoint, Parameter, Process, ReadyCheck, Replicas, System, Verify, VerifyCapture,
};
pub(crate) use system_metric::{ConsumerLag, SystemMetric};

//! The HTTP load engine: a job in, measured intervals and counts out.
//!
//! Knows no study, no file and no terminal. Five parts and one joint: *when* (schedule), *what* (prepared requests, or
//! sessions of a scenario), *how* (connection, layers), *until when* (stop), *where it is noted* (recorder). The worker
//! joins them.
//!
//! A request is never sent twice: where a connection ends with answers missing, or the server says
//! `Connection: close` while more was in the pipeline, what was not answered counts as reset and its fate as unknown.

mod account;
mod calibrate;
mod chance;
mod check;
mod chunked;
mod clock;
mod connection;
mod course;
mod engine;
mod expect;
mod flight;
mod head;
mod http2;
mod job;
mod judge;
mod layers;
mod merge;
mod null_server;
mod outcome;
mod pace;
mod prepared;
mod presence;
pub mod reader;
mod recorder;
mod scenario;
mod schedule;
mod share;
mod shared;
mod thread_time;
mod time_slice;
mod tls;
mod transport;
mod uuid;
mod worker;
mod writer;

pub use account::{Account, State};
pub use calibrate::{CalibrationError, Capacity, calibrate};
pub use check::StartError;
pub use engine::{Running, Stop, start};
pub use expect::{BodyCheck, Expect, MAX_BODY_TEXTS, Think};
pub use head::{Heads, ReadLimits};
pub use http2::RequestError;
pub use job::{Arrivals, Job, Limits, Model, Rate, Stage, Target, UserStage, What};
pub use null_server::{NullServer, Stall};
pub use outcome::{
    Counts, Failure, Failures, HandshakeFailure, Interval, Outcome, SessionCounts, StepCounts,
    StepInterval,
};
pub use prepared::{
    KEY_DIGITS, Prepared, Slot, Stamp, TIME_DIGITS, UUID_LENGTH, key_of, worker_and_sequence,
};
pub use scenario::{
    Action, Capture, Check, Condition, Feed, FeedOrder, Filled, Flow, Jar, OnFailure, Pattern,
    Place, Query, Repeat, Scenario, ScenarioError, Source, StepRequest, Subject, SyntaxError,
    Template, TemplateError, Value,
};
pub use tls::{Roots, Tls, TlsError, TlsOptions};
pub use transport::{Protocol, Transport};

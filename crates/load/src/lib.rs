//! The HTTP load engine: a job in, measured intervals and counts out.
//!
//! Knows no study, no file and no terminal. Five parts and one joint: *when* (schedule), *what* (prepared requests, or sessions
//! of a scenario), *how* (connection, protocol stack), *until when* (stop), *where it is recorded* (recorder). The worker joins
//! them.
//!
//! One job may be run by several generators, wherever they are (`generators`): each runs the share of its workers, and what they
//! send back is merged as the parts of workers are.
//!
//! A request is never sent twice: if a connection ends with answers missing, or the server says `Connection: close` while more
//! was in the pipeline, unanswered requests count as reset and their outcome as unknown.

mod answer_matcher;
mod calibrate;
mod chunked;
mod clients;
mod clock;
mod connection;
mod due_times;
mod engine;
mod examples;
mod expect;
mod failure;
mod flight;
mod generators;
mod head;
mod histogram;
mod http2;
mod inspection;
mod job;
mod merge;
mod null_server;
mod outcome;
mod pacer;
mod partition;
mod prepared;
mod protocol_stack;
mod random;
mod rate_profile;
pub mod reader;
mod recorder;
mod replacement;
mod request_outcomes;
mod scenario;
mod schedule;
mod shared;
mod source_address;
mod thread_time;
mod time_slice;
mod tls;
mod transport;
mod user_stages;
mod uuid;
mod validate;
mod worker;
mod writer;

pub use calibrate::{CalibrationError, Capacity, calibrate};
pub use due_times::DueTimes;
pub use engine::{Running, Stop, reserve_files, start};
pub use examples::one_line;
pub use expect::{BodyCheck, Expect, MAX_BODY_TEXTS, ThinkTime};
pub use failure::{Failure, Failures, HandshakeFailure, InspectionFailure};
pub use generators::{
    Generators, GeneratorsError, Link, ReplaceInGenerators, ServeError, Share, StopGenerators,
    serve, shares,
};
pub use head::{Heads, ReadLimits};
pub use http2::RequestError;
pub use inspection::Inspect;
pub use job::{Arrivals, Job, Limits, Model, OnSocketError, Rate, Stage, Target, UserStage, What};
pub use null_server::{NullServer, Stall};
pub use outcome::{
    ClientEnd, ClientOutcome, Counts, Example, GeneratorInterval, InspectedCounts, Interval,
    Outcome, SessionCounts, StepCounts, StepInterval,
};
pub use prepared::{
    KEY_DIGITS, Prepared, Slot, Stamp, TIME_DIGITS, UUID_LENGTH, key_of, worker_and_sequence,
};
pub use replacement::{Replace, ReplaceError};
pub use request_outcomes::{RequestOutcome, RequestOutcomes};
pub use scenario::{
    Action, Capture, Check, Condition, Escape, Expected, Extractor, Feed, FeedOrder, FeedRow,
    Filled, Flow, GeneratedRows, Jar, KeptRows, Mismatch, OnFailure, Pattern, Preparation, Query,
    Repeat, Retries, Rounds, RowValue, Rows, Scenario, ScenarioError, StepRequest, Subject,
    SyntaxError, Template, TemplateError, Value, WhileCaptured, Zipf,
};
pub use tls::{Roots, Tls, TlsError, TlsOptions};
pub use transport::{Protocol, Transport};
pub use validate::StartError;

//! The HTTP load engine: a job in, measured intervals and counts out.
//!
//! Knows no study, no file and no terminal. Five parts and one joint: *when* (`pacing`), *what* (`requests`, or `sessions` of a
//! `scenario`), *how* (`protocol` above `transport`), *until when* (`control`), *where it is recorded* (`recording`). The `worker`
//! joins them, and `engine` starts the workers of a `job`. A module imports only from those that come before it in this order:
//! `machine`, `random`, `failure`, `transport`, `requests`, `scenario`, `inspection`, `job`, `recording`, `protocol`, `pacing`,
//! `sessions`, `control`, `worker`, `engine`, `generators`, `calibration`.
//!
//! One job may be run by several generators, wherever they are (`generators`): each runs the share of its workers, and what they
//! send back is merged as the parts of workers are.
//!
//! A request is sent again only if the server says that it has not processed it: it closes the connection with an answer before (RFC
//! 9112, section 9.6), or names a stream below in GOAWAY (RFC 9113, section 6.8). If a connection ends otherwise with answers missing,
//! they count as reset and their outcome as unknown.

mod calibration;
mod control;
mod engine;
mod failure;
mod generators;
mod inspection;
mod job;
mod machine;
mod pacing;
mod protocol;
mod random;
mod recording;
mod requests;
mod scenario;
mod sessions;
mod transport;
mod worker;

pub use calibration::{
    calibrate::{CalibrationError, Capacity, calibrate},
    null_server::{NullServer, Stall},
};
pub use control::{
    replacement::{Replace, ReplaceError},
    validate::StartError,
};
pub use engine::{Running, Stop, reserve_files, start};
pub use failure::{Failure, Failures, HandshakeFailure, InspectionFailure};
pub use generators::{
    collect::{Generators, StopGenerators},
    link::{GeneratorsError, Link, NthGenerator},
    replacement::ReplaceInGenerators,
    serve::{ServeError, serve},
};
pub use inspection::Inspect;
pub use job::{
    Job, Limits, Target, What,
    share::{Share, shares},
};
pub use pacing::past_due_times::DueTimes;
pub use random::zipf::Zipf;
pub use recording::{
    examples::one_line,
    histogram::{add_times, empty_times},
    outcome::{
        ClientEnd, ClientOutcome, Counts, Example, GeneratorInterval, InspectedCounts, Interval,
        Outcome, SessionCounts, StepCounts, StepInterval,
    },
    request_outcomes::{RequestOutcome, RequestOutcomes},
};
pub use requests::{
    expect::{BodyCheck, Expect, MAX_BODY_TEXTS},
    head_block::RequestError,
    prepared::{
        KEY_DIGITS, Prepared, Slot, Stamp, TIME_DIGITS, UUID_LENGTH, key_of, worker_and_sequence,
    },
};
pub use scenario::{
    escape::Escape,
    kept::KeptRows,
    mismatch::{Expected, Mismatch},
    model::{
        Action, Capture, Check, Condition, Extractor, Feed, Flow, Pattern, Preparation, Query,
        Repeat, Retries, Rounds, Scenario, StepRequest, Subject, SyntaxError, WhileCaptured,
    },
    rows::{FeedRow, Rows},
    template::{Filled, Template, TemplateError, UnknownVariable, Value},
};
pub use sessions::{compile::ScenarioError, cookies::Jar};
pub use transport::{
    settings::Transport,
    tls::{Roots, Tls, TlsError, TlsOptions},
};

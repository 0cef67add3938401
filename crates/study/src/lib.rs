//! Study file → checked study → plan of trials. Pure: text in, plan out; reads no file, starts nothing.

mod cells;
mod check;
mod de;
mod fill;
mod mistake;
mod nearest;
mod plan;
mod raw;
mod read;
mod schema;
mod settings;
mod shuffle;
mod system;
mod tree;
pub mod units;
mod uses;
mod walk;

pub use check::{MIN_STEADY_INTERVALS, read_threshold};
pub use mistake::{Mistake, Mistakes, Source};
pub use plan::{Level, Plan, PlannedTrial, plan};
pub use read::{read_study, read_system, system_name, unknown_system};
pub use schema::{study_schema, system_schema};
pub use settings::{
    Arrivals, Body, BodyExpect, Cell, Delivery, Expect, LoadModel, Measure, Order, RecordsBody,
    RecordsFormat, Request, Schedule, Study, Think, Threshold, ThresholdOp, WarmUpUntil,
};
pub use system::{
    Check, CheckExpect, Component, Endpoint, Parameter, ParameterKind, Probe, ProcessDriver,
    ReadyCheck, System,
};

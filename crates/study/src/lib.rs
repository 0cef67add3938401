//! Study file → checked study → plan of trials. Pure: text in, plan out; reads no file, starts nothing.

mod plan;
mod settings;
mod system;

pub use plan::{Level, Plan, PlannedTrial};
pub use settings::{
    Arrivals, Body, BodyExpect, Cell, Delivery, Expect, LoadModel, Measure, Order, RecordsBody, RecordsFormat, Request, Schedule,
    Study, Think, Threshold, ThresholdOp, WarmUpUntil,
};
pub use system::{
    Check, CheckExpect, Component, Endpoint, Parameter, ParameterKind, Probe, ProcessDriver, ReadyCheck, System,
};

// The calls other crates rely on:
//
// /// The system a study names, so that the caller can find its file; Err: the mistakes in the text.
// pub fn system_name(study: &Source) -> Result<String, Mistakes>
// /// Checks a system file on its own.
// pub fn read_system(system: &Source) -> Result<System, Mistakes>
// /// Checks a study against its system. Every mistake is reported together.
// pub fn read_study(study: &Source, system: &System) -> Result<Study, Mistakes>
// /// The trials in the order of execution.
// pub fn plan(study: &Study) -> Plan
// /// JSON Schema of a study / system file.
// pub fn study_schema() -> serde_json::Value;  pub fn system_schema() -> serde_json::Value;
//
// pub struct Source { pub name: String /* as shown in messages */, pub text: String }
// pub struct Mistakes(pub Vec<Mistake>) with Display: `file:line:column: what; expected …; did you mean "…"?`,
// each with the line of the text and a caret under the place.

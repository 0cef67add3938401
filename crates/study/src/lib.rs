//! Study file → checked study → plan of trials. Pure: text in, plan out; reads no file, starts nothing.

mod at;
mod background;
mod cells;
mod check;
mod components;
mod configure;
mod cool_down;
mod de;
mod derived;
mod environment;
mod expect;
mod external;
mod feed_text;
mod fill;
mod formula;
mod growth;
mod identity;
mod include;
mod kubeconfig;
mod leave_out;
mod levels;
mod limits;
mod manifests;
mod mistake;
mod model;
mod nearest;
mod network;
mod oauth2;
mod origin;
mod parameters;
mod parts;
mod phases;
mod place;
mod plan;
mod pods;
mod port_tls;
mod prepare;
mod probe;
mod raw;
mod read;
mod records;
mod request;
mod request_texts;
mod reserved;
mod scenario;
mod schema;
mod sentinel;
mod shuffle;
mod sources;
mod substitute;
mod system;
mod system_metric;
mod tree;
mod uses;
mod validate;
mod version;
mod yaml;

pub use background::BackgroundLoad;
pub use check::read_threshold;
pub use components::{Arguments, Artifact, SetupStep, Undo, When};
pub use configure::PROGRAM_OVERRIDE;
pub use cool_down::{CoolDownBound, CoolDownUntil, Sensor};
pub use environment::{EnvironmentError, Part, Values, percent_encoded, xml_escaped};
pub use expect::{BodyExpect, Expect};
pub use external::{Address, Authorization, ExternalComponent, ExternalPort, Kubeconfig, Pem};
pub use limits::{LIMIT_CPUS, LimitTexts, Limits, MAX_LIMIT_MEMORY, MIN_LIMIT_MEMORY, NO_LIMIT};
pub use manifests::{
    Chart, FieldPath, FieldPathError, FieldStep, ManifestSource, Manifests, ObjectName, Patch,
    Workload,
};
pub use mistake::{Mistake, Mistakes, Problem, Source};
pub use model::{Cell, Delivery, Fault, FaultAction, HeaderLimits, Study, What};
pub use network::Network;
pub use oauth2::{Credential, Oauth2, TokenEndpoint};
pub use origin::{GivenSecret, Origin, TakenValue};
pub use parameters::parameter_levels;
pub use parts::{
    load::{
        MAX_CONNECTIONS, MAX_RATE_PER_S,
        agents::runner::{RunnerObjection, runner_objection},
    },
    request::{BODY_MAX_BYTES, MAX_BODY_TEXTS},
    schedule::{MAX_INTERVALS, MAX_PHASE, MIN_STEADY_INTERVALS, MIN_WARM_UP_INTERVALS},
    search::SEARCH_MAX_CONNECTIONS,
};
pub use phases::{Recovery, Schedule, StopBound, StopWhen};
pub use place::{Place, file_place, last_word, mark_place};
pub use plan::{Level, MAX_REPLACEMENTS, Plan, PlannedTrial, expected_duration, plan};
pub use port_tls::{Certificate, PortTls, Trust};
pub use prepare::{Preparation, PrepareLoad, Settle};
pub use probe::{
    Extract, JsonValue, Probe, ProbeKind, ProbeQuery, Watch, WatchBegin, WatchVersions,
};
pub use read::{
    Named, read_scenario, read_study, read_study_and_files, read_system, system_of, unknown_system,
};
pub use records::{RecordDecimal, RecordMeasurement, RecordTime, RecordsBody, Table};
pub use request::{Body, Inspect, Request, Texts};
pub use scenario::{
    Action, Capture, CheckPart, Condition, Extractor, Feed, FeedRows, FeedTable, Flow, KeptRows,
    Rounds, Scenario, Step, StepCheck, WhileCaptured,
};
pub use schema::{scenario_schema, study_schema, system_schema};
pub use sentinel::since_sentinel;
pub use sources::{Files, no_files};
pub use system::{
    Check, Component, Endpoint, External, ExternalTls, Parameter, ParameterKind, ProcessDriver,
    ReadyCheck, System,
};
pub use system_metric::{MetricSource, MetricUnit, Selector, SystemMetric};
pub use version::{CellVersion, Design, DuetCpus, Version, Versions};
/// Of the values of a [`SystemMetric`].
pub use waggle_metrics::Unit;
pub use waggle_units::nearest_word;
pub use yaml::{YamlError, YamlText};

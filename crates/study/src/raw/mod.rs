//! Types that mirror the files key by key, before their meaning is checked. The published JSON Schema is made from these types,
//! doc comments included; the same schema validates a file's shape. A required key may be missing here, too: a missing or wrong
//! key was reported by the validation.

mod background;
mod components;
mod manifests;
mod prepare;
mod scalar;
mod study;
mod system;
mod use_system;

pub(crate) use background::Background;
pub(crate) use components::{
    Arguments, Artifact, Conditions, Levels, SetupStep, Undo, VerifyCapture,
};
pub(crate) use manifests::{Helm, PatchedFields};
pub(crate) use prepare::{Prepare, PrepareLoad};
pub(crate) use scalar::{
    DurationText, LoadLevel, Name, OneOrSeveral, Rate, Share, Size, Status, Width, inline_schema,
    parse_width, scalar_or_mapping,
};
pub(crate) use study::Study;
pub(crate) use system::{
    Component, Endpoint, Parameter, PortTls, Process, ReadyCheck, Replicas, System, Verify,
    WrittenSecret,
};
pub(crate) use use_system::{ExternalPorts, Kubeconfig, UseSystem, external_names};

//! Scanners of texts with names: `${…}`, which is replaced before a trial, and `{{…}}`, which is replaced in each request. Pure;
//! the callers decide what a name means.

pub mod placeholder;
pub mod variable;

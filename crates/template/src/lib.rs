//! Texts with names in them, and the one scanner of each kind: `${…}`, which is replaced before a trial, and `{{…}}`, which is
//! replaced in each request. Pure; what a name stands for is the callers' business.

pub mod placeholder;
pub mod variable;

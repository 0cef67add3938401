//! What clients get: answers on the wire, formats of readings, and problems.

pub(crate) mod answer;
pub(crate) mod form;
pub(crate) mod problem;

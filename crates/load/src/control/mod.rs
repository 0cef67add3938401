//! Until when, and what may change: validation of a job before anything starts, the stop that workers share, and the replacement
//! of what they send.

pub(crate) mod replacement;
pub(crate) mod shared;
pub(crate) mod validate;

//! Each trial by itself.

mod facts;
mod logs;
pub(crate) mod section;

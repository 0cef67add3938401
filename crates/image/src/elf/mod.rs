//! Programs and shared libraries: what they need, and whether an image has it.

mod closure;
mod facts;
mod machine;

pub use closure::{LeftAlone, Libraries, complete_libraries};
pub(crate) use facts::{architecture, facts};

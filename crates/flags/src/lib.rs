//! Flags of the programs: their values, and the old names that an error explains. It knows no program and none of its flags.

mod renamed;
mod values;

pub use renamed::{RenamedFlag, parse, try_parse_from};
pub use values::{BoundsError, duration, duration_within, positive_duration, size};

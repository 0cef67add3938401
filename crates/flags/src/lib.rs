//! Flags of the programs: their values, the old names that an error explains, completions and man pages. It knows no program and none
//! of its flags.

mod documents;
mod renamed;
mod values;

pub use documents::{CompletionsArguments, ManArguments, ManError, completions, man_page};
pub use renamed::{RenamedFlag, parse, try_parse_from};
pub use values::{BoundsError, duration, duration_within, positive_duration, size};

//! Flags of the programs: their values, the old names that an error explains, their pages of the reference, completions and man
//! pages. It knows no program and none of its flags.

mod documents;
mod reference;
mod renamed;
mod values;

pub use documents::{CompletionsArguments, ManArguments, ManError, completions, man_page};
pub use reference::{ExitCode, exit_codes_help, exit_codes_table, flags_page, table_cell};
pub use renamed::{ForeignFlag, OtherNames, RenamedFlag, parse, try_parse_from};
pub use values::{BoundsError, duration, duration_within, positive_duration, size};

//! Flags of the programs: their values, those of other tools that an error explains, their pages of the reference, completions and man
//! pages. It knows no program and none of its flags.

mod documents;
mod foreign;
mod reference;
mod values;

pub use documents::{CompletionsArguments, ManArguments, ManError, completions, man_page};
pub use foreign::{ForeignFlag, parse, try_parse_from};
pub use reference::{ExitCode, exit_codes_help, exit_codes_table, flags_page, table_cell};
pub use values::{BoundsError, duration, duration_within, positive_duration, size};

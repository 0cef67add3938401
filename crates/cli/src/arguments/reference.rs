//! The reference of the flags and exit codes of `waggle`: `cargo xtask reference` writes it.

use clap::CommandFactory;
use waggle_flags::{exit_codes_table, flags_page};
use waggle_service::program;
use waggle_testkit::check_page;

use crate::{arguments::Arguments, process::exit};

const FLAGS: &str = "# Flags of `waggle`

Every command with its arguments and flags, as `--help` prints them; written from the code by `cargo xtask reference`.
[Exit codes](exit-codes.md) have a page of their own. What the flags are for: [`waggle load`](load.md),
[`waggle compare`](compare.md), [`waggle history`](history.md), [`waggle init`](init.md), [`waggle import`](import.md),
[`waggle system`](systems.md#waggle-system), [`waggle cluster`](cluster-rights.md), [`waggle mcp`](../how-to/assistants.md).
Every command has `-h` and `--help`;
`waggle --version` prints the version.
";

const EXIT_CODES: &str = "# Exit codes

Written from the code by `cargo xtask reference`.
";

#[test]
fn the_reference_of_flags_is_that_of_the_code() {
    let page = FLAGS.to_owned() + &flags_page(Arguments::command());
    check_page("reference/flags.md", &page);
}

#[test]
fn the_reference_of_exit_codes_is_that_of_the_code() {
    let sections = [
        ("`waggle`", &exit::OF_WAGGLE[..]),
        ("`waggle load`", &exit::OF_LOAD),
        (
            "`waggle compare`, and `waggle run` with a comparison",
            &exit::OF_COMPARE,
        ),
        ("`waggle history`", &exit::OF_HISTORY),
        ("`waggle-gateway` and `waggle-sink`", &program::EXIT_CODES),
    ];
    let mut page = EXIT_CODES.to_owned();
    for (title, codes) in sections {
        page += &format!("\n## {title}\n\n{}", exit_codes_table(codes));
    }
    check_page("reference/exit-codes.md", &page);
}

//! `waggle completions` and `waggle man`: what shells and `man` need to know of the command line.

use anyhow::Result;
use waggle_flags::{CompletionsArguments, ManArguments};

use crate::{arguments::Arguments, output, process::exit::Exit};

pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<Exit> {
    let script = waggle_flags::completions::<Arguments>("waggle", arguments.shell);
    output::print_result(&script)?;
    Ok(Exit::Fine)
}

pub(crate) fn man(arguments: &ManArguments) -> Result<Exit> {
    if let Some(page) = waggle_flags::man_page::<Arguments>(arguments)? {
        output::print_result(&page)?;
    }
    Ok(Exit::Fine)
}

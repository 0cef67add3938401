//! Flags of other tools: one is refused with an error that names ours.

use std::{ffi::OsString, path::Path};

use clap::{
    Command, Error, Parser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use waggle_units::nearest_word;

/// A flag of other tools, and ours for the same, each with its hyphens.
pub type ForeignFlag = (&'static str, &'static str);

/// The arguments of this process. Wrong arguments end it with an error on stderr, `--help` and `--version` with their text.
pub fn parse<P: Parser>(foreign: &[ForeignFlag]) -> P {
    try_parse_from(std::env::args_os(), foreign).unwrap_or_else(|error| error.exit())
}

/// The arguments of a program; the first one is the program's name.
///
/// # Errors
/// For wrong arguments. If one is a flag of other tools and the command has ours, the error says so: `--vus of other tools is --users here`.
pub fn try_parse_from<P: Parser>(
    arguments: impl IntoIterator<Item = impl Into<OsString>>,
    foreign: &[ForeignFlag],
) -> Result<P, Error> {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let mut error = match P::try_parse_from(&arguments) {
        Ok(parsed) => return Ok(parsed),
        Err(error) => error,
    };
    let program = P::command();
    let command = command(&program, &arguments);
    let hint = hint(&error, command, foreign).or_else(|| known_commands(&error, command));
    if let Some(hint) = hint {
        error.remove(ContextKind::SuggestedArg);
        let hint = ContextValue::StyledStrs(vec![hint.into()]);
        error.insert(ContextKind::Suggested, hint);
    }
    Err(error)
}

/// The subcommand that the arguments begin with, else the program itself.
fn command<'a>(program: &'a Command, arguments: &[OsString]) -> &'a Command {
    let mut command = program;
    for argument in arguments.iter().skip(1) {
        match command.find_subcommand(argument) {
            Some(subcommand) => command = subcommand,
            None => break,
        }
    }
    command
}

/// Our name of the unknown argument, or where it may come from.
fn hint(error: &Error, command: &Command, foreign: &[ForeignFlag]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if !unknown.starts_with('-') && Path::new(unknown).exists() {
        return Some(
            "a pattern of the shell, such as *, may stand for several arguments".to_owned(),
        );
    }
    let has = |flag: &str| {
        let mut arguments = command.get_arguments();
        arguments.any(|argument| argument.get_long() == flag.strip_prefix("--"))
    };
    let mut foreign = foreign.iter();
    let (flag, ours) = foreign.find(|(flag, ours)| flag == unknown && has(ours))?;
    Some(format!("{flag} of other tools is {ours} here"))
}

/// The nearest subcommand, or those that there are, if clap finds none that is like the unknown one.
fn known_commands(error: &Error, command: &Command) -> Option<String> {
    let is_like_one = error.get(ContextKind::SuggestedSubcommand).is_some();
    if error.kind() != ErrorKind::InvalidSubcommand || is_like_one {
        return None;
    }
    let shown = command
        .get_subcommands()
        .filter(|subcommand| !subcommand.is_hide_set());
    let names: Vec<&str> = shown.map(Command::get_name).collect();
    let unknown = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(unknown)) => unknown.as_str(),
        _ => "",
    };
    Some(match nearest_word(unknown, names.iter().copied()) {
        Some(name) => format!("a similar subcommand exists: '{name}'"),
        None => format!("expected {}", names.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Parser)]
    enum Program {
        Run {
            #[arg(long)]
            filter: Option<String>,
        },
        List {
            #[arg(long)]
            only: bool,
        },
        Show,
    }

    const FOREIGN: [ForeignFlag; 1] = [("--only", "--filter")];

    fn message(arguments: &[&str]) -> String {
        let arguments = ["program"].iter().chain(arguments);
        let program: Result<Program, Error> = try_parse_from(arguments, &FOREIGN);
        program.unwrap_err().to_string()
    }

    #[test]
    fn flag_of_other_tools_is_refused_with_ours() {
        let expected = "error: unexpected argument '--only' found\n\n  tip: --only of other tools is --filter here\n";
        for arguments in [&["run", "--only", "a"][..], &["run", "--only=a"]] {
            let message = message(arguments);
            assert!(message.starts_with(expected), "{message}");
            assert!(message.contains("Usage: program run"), "{message}");
        }
    }

    #[test]
    fn no_hint_if_the_command_lacks_our_flag() {
        for arguments in [&["show", "--only"][..], &["run", "--onl"]] {
            let message = message(arguments);
            assert!(!message.contains("of other tools"), "{message}");
        }
        let listed = try_parse_from(["program", "list", "--only"], &FOREIGN);
        assert!(matches!(listed, Ok(Program::List { only: true })));
    }

    #[test]
    fn one_argument_too_many_may_come_from_a_pattern() {
        let message = message(&["show", env!("CARGO_MANIFEST_DIR")]);
        assert!(message.contains("tip: a pattern of the shell"), "{message}");
    }

    #[test]
    fn unknown_command_names_the_known_ones() {
        let check = |unknown: &str, expected: &str| {
            let message = message(&[unknown]);
            assert!(message.contains(expected), "{message}");
        };
        check("frobnicate", "tip: expected run, list, show");
        check("rnu", "tip: a similar subcommand exists: 'run'");
    }
}

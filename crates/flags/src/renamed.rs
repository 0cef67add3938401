//! Flags by other names: one that was renamed, and one of another tool, is refused with an error that names ours.

use std::{ffi::OsString, path::Path};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error, Parser};
use waggle_units::nearest_word;

/// Old and new name of a flag, each with its hyphens.
pub type RenamedFlag = (&'static str, &'static str);

/// A flag of other tools, and ours for the same.
pub type ForeignFlag = (&'static str, &'static str);

/// The names by which flags are refused with a hint.
#[derive(Debug, Clone, Copy, Default)]
pub struct OtherNames<'a> {
    pub renamed: &'a [RenamedFlag],
    pub foreign: &'a [ForeignFlag],
}

impl<'a> From<&'a [RenamedFlag]> for OtherNames<'a> {
    fn from(renamed: &'a [RenamedFlag]) -> Self {
        Self {
            renamed,
            foreign: &[],
        }
    }
}

impl<'a, const N: usize> From<&'a [RenamedFlag; N]> for OtherNames<'a> {
    fn from(renamed: &'a [RenamedFlag; N]) -> Self {
        Self::from(&renamed[..])
    }
}

/// The arguments of this process. Wrong arguments end it with an error on stderr, `--help` and `--version` with their text.
pub fn parse<'a, P: Parser>(others: impl Into<OtherNames<'a>>) -> P {
    try_parse_from(std::env::args_os(), others).unwrap_or_else(|error| error.exit())
}

/// The arguments of a program; the first one is the program's name.
///
/// # Errors
/// For wrong arguments. If one is an old flag and the command has the new one, the error says so: `--only is now --filter`.
pub fn try_parse_from<'a, P: Parser>(
    arguments: impl IntoIterator<Item = impl Into<OsString>>,
    others: impl Into<OtherNames<'a>>,
) -> Result<P, Error> {
    let others = others.into();
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    P::try_parse_from(&arguments).map_err(|mut error| {
        let program = P::command();
        let command = command(&program, &arguments);
        let hint = hint(&error, command, others).or_else(|| known_commands(&error, command));
        if let Some(hint) = hint {
            error.remove(ContextKind::SuggestedArg);
            let hint = ContextValue::StyledStrs(vec![hint.into()]);
            error.insert(ContextKind::Suggested, hint);
        }
        error
    })
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

/// The new name of the unknown argument, or where it may come from.
fn hint(error: &Error, command: &Command, others: OtherNames<'_>) -> Option<String> {
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
    let mut renamed = others.renamed.iter();
    if let Some((old, new)) = renamed.find(|(old, new)| old == unknown && has(new)) {
        return Some(format!("{old} is now {new}"));
    }
    let mut foreign = others.foreign.iter();
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

    const RENAMED: [RenamedFlag; 1] = [("--only", "--filter")];

    fn message(arguments: &[&str]) -> String {
        let arguments = ["program"].iter().chain(arguments);
        let program: Result<Program, Error> = try_parse_from(arguments, &RENAMED);
        program.unwrap_err().to_string()
    }

    #[test]
    fn old_flag_is_refused_with_its_new_name() {
        let expected =
            "error: unexpected argument '--only' found\n\n  tip: --only is now --filter\n";
        for arguments in [&["run", "--only", "a"][..], &["run", "--only=a"]] {
            let message = message(arguments);
            assert!(message.starts_with(expected), "{message}");
            assert!(message.contains("Usage: program run"), "{message}");
        }
    }

    #[test]
    fn no_hint_if_the_command_lacks_the_new_flag() {
        for arguments in [&["show", "--only"][..], &["run", "--onl"]] {
            let message = message(arguments);
            assert!(!message.contains("is now"), "{message}");
        }
        let listed = try_parse_from(["program", "list", "--only"], &RENAMED);
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

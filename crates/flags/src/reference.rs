//! Flags and exit codes as Markdown, for the reference of the documentation.

use std::fmt::Write;

use clap::{Arg, ArgAction, Command};

/// An exit code and when a program ends with it.
pub type ExitCode = (u8, &'static str);

/// Exit codes as the end of the text that `--help` prints.
pub fn exit_codes_help(codes: &[ExitCode]) -> String {
    let lines = codes
        .iter()
        .map(|(code, meaning)| format!("\n  {code:>3}  {meaning}"));
    format!("Exit codes:{}", lines.collect::<String>())
}

/// Exit codes as the rows of a table.
pub fn exit_codes_table(codes: &[ExitCode]) -> String {
    let mut table = "| code | meaning |\n|---|---|\n".to_owned();
    for (code, meaning) in codes {
        let _ = writeln!(table, "| {code} | {} |", table_cell(meaning));
    }
    table
}

/// All visible commands of a program with their flags: a section for each, with one table of arguments and one for each heading of
/// the flags.
pub fn flags_page(mut program: Command) -> String {
    program.build();
    let mut page = String::new();
    write_command(&mut page, &mut program, "");
    page
}

fn write_command(page: &mut String, command: &mut Command, parent: &str) {
    let name = format!("{parent}{}", command.get_name());
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let _ = write!(page, "\n## `{name}`\n\n{}\n\n", sentence(&about));
    let is_group = command
        .get_subcommands()
        .any(|subcommand| !subcommand.is_hide_set());
    if is_group {
        page.push_str("| command | what it does |\n|---|---|\n");
        for subcommand in visible_commands(command) {
            let what = subcommand.get_about().map(ToString::to_string);
            let what = table_cell(&what.unwrap_or_default());
            let link = format!("{name}-{}", subcommand.get_name()).replace(' ', "-");
            let _ = writeln!(page, "| [`{}`](#{link}) | {what} |", subcommand.get_name());
        }
    } else {
        let _ = writeln!(page, "```text\n{usage}\n```");
        write_arguments(page, command);
    }
    for subcommand in command.get_subcommands_mut() {
        if !subcommand.is_hide_set() && subcommand.get_name() != "help" {
            write_command(page, subcommand, &format!("{name} "));
        }
    }
}

fn visible_commands(command: &Command) -> impl Iterator<Item = &Command> {
    let commands = command.get_subcommands();
    commands.filter(|subcommand| !subcommand.is_hide_set() && subcommand.get_name() != "help")
}

/// The table of arguments, then one of flags for each heading, in the order of the help.
fn write_arguments(page: &mut String, command: &Command) {
    let shown: Vec<&Arg> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set() && !is_built_in(argument))
        .collect();
    let (positional, flags): (Vec<&Arg>, Vec<&Arg>) =
        shown.into_iter().partition(|entry| entry.is_positional());
    write_table(page, None, "argument", &positional);
    let mut headings: Vec<Option<&str>> = Vec::new();
    for flag in &flags {
        if !headings.contains(&flag.get_help_heading()) {
            headings.push(flag.get_help_heading());
        }
    }
    for heading in headings {
        let of_heading = flags.iter().copied();
        let rows: Vec<&Arg> = of_heading
            .filter(|flag| flag.get_help_heading() == heading)
            .collect();
        write_table(page, heading, "flag", &rows);
    }
}

fn write_table(page: &mut String, heading: Option<&str>, kind: &str, rows: &[&Arg]) {
    if rows.is_empty() {
        return;
    }
    if let Some(heading) = heading {
        let _ = write!(page, "\n**{heading}**\n");
    }
    let _ = write!(page, "\n| {kind} | meaning | default |\n|---|---|---|\n");
    for argument in rows {
        let (meaning, default) = meaning(argument);
        let name = table_cell(&name(argument));
        let _ = writeln!(
            page,
            "| {name} | {} | {} |",
            table_cell(&meaning),
            table_cell(&default)
        );
    }
}

fn is_built_in(argument: &Arg) -> bool {
    matches!(
        argument.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    )
}

/// All names of a flag with the name of its value, as `-c`, `--connections N`; of an argument the name of its value.
fn name(argument: &Arg) -> String {
    let values: Vec<&str> = argument
        .get_value_names()
        .unwrap_or_default()
        .iter()
        .map(|value_name| value_name.as_str())
        .collect();
    let values = values.join(" ");
    if argument.is_positional() {
        return format!("`{values}`");
    }
    let short = argument.get_short().into_iter();
    let mut names: Vec<String> = short.map(|letter| format!("`-{letter}`")).collect();
    let long = argument.get_long().into_iter();
    let value = match takes_value(argument) {
        None => String::new(),
        Some(true) => format!("[={values}]"),
        Some(false) => format!(" {values}"),
    };
    names.extend(long.map(|long| format!("`--{long}{value}`")));
    names.join(", ")
}

/// None for a flag without a value, else whether the value may be left out.
fn takes_value(argument: &Arg) -> Option<bool> {
    let values = argument.get_num_args()?;
    values.takes_values().then_some(values.min_values() == 0)
}

/// The help of an argument with its possible values, and its default.
fn meaning(argument: &Arg) -> (String, String) {
    let help = argument.get_long_help().or(argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let (help, mut default) = without_default(&sentence(&help));
    let takes_values = argument
        .get_num_args()
        .is_some_and(|range| range.takes_values());
    let defaults: Vec<_> = argument
        .get_default_values()
        .iter()
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    if takes_values && !defaults.is_empty() {
        default = defaults.join(", ");
    }
    let possible = argument.get_possible_values();
    let possible: Vec<String> = possible
        .iter()
        .filter(|value| takes_values && !value.is_hide_set())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({help})", value.get_name()),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    let meaning = match possible.is_empty() {
        true => help,
        false => format!("{help}: {}", possible.join(", ")),
    };
    (meaning, default)
}

/// Takes a default that the help names in brackets at its end out of it.
fn without_default(help: &str) -> (String, String) {
    const START: &str = "[default: ";
    match help.split_once(START) {
        Some((before, after)) if after.ends_with(']') => {
            let default = after.trim_end_matches(']');
            (before.trim_end().to_owned(), default.to_owned())
        }
        _ => (help.to_owned(), String::new()),
    }
}

/// Lines of one paragraph joined.
fn sentence(text: &str) -> String {
    let paragraphs = text.trim().split("\n\n");
    let joined =
        paragraphs.map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    joined.collect::<Vec<_>>().join("\n\n")
}

/// A text as the cell of a Markdown table: in one line, with what Markdown would take for more than text escaped. Between backticks
/// only `|` is escaped.
pub fn table_cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut cell = String::new();
    let mut is_code = false;
    for letter in line.chars() {
        is_code ^= letter == '`';
        if letter == '|' || (!is_code && matches!(letter, '<' | '*')) {
            cell.push('\\');
        }
        cell.push(letter);
    }
    cell
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser, ValueEnum};

    use super::*;

    /// A program.
    #[derive(Parser)]
    #[command(name = "tool")]
    enum Tool {
        /// Runs
        ///
        /// all of it.
        Run {
            /// The file
            #[arg(value_name = "FILE")]
            file: String,
            /// Requests per second, a < b [default: 5]
            #[arg(short = 'R', long, value_name = "A|B")]
            rate: Option<String>,
            /// Where
            #[arg(long, default_value = "here", help_heading = "Places")]
            place: String,
            /// How
            #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true)]
            how: Option<Option<How>>,
            #[arg(long, hide = true)]
            hidden: bool,
        },
        #[command(hide = true)]
        Hidden,
    }

    #[derive(Clone, ValueEnum)]
    enum How {
        /// soon
        Fast,
        Slow,
    }

    #[test]
    fn commands_and_flags_are_listed() {
        let expected = "
## `tool`

A program

| command | what it does |
|---|---|
| [`run`](#tool-run) | Runs |

## `tool run`

Runs

all of it.

```text
tool run [OPTIONS] <FILE>
```

| argument | meaning | default |
|---|---|---|
| `FILE` | The file |  |

| flag | meaning | default |
|---|---|---|
| `-R`, `--rate A\\|B` | Requests per second, a \\< b | 5 |
| `--how[=HOW]` | How: `fast` (soon), `slow` |  |

**Places**

| flag | meaning | default |
|---|---|---|
| `--place PLACE` | Where | `here` |
";
        assert_eq!(flags_page(Tool::command()), expected);
    }

    #[test]
    fn exit_codes_are_listed() {
        let codes = [(0, "fine"), (130, "a | b")];
        assert_eq!(
            exit_codes_help(&codes),
            "Exit codes:\n    0  fine\n  130  a | b"
        );
        assert_eq!(
            exit_codes_table(&codes),
            "| code | meaning |\n|---|---|\n| 0 | fine |\n| 130 | a \\| b |\n"
        );
    }
}

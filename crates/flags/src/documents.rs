//! Completions and man pages of a program, made of the definition of its command line. Hidden subcommands are in neither.

use std::{
    io,
    path::{Path, PathBuf},
};

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

/// Arguments of the subcommand `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell that is to complete commands
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Arguments of the subcommand `man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// The subcommand whose page is printed, such as `system fetch` [default: the page of the program]
    #[arg(value_name = "SUBCOMMAND")]
    pub subcommand: Vec<String>,
    /// Write the pages of the program and of all its subcommands into this folder, which is made if it is missing
    #[arg(long, value_name = "FOLDER", conflicts_with = "subcommand")]
    pub folder: Option<PathBuf>,
}

/// Why there is no man page.
#[derive(Debug, thiserror::Error)]
pub enum ManError {
    #[error("{program} has no subcommand \"{name}\"; expected {expected}")]
    Unknown {
        program: String,
        name: String,
        expected: String,
    },
    #[error("cannot write man pages to {}: {problem}", folder.display())]
    Write { folder: PathBuf, problem: io::Error },
}

/// The script that has a shell complete the arguments of `program`, whose command line is `P`.
pub fn completions<P: CommandFactory>(program: &'static str, shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(
        shell,
        &mut visible_program(program, &P::command()),
        program,
        &mut script,
    );
    String::from_utf8_lossy(&script).into_owned()
}

/// The man page of the program or of a subcommand, as text for `man`; or none, if all pages were written into a folder.
///
/// # Errors
/// If there is no such subcommand, or the folder cannot be written.
pub fn man_page<P: CommandFactory>(arguments: &ManArguments) -> Result<Option<String>, ManError> {
    let mut program = P::command().disable_help_subcommand(true);
    program.build();
    let Some(folder) = &arguments.folder else {
        let command = find_subcommand(&program, &arguments.subcommand)?;
        return Ok(Some(render_page(&program, command)));
    };
    let written =
        std::fs::create_dir_all(folder).and_then(|()| write_pages(&program, &program, folder));
    written.map_err(|problem| ManError::Write {
        folder: folder.clone(),
        problem,
    })?;
    Ok(None)
}

/// A program with what completions need, without its hidden subcommands: scripts of clap would complete those, too.
fn visible_program(name: &'static str, program: &Command) -> Command {
    Command::new(name)
        .version(env!("CARGO_PKG_VERSION"))
        .args(program.get_arguments().cloned())
        .groups(program.get_groups().cloned())
        .subcommands(visible_subcommands(program).cloned())
}

fn visible_subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|subcommand| !subcommand.is_hide_set())
}

/// A subcommand by the names that lead to it.
fn find_subcommand<'a>(program: &'a Command, names: &[String]) -> Result<&'a Command, ManError> {
    let mut command = program;
    for name in names {
        let child = visible_subcommands(command).find(|subcommand| subcommand.get_name() == name);
        command = child.ok_or_else(|| unknown_subcommand(command, name))?;
    }
    Ok(command)
}

fn unknown_subcommand(command: &Command, name: &str) -> ManError {
    let known: Vec<&str> = visible_subcommands(command)
        .map(Command::get_name)
        .collect();
    let expected = match known.len() {
        0 => "none".to_owned(),
        _ => known.join(", "),
    };
    ManError::Unknown {
        program: command
            .get_bin_name()
            .unwrap_or(command.get_name())
            .to_owned(),
        name: name.to_owned(),
        expected,
    }
}

/// Writes the pages of a command and of its subcommands: `waggle-system-fetch.1`.
fn write_pages(program: &Command, command: &Command, folder: &Path) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    std::fs::write(
        folder.join(format!("{name}.1")),
        render_page(program, command),
    )?;
    visible_subcommands(command).try_for_each(|subcommand| write_pages(program, subcommand, folder))
}

fn render_page(program: &Command, command: &Command) -> String {
    let version = program.get_version().unwrap_or_default();
    let mut text = Vec::new();
    Man::new(command.clone())
        .source(format!("{} {version}", program.get_name()))
        .render(&mut text)
        .expect("writing to memory does not fail");
    String::from_utf8_lossy(&text).into_owned()
}

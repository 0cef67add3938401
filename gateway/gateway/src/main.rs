//! The program `waggle-gateway`: arguments, signals, exit codes.

#[cfg(test)]
mod reference;

use std::{error::Error, io::Write, process::ExitCode};

use clap::{Parser, Subcommand};
use waggle_flags::{CompletionsArguments, ManArguments};
use waggle_gateway::{ServeError, Settings, TOKEN_VARIABLE};
use waggle_service::{log, program};
use waggle_sink::{SinkError, SinkSettings};

/// Accepts readings over HTTP and answers when they are durable.
#[derive(Parser)]
#[command(name = "waggle-gateway", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve until SIGTERM or SIGINT
    Serve(Box<Settings>),
    /// Move records from Kafka to InfluxDB until SIGTERM or SIGINT
    Sink(Box<SinkSettings>),
    /// Make a token for a client, and the client's entry for the file of --clients
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Print the OpenAPI document as JSON: that of a gateway with the same flags
    Openapi(Box<Settings>),
    /// Print a script with which a shell completes the arguments of waggle-gateway
    Completions(CompletionsArguments),
    /// Print the man page of waggle-gateway or of a subcommand, or write all of them into a folder
    Man(ManArguments),
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Print a new token to stdout, and the entry, which has its digest alone, to stderr
    New {
        /// Name of the client
        #[arg(value_parser = waggle_gateway::read_client_name)]
        name: String,
    },
}

fn main() -> ExitCode {
    let command = waggle_flags::parse::<Arguments>(&[]).command;
    let token = std::env::var(TOKEN_VARIABLE).ok();
    let outcome = match command {
        Command::Serve(settings) => program::run_until_signal(async |shutdown| {
            waggle_gateway::serve(*settings, token, program::print_url, shutdown).await
        }),
        Command::Sink(settings) => program::run_until_signal(async |shutdown| {
            waggle_sink::run(*settings, token, program::print_address, shutdown).await
        }),
        Command::Openapi(settings) => {
            program::print(&waggle_gateway::openapi(&settings)).map_err(Into::into)
        }
        Command::Token {
            command: TokenCommand::New { name },
        } => print_token(&name),
        Command::Completions(arguments) => {
            let script = waggle_flags::completions::<Arguments>("waggle-gateway", arguments.shell);
            program::print(script.trim_end()).map_err(Into::into)
        }
        Command::Man(arguments) => print_man_page(&arguments),
    };
    match outcome {
        Err(error) if is_mistake_of_user(&*error) => {
            log::error(format_args!("{error}"));
            ExitCode::from(2)
        }
        outcome => program::exit_code(outcome),
    }
}

/// Whether the arguments, or a file that they name, are wrong.
fn is_mistake_of_user(error: &(dyn Error + 'static)) -> bool {
    let of_sink = error.downcast_ref::<SinkError>();
    let reason = error.downcast_ref::<ServeError>();
    let of_serve = reason.is_some_and(ServeError::is_mistake_of_user);
    of_serve || of_sink.is_some_and(SinkError::is_mistake_of_user)
}

fn print_token(name: &str) -> Result<(), Box<dyn Error>> {
    let (token, entry) = waggle_gateway::token_for(name)?;
    // The entry is for the reader; a token that cannot be printed is the error.
    let _ = writeln!(std::io::stderr().lock(), "{entry}");
    Ok(program::print(&token)?)
}

/// Prints a man page, unless all of them went into a folder.
fn print_man_page(arguments: &ManArguments) -> Result<(), Box<dyn Error>> {
    if let Some(page) = waggle_flags::man_page::<Arguments>(arguments)? {
        program::print(page.trim_end())?;
    }
    Ok(())
}

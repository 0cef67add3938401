//! The program `waggle-gateway`: arguments, signals, exit codes.

#[cfg(test)]
mod reference;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use waggle_gateway::{Settings, TOKEN_VARIABLE};
use waggle_service::program;
use waggle_sink::SinkSettings;

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
    /// Print the OpenAPI document as JSON: that of a gateway with the same flags
    Openapi(Box<Settings>),
}

fn main() -> ExitCode {
    let renamed = [
        &waggle_gateway::RENAMED_FLAGS[..],
        &waggle_sink::RENAMED_FLAGS,
    ];
    let command = waggle_flags::parse::<Arguments>(&renamed.concat()).command;
    let token = std::env::var(TOKEN_VARIABLE).ok();
    program::exit_code(match command {
        Command::Serve(settings) => program::run_until_signal(async |shutdown| {
            waggle_gateway::serve(*settings, token, program::print_address, shutdown).await
        }),
        Command::Sink(settings) => program::run_until_signal(async |shutdown| {
            waggle_sink::run(*settings, token, program::print_address, shutdown).await
        }),
        Command::Openapi(settings) => {
            program::print(&waggle_gateway::openapi(&settings)).map_err(Into::into)
        }
    })
}

//! The program `waggle-sink`: the sink alone. `waggle-gateway sink` is the same in one program with the gateway.

use std::process::ExitCode;

use clap::Parser;
use waggle_influxdb::TOKEN_VARIABLE;
use waggle_service::{log, program};
use waggle_sink::{SinkError, SinkSettings};

/// Moves records from Kafka to InfluxDB until SIGTERM or SIGINT.
#[derive(Parser)]
#[command(name = "waggle-sink", version, arg_required_else_help = true)]
struct Arguments {
    #[command(flatten)]
    settings: SinkSettings,
}

fn main() -> ExitCode {
    let settings = waggle_flags::parse::<Arguments>(&[]).settings;
    let token = std::env::var(TOKEN_VARIABLE).ok();
    let outcome = program::run_until_signal(async |shutdown| {
        waggle_sink::run(settings, token, program::print_address, shutdown).await
    });
    match outcome {
        Err(error)
            if error
                .downcast_ref()
                .is_some_and(SinkError::is_mistake_of_user) =>
        {
            log::error(format_args!("{error}"));
            ExitCode::from(2)
        }
        outcome => program::exit_code(outcome),
    }
}

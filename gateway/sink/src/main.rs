//! The program `waggle-sink`: the sink alone. `waggle-gateway sink` is the same in one program with the gateway.

use std::process::ExitCode;

use clap::Parser;
use waggle_influxdb::TOKEN_VARIABLE;
use waggle_service::program;
use waggle_sink::SinkSettings;

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
    program::exit_code(program::run_until_signal(async |shutdown| {
        waggle_sink::run(settings, token, program::print_address, shutdown).await
    }))
}

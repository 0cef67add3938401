//! The program `waggle-gateway`: arguments, signals, exit codes.

use std::net::SocketAddr;
use std::pin::Pin;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};
use waggle_gateway::{Settings, SinkSettings, TOKEN_VARIABLE};

/// Takes readings by HTTP and makes them durable before it says so.
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
    /// Print the OpenAPI document as JSON
    Openapi,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Serve(settings) => serve(*settings),
        Command::Sink(settings) => sink(*settings),
        Command::Openapi => say(&waggle_gateway::openapi()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            complain(&problem);
            ExitCode::FAILURE
        }
    }
}

fn serve(settings: Settings) -> Result<(), String> {
    let token = std::env::var(TOKEN_VARIABLE).ok();
    run(async |shutdown| {
        waggle_gateway::serve(settings, token, announce, shutdown)
            .await
            .map_err(|error| error.to_string())
    })
}

fn sink(settings: SinkSettings) -> Result<(), String> {
    let token = std::env::var(TOKEN_VARIABLE).ok();
    run(async |shutdown| {
        waggle_gateway::sink(settings, token, announce, shutdown)
            .await
            .map_err(|error| error.to_string())
    })
}

type Shutdown = Pin<Box<dyn Future<Output = ()>>>;

/// Runs it on this thread; what it is given is ready at SIGTERM or SIGINT.
fn run(what: impl AsyncFnOnce(Shutdown) -> Result<(), String>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("starting: {error}"))?;
    let outcome = runtime.block_on(async {
        let failed = |error| format!("waiting for signals: {error}");
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        what(Box::pin(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }))
        .await
    });
    // What is still blocked has had its time.
    runtime.shutdown_background();
    outcome
}

fn announce(address: SocketAddr) {
    if let Err(problem) = say(&format!("listening on http://{address}")) {
        complain(&problem);
    }
}

fn say(text: &str) -> Result<(), String> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(|error| format!("writing to stdout: {error}"))
}

#[expect(clippy::print_stderr, reason = "this is the program's own voice")]
fn complain(problem: &str) {
    eprintln!("error: {problem}");
}

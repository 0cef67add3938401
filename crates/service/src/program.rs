//! A server as a process: runs until SIGTERM or SIGINT, prints its address, and ends with an exit code.

use std::{
    error::Error,
    io::{self, Write},
    net::SocketAddr,
    pin::Pin,
    process::ExitCode,
};

use tokio::signal::unix::{SignalKind, signal};

use crate::log;

/// Ready at SIGTERM or SIGINT.
pub type Shutdown = Pin<Box<dyn Future<Output = ()>>>;

/// Why a program could not start.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("starting: {0}")]
    Runtime(io::Error),
    #[error("waiting for signals: {0}")]
    Signals(io::Error),
}

/// Runs a server on this thread until SIGTERM or SIGINT. SIGHUP ends no server: it asks for files to be read again, and whoever has some
/// listens to it, too.
///
/// # Errors
/// The server's own errors; if the runtime or the signals are not available.
pub fn run_until_signal<E: Error + 'static>(
    server: impl AsyncFnOnce(Shutdown) -> Result<(), E>,
) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(StartError::Runtime)?;
    let outcome = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(StartError::Signals)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(StartError::Signals)?;
        let _hangup = signal(SignalKind::hangup()).map_err(StartError::Signals)?;
        let ended = server(Box::pin(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }));
        Ok(ended.await?)
    });
    // Blocking threads had time to end.
    runtime.shutdown_background();
    outcome
}

/// Prints the address that a server of plain HTTP listens on.
pub fn print_address(address: SocketAddr) {
    print_url(format!("http://{address}"));
}

/// Prints the URL that a server listens on.
#[expect(clippy::needless_pass_by_value, reason = "it is a callback")]
pub fn print_url(url: String) {
    if let Err(error) = print(&format!("listening on {url}")) {
        log::error(format_args!("writing to stdout: {error}"));
    }
}

/// Prints a line to stdout.
///
/// # Errors
/// If stdout cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Exit codes of the servers, with their meanings; the argument parser ends a program with the last one.
pub const EXIT_CODES: [(u8, &str); 3] = [
    (
        0,
        "ended by SIGTERM or SIGINT, after what was in progress; or the text that was asked for is printed",
    ),
    (
        1,
        "the server could not be started, or failed; the last line of the log says why",
    ),
    (2, "invalid arguments"),
];

/// The exit code of a program; an error is logged.
pub fn exit_code(outcome: Result<(), Box<dyn Error>>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log::error(format_args!("{error}"));
            ExitCode::FAILURE
        }
    }
}

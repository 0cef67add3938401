//! Arguments of `waggle serve`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

use super::trust::TrustFlags;

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The folder of runs
    #[arg(value_name = "FOLDER", default_value = "runs")]
    pub(crate) folder: PathBuf,
    /// Listen here; port 0 selects a free one. Beyond loopback a token is required, because the server is then reached from other machines
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8087")]
    pub(crate) listen: SocketAddr,
    /// The file with the token that everybody must show, of 16 letters at least; the variable WAGGLE_SERVE_TOKEN has it otherwise
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// A name by which the server is reached, beside its addresses and localhost; may be repeated. Another name is refused
    #[arg(long, value_name = "NAME")]
    pub(crate) host_name: Vec<String>,
    /// Start and stop the studies of this folder. Without it nothing can be started; with it notes can be written, too
    #[arg(long, value_name = "FOLDER")]
    pub(crate) allow_run: Option<PathBuf>,
    /// Write notes on runs. Without it, and without --allow-run, the server only reads
    #[arg(long)]
    pub(crate) allow_notes: bool,
    #[command(flatten)]
    pub(crate) trust: TrustFlags,
}

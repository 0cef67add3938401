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
    #[arg(long, value_name = "NAME", value_parser = host_name)]
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

/// The name alone: browsers are let in by it, whatever the port.
fn host_name(text: &str) -> Result<String, String> {
    let is_of_name =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
    match !text.is_empty() && text.chars().all(is_of_name) {
        true => Ok(text.to_owned()),
        false => {
            Err("expected a name such as perf.example, without scheme, port and path".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::host_name;

    #[test]
    fn a_host_name_has_no_port_and_no_path() {
        assert_eq!(host_name("perf.example").as_deref(), Ok("perf.example"));
        for wrong in [
            "",
            "perf.example:8087",
            "http://perf.example",
            "perf.example/",
            "a b",
        ] {
            assert!(host_name(wrong).is_err(), "{wrong}");
        }
    }
}

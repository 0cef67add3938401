//! Arguments of the commands that make images.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Configured;

/// The image of a system.
#[derive(Debug, Args)]
pub(crate) struct SystemImage {
    #[command(flatten)]
    pub(crate) configured: Configured,
    /// Leave out artifacts that are not fetched, instead of refusing
    #[arg(long)]
    pub(crate) skip_missing: bool,
    #[command(flatten)]
    pub(crate) to: ImageTo,
}

/// The image of a program.
#[derive(Debug, Args)]
pub(crate) struct ProgramImage {
    /// The program: this one, or the gateway that is beside it
    #[arg(value_name = "PROGRAM", default_value = "waggle")]
    pub(crate) program: ImageProgram,
    #[command(flatten)]
    pub(crate) to: ImageTo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImageProgram {
    Waggle,
    WaggleGateway,
}

/// Where an image goes.
#[derive(Debug, Args)]
pub(crate) struct ImageTo {
    /// Write the image as an archive for `docker load`, `ctr images import` or skopeo
    #[arg(long, short, value_name = "FILE.tar")]
    pub(crate) output: Option<PathBuf>,
    /// Send the image to a registry; what the registry has is not sent again. The variables WAGGLE_REGISTRY_USER and
    /// WAGGLE_REGISTRY_PASSWORD, or WAGGLE_REGISTRY_TOKEN, say who you are, else the `auths` of docker's config.json
    #[arg(long, value_name = "REGISTRY/REPOSITORY:TAG")]
    pub(crate) push: Option<String>,
    /// Name of the image in the archive [default: that of --push, else localhost/waggle/SYSTEM:VERSION or localhost/PROGRAM:VERSION]
    #[arg(long, value_name = "REPOSITORY:TAG", requires = "output")]
    pub(crate) image_name: Option<String>,
    /// Speak to this registry without TLS, as to one at a loopback address; may be repeated
    #[arg(long, value_name = "HOST:PORT", requires = "push")]
    pub(crate) insecure_registry: Vec<String>,
}

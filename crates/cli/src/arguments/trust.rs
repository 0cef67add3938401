//! Whose files may start programs.

use std::path::PathBuf;

use clap::Args;

/// Exceptions from the rule that files which start programs are those of the caller or of root.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TrustFlags {
    /// Use studies and systems of this folder although others own it or may write to it; may be repeated. The variable WAGGLE_TRUST has
    /// such folders too, separated by colons
    #[arg(long = "trust", value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
    /// Without links; the files that a study names have to be in it.
    #[arg(skip)]
    pub(crate) within: Option<PathBuf>,
}

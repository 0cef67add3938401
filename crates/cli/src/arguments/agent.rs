//! The flags of `waggle agent`.

use std::{num::NonZero, path::PathBuf, time::Duration};

use clap::Args;

use super::parse;

#[derive(Debug, Args)]
pub(crate) struct Agent {
    /// The file by which agents join the run; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) join: PathBuf,
    /// The agent's number, counted from 1 [default: of a pod of an Indexed Job its index + 1, else the next one that is free]
    #[arg(long, value_name = "N")]
    pub(crate) number: Option<NonZero<usize>>,
    /// How long to try to reach the runner
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse::duration)]
    pub(crate) wait: Duration,
}

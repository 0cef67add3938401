//! The command `import`: results of other tools as a run.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};

use super::parse;

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The tool that measured
    #[arg(value_name = "TOOL")]
    pub(crate) tool: ImportTool,
    /// The files, each a trial, which may be compressed by gzip or zstd; FACTOR=LEVEL before files names their cell. Files of one trial are joined by a comma: a.txt,a.tsv
    #[arg(value_name = "[FACTOR=LEVEL…] FILE…", required = true)]
    pub(crate) sources: Vec<String>,
    /// Folder of the run folders
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Name of the study [default: the name of the tool]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// How requests were sent, as far as you know
    #[arg(long, value_name = "MODEL", default_value = "closed")]
    pub(crate) load_model: ImportLoadModel,
    /// Leave the start of each file out of the results; a bare number is seconds
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse::duration)]
    pub(crate) warm_up: Duration,
    /// CSV: what a column is: start=NAME:UNIT or end=NAME:UNIT, duration=NAME:UNIT, success=NAME, status=NAME, label=NAME,
    /// sent=NAME, received=NAME; units s, ms, us, ns; a start or end without a unit is RFC 3339
    #[arg(long, value_name = "WHAT=NAME[:UNIT]")]
    pub(crate) column: Vec<String>,
    /// Count every request as a success: for files that do not say which requests failed
    #[arg(long)]
    pub(crate) all_succeeded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportTool {
    /// `ab`: its text output, with the files of -e and -g
    Ab,
    /// `k6 run --out json=FILE`
    K6,
    /// A JTL file in CSV or XML format
    Jmeter,
    /// `vegeta encode --to csv`
    Vegeta,
    /// `hey -o csv`
    Hey,
    /// A CSV file of single requests; needs --column
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportLoadModel {
    /// An answer makes room for the next request
    Closed,
    /// Requests fall due at a rate
    Open,
    /// Users think between an answer and the next request
    Users,
}

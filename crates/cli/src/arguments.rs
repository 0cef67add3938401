//! What can be typed; one place for each option.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use waggle_flags::RenamedFlag;

use crate::load::arguments::Load;

/// Flags that were renamed: an error for an old one names the new one.
pub(crate) const RENAMED_FLAGS: [RenamedFlag; 0] = [];

/// Performance studies of REST APIs and of the pipelines behind them.
///
/// Exit codes: 0 fine; 1 a bug in waggle; 2 a mistake in what was asked; 3 a threshold does not hold;
/// 4 a trial may not be believed; 130 interrupted, what was measured is kept.
#[derive(Debug, Parser)]
#[command(name = "waggle", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a study: bring its system up, drive it, follow every record, report
    Run(Run),
    /// Show what would run, in which order and for how long; starts nothing
    Plan(Plan),
    /// One quick load on one URL, like wrk or oha, judged like a trial
    Load(Box<Load>),
    /// Write report.html, report.md, tables.csv and effects.csv anew from a run's files
    Report(Report),
    /// Print the JSON Schema of a study, system or scenario file, for editors, or of the result of a load
    Schema(Schema),
    /// Write a study of a server that runs already: from its URL, a curl command, a HAR file or an OpenAPI document
    Init(Init),
    /// Fetch the servers of a system, bring it up without a study, look at it, bring it down
    #[command(subcommand)]
    System(System),
    #[command(name = "__supervise", hide = true)]
    Supervise(Hidden),
    #[command(name = "__keep-awake", hide = true)]
    KeepAwake(Hidden),
}

/// Which study, and which part of it.
#[derive(Debug, Args)]
pub(crate) struct Choice {
    /// The study file
    #[arg(value_name = "STUDY.yaml")]
    pub(crate) study: PathBuf,
    /// Only the cells in which this factor has this level; may be repeated, all must hold
    #[arg(long, value_name = "FACTOR=LEVEL")]
    pub(crate) only: Vec<String>,
    /// A smoke run: one repetition, the shortest phases; tells that it works, not how fast it is
    #[arg(long)]
    pub(crate) quick: bool,
    /// Decides the order of trials and every other random choice; wins over the study's own seed
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Where run folders go
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Go on with an interrupted run: the given folder, or the newest one of this study
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true)]
    pub(crate) resume: Option<Option<PathBuf>>,
    /// No progress, only the table at the end
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Lines of progress at a terminal too, instead of the live view
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) no_live: bool,
    /// Keeps the CPUs from halting, with a loop on each that everything else pushes aside: for virtual machines whose host takes
    /// halted CPUs away. Costs power, and a share of a core that two hardware threads have in common; the results say it
    #[arg(long)]
    pub(crate) keep_awake: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) choice: Choice,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The run's folder
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Of which file
    pub(crate) of: SchemaOf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaOf {
    Study,
    System,
    /// The object that `waggle load --json` prints
    Load,
    Scenario,
    /// The object that `waggle load --find … --json` prints
    Find,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The server's URL; with --from, the file to read (- is the standard input)
    #[arg(value_name = "URL|FILE")]
    pub(crate) source: String,
    /// What the file is: a command line of curl, an HTTP archive as browsers save it, or an OpenAPI 3 document
    #[arg(long, value_name = "KIND")]
    pub(crate) from: Option<InitFrom>,
    /// Where the study goes; by default a file in this folder, named after what is called; - is the standard output
    #[arg(long, short, value_name = "STUDY.yaml")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// OpenAPI: take the operations that change something too (POST, PUT, PATCH, DELETE)
    #[arg(long)]
    pub(crate) include_writes: bool,
    /// With --from: the server, in place of the one that the file names
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InitFrom {
    Curl,
    Har,
    Openapi,
}

#[derive(Debug, Subcommand)]
pub(crate) enum System {
    /// Fetch the servers of a system that are not installed, and tell where each is
    Fetch(Configured),
    /// Bring a system up, check it, and keep it up until Ctrl-C or `waggle system down`
    Up(SystemUp),
    /// Bring down a system that is up
    Down(SystemName),
    /// Tell whether a system is up, and where it can be reached
    Status(SystemName),
}

/// A system, and levels of its parameters.
#[derive(Debug, Args)]
pub(crate) struct Configured {
    #[command(flatten)]
    pub(crate) of: SystemName,
    /// A parameter's level; the others have their defaults. Without any, fetch sees to every configuration
    #[arg(value_name = "PARAMETER=LEVEL")]
    pub(crate) levels: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SystemUp {
    #[command(flatten)]
    pub(crate) configured: Configured,
    /// How long it has to become ready, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) ready_within: u64,
}

#[derive(Debug, Args)]
pub(crate) struct SystemName {
    /// The system: a folder in systems/, looked for from here upwards
    #[arg(value_name = "NAME")]
    pub(crate) system: String,
}

/// What a process of waggle's own is told.
#[derive(Debug, Args)]
pub(crate) struct Hidden {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}

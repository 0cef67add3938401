//! Commands and flags of the program (those of `waggle load` in `load`), and the values that are parsed from them.

mod agent;
mod attached;
mod bad_value;
mod cluster;
mod compare;
#[cfg(test)]
mod documented;
pub(crate) mod form;
mod image;
mod import;
mod in_cluster;
mod in_pods;
pub(crate) mod load;
pub(crate) mod other_names;
pub(crate) mod parse;
#[cfg(test)]
mod reference;
mod schema;
mod serve;
pub(crate) mod target;
mod trust;

use std::{ffi::OsString, net::SocketAddr, num::NonZero, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use waggle_flags::{CompletionsArguments, ManArguments, exit_codes_help};

#[cfg(feature = "cluster")]
pub(crate) use self::image::{ImageProgram, ImageTo};
pub(crate) use self::{
    agent::Agent,
    cluster::Cluster,
    compare::{Compare, DEFAULT_MARGIN, RunComparison},
    image::{ProgramImage, SystemImage},
    import::{Import, ImportLoadModel, ImportTool},
    in_cluster::InCluster,
    in_pods::{Replica, ReplicaAction, Runner, RunnerAction},
    other_names::FOREIGN_FLAGS,
    schema::{Schema, SchemaOf},
    serve::Serve,
    trust::TrustFlags,
};
use self::{attached::Attached, form::Form, load::Load};
use crate::{output::result_files::OutputFiles, process::exit};

/// Performance studies of REST APIs and of the pipelines behind them.
#[derive(Debug, Parser)]
#[command(
    name = "waggle",
    version,
    arg_required_else_help = true,
    after_long_help = exit_codes_help(&exit::OF_WAGGLE)
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a study: start its system, load it, account for every record, write the report
    ///
    /// A study and its system are code: their commands, scripts and files run with your rights. Those that others may have written are
    /// refused unless --trust names them; `waggle plan --commands` lists what would be started.
    #[command(
        after_long_help = exit_codes_help(&exit::OF_WAGGLE),
        mut_arg("study", attached::study)
    )]
    Run(Box<Run>),
    /// Show what would run, in which order and for how long, without starting anything
    Plan(Plan),
    /// Send a load to one URL, like wrk or oha, with the checks of a trial
    #[command(after_long_help = exit_codes_help(&exit::OF_LOAD))]
    Load(Box<Load>),
    /// Write report.html, report.md, report.json, tables.csv, effects.csv and ratios.csv again from the files of a run
    Report(Report),
    /// Compare two runs of a study, or two folders of runs: the ratio of each metric in each cell, judged by a margin
    #[command(after_long_help = exit_codes_help(&exit::OF_COMPARE))]
    Compare(Compare),
    /// Show the metrics of a study over many runs: levels, and the runs from which on the level differs
    #[command(after_long_help = exit_codes_help(&exit::OF_HISTORY))]
    History(History),
    /// Serve a folder of runs as pages for a browser: their list, reports, comparisons, histories and notes, runs that go on, and, where
    /// that is allowed, runs that are started
    Serve(Serve),
    /// Print the JSON Schema of a study, system or scenario file (for editors), or of the JSON result of a load, search, report,
    /// comparison or history
    Schema(Schema),
    /// Write a study of a running server, from its URL, a curl command, a HAR file or an OpenAPI document, or its part `records`
    /// from a file of data
    Init(Init),
    /// Make a run of the results of ab, k6, JMeter, vegeta, hey or a CSV file, for the statistics and the report of waggle
    Import(Import),
    /// Fetch the artifacts of a system, start it without a study, show its status, stop it, make an image of it
    ///
    /// A system is code: its commands and fetch scripts run with your rights. One that others may have written is refused unless --trust
    /// names it.
    #[command(subcommand)]
    System(System),
    /// Make a share of the load of a run on another host, until the run is over
    ///
    /// A run with `agents` writes the file by which they join. An agent runs what the runner tells it to send, and no program; it must be
    /// the same build as the runner's.
    #[command(after_long_help = exit_codes_help(&exit::OF_AGENT))]
    Agent(Agent),
    /// Serve plans, runs, reports and comparisons to assistants, as tools of the Model Context Protocol over stdin and stdout
    ///
    /// A study and its system are code: who can write into FOLDER starts programs with your rights. Loads are limited to loopback
    /// addresses, paths to FOLDER, runs to one at a time and to --max-duration.
    Mcp(Mcp),
    /// Print what the administrator of a Kubernetes cluster has to allow, as manifests; make the image of waggle
    #[command(subcommand)]
    Cluster(Cluster),
    /// Print a script with which a shell completes the arguments of waggle
    ///
    /// bash: `waggle completions bash > ~/.local/share/bash-completion/completions/waggle`; zsh: into a file `_waggle` in a
    /// folder of $fpath; fish: `waggle completions fish > ~/.config/fish/completions/waggle.fish`.
    Completions(CompletionsArguments),
    /// Print the man page of waggle or of a subcommand, or write all of them into a folder
    Man(ManArguments),
    #[command(name = "__supervise", hide = true)]
    Supervise(Supervise),
    #[command(name = "__idle-poll", hide = true)]
    IdlePoll(Hidden),
    #[command(name = "__generator", hide = true)]
    Generator,
    #[command(name = "__runner", hide = true)]
    Runner(Runner),
    #[command(name = "__replica", hide = true)]
    Replica(Replica),
    #[command(name = "__null-server", hide = true)]
    NullServer(Hidden),
}

/// How two versions are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DesignChoice {
    /// One after the other, in the order of the study (the default)
    Blocks,
    /// Both at the same time, on the same CPUs
    Duet,
    /// Both at the same time, each on its half of the CPUs, the other one in the next repetition
    DuetSwapped,
}

impl DesignChoice {
    /// As it is written on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::Duet => "duet",
            Self::DuetSwapped => "duet-swapped",
        }
    }
}

/// A study, and which part of it to run.
#[derive(Debug, Args)]
pub(crate) struct Choice {
    /// The study file
    #[arg(value_name = "STUDY.yaml")]
    pub(crate) study: PathBuf,
    /// Run only cells with this level of the factor; may be repeated, all must match
    #[arg(long, value_name = "FACTOR=LEVEL")]
    pub(crate) filter: Vec<String>,
    /// One repetition with the shortest phases: checks that the study works, not how fast the system is
    #[arg(long)]
    pub(crate) quick: bool,
    /// Three repetitions of each cell, with whole phases: shows how much trials scatter, from which `waggle plan` says what more of
    /// them would show
    #[arg(long, conflicts_with = "quick")]
    pub(crate) pilot: bool,
    /// Run two versions of the system in each repetition: as the study has it, and with this level of a parameter, with another
    /// program of a component, or from another folder with a system.yaml; may be repeated, all make the changed version
    #[arg(
        long,
        value_name = "PARAMETER=LEVEL|program.COMPONENT=PATH|system=FOLDER"
    )]
    pub(crate) against: Vec<String>,
    /// With --against: how the trials of the two versions lie in time
    #[arg(long, value_enum)]
    pub(crate) design: Option<DesignChoice>,
    #[command(flatten)]
    pub(crate) trust: TrustFlags,
    /// Seed of the order of trials and of every other random choice; overrides the seed of the study [default: that of the study,
    /// else a new one for each run]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

impl Choice {
    pub(crate) fn form(&self) -> Form {
        match (self.quick, self.pilot) {
            (true, _) => Form::Quick,
            (false, true) => Form::Pilot,
            (false, false) => Form::Whole,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Folder of the run folders
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Resume an interrupted run: the given folder, or the newest one of this study that was begun with the same --filter,
    /// --quick and --pilot
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true)]
    pub(crate) resume: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub(crate) attached: Attached,
    #[command(flatten)]
    pub(crate) in_cluster: InCluster,
    /// Print only the result, no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print lines of progress at a terminal too, instead of the live view
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) no_live: bool,
    /// Keep the CPUs from halting, with a loop of the idle scheduling class on each: for virtual machines whose host takes
    /// halted CPUs away. Costs power, and capacity of cores with two hardware threads; noted in the results
    #[arg(long)]
    pub(crate) idle_poll: bool,
    /// Every doubt counts: exit code 4 if any cell has a verdict other than valid, or than the study expects, or was left out
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) repeated: Repeated,
    #[command(flatten)]
    pub(crate) export: ExportFlags,
    #[command(flatten)]
    pub(crate) comparison: RunComparison,
}

/// Whole runs one after the other.
#[derive(Debug, Args)]
pub(crate) struct Repeated {
    /// Run the whole study so many times, each time as a run of its own; at the end come results with the run as the unit, also as
    /// runs.html, runs.md and runs.json in the folder of the last run. Three runs at least have an interval
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100),
          conflicts_with_all = ["resume", "against", "baseline"])]
    pub(crate) times: Option<u32>,
    /// With --times: from the start of one run to that of the next, such as 1h; after a run that takes longer the next begins at once
    #[arg(long, value_name = "TIME", requires = "times", value_parser = parse::duration)]
    pub(crate) every: Option<Duration>,
}

/// Where metrics go while a study runs.
#[derive(Debug, Args)]
pub(crate) struct ExportFlags {
    /// Serve metrics for Prometheus at http://ADDRESS:PORT/metrics while the study runs, and until they are scraped once more
    /// after its end, for 15 s at most; port 0 selects a free one. There is no authentication
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Push metrics by OTLP (HTTP, JSON) every 5 s and at the end; without a path, /v1/metrics is added. The variable
    /// OTEL_EXPORTER_OTLP_HEADERS has headers, such as a token: NAME=VALUE,NAME=VALUE
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Also show the commands that the study would start; those of a study or system that others may have written are always shown
    #[arg(long)]
    pub(crate) commands: bool,
    /// Folder of the run folders: earlier runs of the study on this host show which difference the planned repetitions find
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Take the scatter of trials from this run instead, or from the runs of this folder, whichever host and phases they had
    #[arg(long, value_name = "RUN")]
    pub(crate) scatter_from: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The folder of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Write the thresholds and verdicts as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Append the answer and the table of cells as Markdown to a file, such as $GITHUB_STEP_SUMMARY
    #[arg(long, value_name = "FILE")]
    pub(crate) summary_file: Option<PathBuf>,
    /// Every doubt counts: exit code 4 if any cell has a verdict other than valid, or than the study expects, or was left out
    #[arg(long)]
    pub(crate) strict: bool,
}

/// The default of `--min-change`.
pub(crate) const DEFAULT_MIN_CHANGE: f64 = 0.02;

#[derive(Debug, Args)]
pub(crate) struct History {
    /// A folder of runs, such as runs
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// The study, if the folder has runs of several
    #[arg(long, value_name = "NAME")]
    pub(crate) study: Option<String>,
    /// A metric, such as response_time.p99; may be repeated [default: what the study asks about]
    #[arg(long, value_name = "METRIC", value_parser = parse::metric_path)]
    pub(crate) metric: Vec<Vec<String>>,
    /// Leave out smaller changes: a share, such as 5% or 0.05
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = parse::margin)]
    pub(crate) min_change: f64,
    /// Take only the newest runs
    #[arg(long, value_name = "N")]
    pub(crate) last: Option<NonZero<usize>>,
    /// Take only runs that started at this time or later, UTC, such as 2026-01-02 or 2026-01-02T03:04
    #[arg(long, value_name = "TIME", value_parser = parse::date)]
    pub(crate) since: Option<String>,
    /// Take all hosts as alike, instead of a series for each: for runners of which each run has another one
    #[arg(long)]
    pub(crate) all_hosts: bool,
    #[command(flatten)]
    pub(crate) files: OutputFiles,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The URL of the server; with --from, the file to read (- is the standard input)
    #[arg(value_name = "URL|FILE")]
    pub(crate) source: String,
    /// The kind of file: a curl command line, an HTTP archive as browsers save it, an OpenAPI 3 document, or data to send
    #[arg(long, value_name = "KIND")]
    pub(crate) from: Option<InitFrom>,
    /// With --from data: the format of the file [default: from its extension; of .dat, .txt and .log from its content]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<parse::FormatName>,
    /// The file to write; - is the standard output [default: a file in this folder, named after the request]
    #[arg(long, short, value_name = "STUDY.yaml")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// OpenAPI: include operations that change something (POST, PUT, PATCH, DELETE)
    #[arg(long)]
    pub(crate) include_writes: bool,
    /// With --from: the server to use instead of the one in the file; with data, to which it is sent (else to a gateway)
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InitFrom {
    Curl,
    Har,
    Openapi,
    /// A file of records: CSV, NDJSON, JSON or line protocol
    Data,
}

#[derive(Debug, Subcommand)]
pub(crate) enum System {
    /// Fetch the artifacts of a system that are not installed, and print where each is
    Fetch(Configured),
    /// Start a system, check it, and keep it running until Ctrl-C or `waggle system down`
    Up(SystemUp),
    /// Stop a running system
    Down(SystemName),
    /// Show whether a system is running, and its addresses
    Status(StartedSystem),
    /// Make an image for containers of what a system has fetched, with what that needs of this machine, without a container engine
    ///
    /// Its first program is waggle. Without levels it has the artifacts of all levels; a parameter may be given several times.
    Image(SystemImage),
}

/// A system, and levels of its parameters.
#[derive(Debug, Args)]
pub(crate) struct Configured {
    #[command(flatten)]
    pub(crate) of: SystemName,
    /// Level of a parameter [default: the default of the parameter; `fetch` and `image` without levels take every level]
    #[arg(value_name = "PARAMETER=LEVEL")]
    pub(crate) levels: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SystemUp {
    #[command(flatten)]
    pub(crate) configured: Configured,
    /// Timeout until the system is ready; a bare number is seconds
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = parse::timeout)]
    pub(crate) ready_timeout: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct SystemName {
    /// The system: a folder in systems/ of this folder or one above it, or a system that was installed with waggle
    #[arg(value_name = "NAME")]
    pub(crate) system: String,
    #[command(flatten)]
    pub(crate) trust: TrustFlags,
}

#[derive(Debug, Args)]
pub(crate) struct StartedSystem {
    /// The system that runs
    #[arg(value_name = "NAME")]
    pub(crate) system: String,
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// The folder in which all studies, systems, files and runs have to be; paths of tools are relative to it
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Folder of the run folders, in FOLDER
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Stop a run after this time, as Ctrl-C does: finished trials are kept. A tool can ask for less, not for more; a bare number is
    /// seconds
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse::duration)]
    pub(crate) max_duration: Duration,
    /// Allow loads on servers of this host, as the study names it; may be repeated [default: this machine alone, by its loopback
    /// addresses]
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_target: Vec<String>,
    #[command(flatten)]
    pub(crate) trust: TrustFlags,
}

/// Arguments of a process that waggle starts for itself.
#[derive(Debug, Args)]
pub(crate) struct Hidden {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}

/// Arguments of a supervisor, which have paths in them.
#[derive(Debug, Args)]
pub(crate) struct Supervise {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> String {
        let words = ["waggle"].into_iter().chain(line.split_whitespace());
        let parsed = waggle_flags::try_parse_from::<Arguments>(words, &FOREIGN_FLAGS);
        parsed.unwrap_err().to_string()
    }

    #[test]
    fn flags_of_other_tools_are_refused_with_ours() {
        let check = |line: &str, expected: &str| {
            let message = message(line);
            assert!(message.contains(expected), "{line}: {message}");
        };
        check("load h --vus 5", "--vus of other tools is --users here");
        check("load h --rps=5", "--rps of other tools is --rate here");
        check(
            "load h --iterations 9",
            "--iterations of other tools is --requests here",
        );
        check(
            "load h --concurrency 9",
            "--concurrency of other tools is --connections here",
        );
        check("load h -z 9s", "-z of other tools is --duration here");
        check("load h -q 9", "-q of other tools is --rate here");
        check("load h -j", "-j of other tools is --json here");
    }

    #[test]
    fn flags_that_the_command_lacks_have_no_hint() {
        for line in ["plan s.yaml --vus 5", "load h --nonsense"] {
            assert!(!message(line).contains("of other tools"), "{line}");
        }
    }
}

//! The flags that show a run of another process.

use std::path::PathBuf;

use clap::{Args, builder::ArgPredicate};

/// A run that another process drives.
#[derive(Debug, Args)]
pub(crate) struct Attached {
    /// Show a run that goes on in another process, in place of running a study: the given run folder, or the newest one in the folder of
    /// runs. It ends as that run does, with its text and exit code. Ctrl-C stops the run; q, SIGTERM and SIGHUP leave the view alone
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true,
          conflicts_with_all = ["study", "filter", "quick", "pilot", "against", "design", "folders", "seed", "resume", "idle_poll", "strict",
                                "times", "metrics_listen", "otlp", "baseline", "margin", "metric", "html", "markdown", "json", "junit",
                                "summary_file"])]
    pub(crate) attach: Option<Option<PathBuf>>,
    /// With --attach: copy the events of the run to the standard output, as lines of JSON, and orders from the standard input to the run;
    /// for a program that shows the run elsewhere
    #[arg(long, requires = "attach", conflicts_with_all = ["quiet", "no_live", "cluster"])]
    pub(crate) raw: bool,
}

/// A run that goes on has its study.
pub(super) fn study(study: clap::Arg) -> clap::Arg {
    study
        .required(false)
        .required_unless_present("attach")
        .default_value_if("attach", ArgPredicate::IsPresent, "-")
}

//! The tools: their names, what they are for and the fields that they take.

use super::fields::{Field, Kind};

/// The longest wait of a call for the end of a run.
pub(super) const WAIT_MAX_S: u64 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Plan,
    Run,
    Status,
    Stop,
    Report,
    Compare,
}

const fn required_text(name: &'static str, about: &'static str) -> Field {
    Field {
        name,
        kind: Kind::Text,
        is_required: true,
        about,
    }
}

const fn optional_field(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field {
        name,
        kind,
        is_required: false,
        about,
    }
}

/// Which part of a study, and of what.
const CHOICE: [Field; 5] = [
    required_text(
        "study",
        "path of the study file, relative to the folder of the server",
    ),
    optional_field(
        "filter",
        Kind::Texts,
        "only cells with this level of a factor, each as FACTOR=LEVEL; all must match",
    ),
    optional_field(
        "quick",
        Kind::Flag,
        "one repetition with the shortest phases: shows that the study works, not how fast the system is",
    ),
    optional_field("pilot", Kind::Flag, "three repetitions with whole phases"),
    optional_field(
        "against",
        Kind::Texts,
        "run two versions in each repetition, the study's own and one with these changes, each PARAMETER=LEVEL, \
         program.COMPONENT=PATH or system=FOLDER",
    ),
];

const MARGIN: Field = optional_field(
    "margin",
    Kind::Text,
    "ratios within this margin are the same: a share such as 5%",
);
const METRIC: Field = optional_field(
    "metric",
    Kind::Texts,
    "metrics that decide, such as response_time.p99; else what the study asks about",
);

impl Tool {
    pub(super) const ALL: [Self; 6] = [
        Self::Plan,
        Self::Run,
        Self::Status,
        Self::Stop,
        Self::Report,
        Self::Compare,
    ];

    /// The tool of this name.
    pub(super) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Run => "run",
            Self::Status => "status",
            Self::Stop => "stop",
            Self::Report => "report",
            Self::Compare => "compare",
        }
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Plan => {
                "Show what a study would run, in which order and for how long, with every mistake of its files. Starts nothing."
            }
            Self::Run => {
                "Start a study: its system is started, loaded, observed and stopped on this machine. Returns at once with the folder of \
                 the run; `status` follows it. One run at a time. It is stopped at its limit of time, and finished trials are kept."
            }
            Self::Status => {
                "How far the run is that was started last, or how it ended: exit code, answer and table. With `wait_s` it returns when \
                 the run has ended, or after that time."
            }
            Self::Stop => {
                "Stop the run as Ctrl-C does: finished trials are kept. Returns when it has ended."
            }
            Self::Report => {
                "The results of a run as JSON: the answer in sentences, thresholds, cells with intervals and verdicts, trials. The \
                 schema is that of `waggle schema report`."
            }
            Self::Compare => {
                "Compare two runs of a study as JSON: for each metric the ratio with its 95 % interval, and whether it is the same, \
                 better, worse or undecided. The schema is that of `waggle schema compare`."
            }
        }
    }

    pub(super) fn fields(self) -> Vec<Field> {
        let keys = optional_field(
            "keys",
            Kind::Texts,
            "only these outermost keys, such as answer, thresholds, cells; needed if all of it is too long",
        );
        match self {
            Self::Plan => CHOICE.to_vec(),
            Self::Run => {
                let limit = optional_field(
                    "max_duration_s",
                    Kind::Seconds(7 * 24 * 3600),
                    "stop the run after so many seconds; at most the limit of the server, which is the default",
                );
                [&CHOICE[..], &[limit, MARGIN, METRIC]].concat()
            }
            Self::Status => vec![optional_field(
                "wait_s",
                Kind::Seconds(WAIT_MAX_S),
                "wait so long for the end of the run",
            )],
            Self::Stop => Vec::new(),
            Self::Report => vec![
                required_text(
                    "run",
                    "the folder of the run, as `run` and `status` name it",
                ),
                keys,
            ],
            Self::Compare => vec![
                required_text("first", "the run to compare with, or a folder of runs"),
                required_text("second", "the run that is compared, or a folder of runs"),
                MARGIN,
                METRIC,
                keys,
            ],
        }
    }

    /// Whether it changes nothing.
    pub(super) fn is_read_only(self) -> bool {
        !matches!(self, Self::Run | Self::Stop)
    }
}

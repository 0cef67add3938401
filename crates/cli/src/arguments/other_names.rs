//! Flags of other load tools, which an error explains.

use waggle_flags::ForeignFlag;

/// An error for one of these names ours.
pub(crate) const FOREIGN_FLAGS: [ForeignFlag; 27] = [
    ("--vus", "--users"),
    ("--stage", "--stages"),
    ("--spawn-rate", "--stages"),
    ("--iterations", "--requests"),
    ("--amount", "--requests"),
    ("--num-requests", "--requests"),
    ("--reps", "--requests"),
    ("--rps", "--rate"),
    ("--qps", "--rate"),
    ("-q", "--rate"),
    ("--concurrency", "--connections"),
    ("--concurrent", "--connections"),
    ("--clients", "--connections"),
    ("--max-concurrent-streams", "--pipelining"),
    ("--time", "--duration"),
    ("--run-time", "--duration"),
    ("-z", "--duration"),
    ("--request", "--method"),
    ("-m", "--method"),
    ("--data-ascii", "--data"),
    ("-a", "--user"),
    ("--max-time", "--timeout"),
    ("--threads", "--workers"),
    ("--output", "--json"),
    ("-j", "--json"),
    ("--silent", "--quiet"),
    ("--no-tui", "--no-live"),
];

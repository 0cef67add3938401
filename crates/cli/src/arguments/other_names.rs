//! Flags by other names, which an error explains: earlier ones of waggle, and those of other load tools.

use waggle_flags::{ForeignFlag, OtherNames, RenamedFlag};

/// Flags that were renamed: an error for an old one names the new one.
pub(crate) const RENAMED_FLAGS: [RenamedFlag; 12] = [
    ("--only", "--filter"),
    ("--keep-awake", "--idle-poll"),
    ("--think", "--think-time"),
    ("--records-as", "--records-send-as"),
    ("--find", "--search"),
    ("--where", "--condition"),
    ("--from", "--start"),
    ("--at-least", "--min"),
    ("--at-most", "--max"),
    ("--confirm", "--confirmations"),
    ("--trials-at-most", "--max-trials"),
    ("--ready-within", "--ready-timeout"),
];

/// Flags of other load tools: an error for one names ours.
const FOREIGN_FLAGS: [ForeignFlag; 17] = [
    ("--vus", "--users"),
    ("--stage", "--stages"),
    ("--spawn-rate", "--stages"),
    ("--iterations", "--requests"),
    ("--amount", "--requests"),
    ("--num-requests", "--requests"),
    ("--reps", "--requests"),
    ("--rps", "--rate"),
    ("--qps", "--rate"),
    ("--concurrency", "--connections"),
    ("--concurrent", "--connections"),
    ("--clients", "--connections"),
    ("--max-concurrent-streams", "--pipelining"),
    ("--time", "--duration"),
    ("--run-time", "--duration"),
    ("--latencies", "--latency"),
    ("--output", "--json"),
];

pub(crate) const OTHER_NAMES: OtherNames<'static> = OtherNames {
    renamed: &RENAMED_FLAGS,
    foreign: &FOREIGN_FLAGS,
};

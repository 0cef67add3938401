//! Keys and words of earlier versions, each with what it is called now. A row only makes a message for users of old files: no old
//! key is read.

/// A key of an earlier version.
struct Key {
    /// The end of the path of the mapping that it was in, as keys are called now; `*` is any one key, and lists do not count:
    /// `search`, `components.*`, `the study`.
    parent: &'static str,
    old: &'static str,
    /// The key that it is called now, which may be followed by how it is written: `maximize: rate`. A key of another mapping is a
    /// path from the top of the file: `schedule.interval`.
    new: &'static str,
}

/// A word of an earlier version, for a value that is one of several words.
struct Word {
    /// The end of the path of the value, as above.
    path: &'static str,
    old: &'static str,
    new: &'static str,
}

/// Keys that moved or are called something else.
const KEYS: &[Key] = &[
    // Studies.
    key("the study", "disturb", "faults"),
    key("faults", "again_after", "restart_after"),
    key("the study", "find", "search"),
    key("search", "rate", "maximize: rate"),
    key("search", "users", "maximize: users"),
    key("search", "connections", "maximize: connections"),
    key("search", "where", "conditions"),
    key("search", "from", "start"),
    key("search", "at_least", "min"),
    key("search", "at_most", "max"),
    key("search", "confirm", "confirmations"),
    key("search", "trials_at_most", "max_trials"),
    key("the study", "published", "reference"),
    key("reference", "from", "file"),
    key("reference", "by", "match_on"),
    key("reference.columns", "number", "metric"),
    key("the study", "noisy_above", "schedule.repeat.max_ci_width"),
    key(
        "the study",
        "measure",
        "schedule.interval, schedule.sampling_interval and delivery",
    ),
    key("the study.measure", "interval", "schedule.interval"),
    key(
        "the study.measure",
        "resources",
        "schedule.sampling_interval",
    ),
    key("the study.measure", "delivery", "delivery at the top level"),
    key("delivery", "at", "probes"),
    key("delivery", "poll", "poll_interval"),
    key("delivery", "late_after", "late_threshold"),
    key(
        "the study.system",
        "insecure",
        "system.tls.insecure_skip_verify",
    ),
    key("the study.system", "verify", "smoke_test"),
    key("load", "think", "think_time"),
    key("load", "cpus", "cpuset"),
    key("load.request", "to", "endpoint"),
    key("load.scenario", "to", "endpoint"),
    key("load.request.records", "from", "file"),
    key("load.request.records", "as", "send_as"),
    key("schedule", "ready", "ready_timeout: DURATION"),
    key("schedule", "fresh", "restart"),
    key(
        "schedule.warm_up",
        "at_most",
        "timeout, and with until: time the whole is warm_up: DURATION",
    ),
    key("schedule.warm_up", "first", "ramp_up"),
    key("schedule.warm_up.ramp_up", "for", "duration"),
    key("schedule.measure", "at_most", "timeout"),
    key("schedule.recovery", "at_most", "duration"),
    key("schedule.drain", "at_most", "timeout"),
    key("schedule.drain", "quiet", "quiet_period"),
    // Scenarios.
    key("steps", "think", "think_time"),
    key("check", "of", "part"),
    // Systems.
    key("the system", "servers", "artifacts"),
    key("artifacts.*", "needs", "requires"),
    key("artifacts.*", "takes", "note"),
    key("components.*", "needs", "depends_on"),
    key("components.*", "stop_within", "stop_timeout"),
    key("components.*.process", "version", "version_arguments"),
    key("components.*.setup", "status", "expect: { status: NUMBER }"),
    key("components.*.setup", "within", "timeout"),
    key("verify", "within", "timeout"),
    key("verify.expect", "contains", "body_contains"),
    key("probes.*", "get", "tail: { get: PATH }"),
    key("probes.*", "by_time", "query"),
    key(
        "probes.*",
        "offset_after",
        "extract: { offset: { after: TEXT } }",
    ),
    key("probes.*", "key_after", "extract: { key: { after: TEXT } }"),
    key("probes.*", "run_after", "extract: { run: { after: TEXT } }"),
    key(
        "probes.*",
        "time_after",
        "extract: { time: { after: TEXT } }",
    ),
    key(
        "probes.*",
        "csv",
        "extract: { key: { column: NAME }, time: { column: NAME } }",
    ),
    key("probes.*", "shows", "backed_by"),
    key("the system", "watch", "metrics"),
    key("metrics.*", "metric", "prometheus"),
    key("metrics.*", "kafka_lag", "consumer_lag"),
];

/// Words that are called something else.
const WORDS: &[Word] = &[
    // Studies.
    word(
        "schedule.warm_up.until",
        "time",
        "warm_up: DURATION, or duration in place of until",
    ),
    word(
        "expect_verdict",
        "noisy",
        "no verdict: an interval says how wide it is, and the key is left out",
    ),
    word("schedule.restart", "trial", "every_trial"),
    word("schedule.restart", "cell", "every_cell"),
    // Scenarios.
    word("on_failure", "end", "end_session"),
    word("on_failure", "go_on", "continue"),
];

const fn key(parent: &'static str, old: &'static str, new: &'static str) -> Key {
    Key { parent, old, new }
}

const fn word(path: &'static str, old: &'static str, new: &'static str) -> Word {
    Word { path, old, new }
}

/// What a key is called now, if it is one of an earlier version. `path` is that of the mapping it is in, whose first step is the
/// name of the tree.
pub(crate) fn new_key(path: &[String], old: &str) -> Option<&'static str> {
    let mut rows = KEYS.iter().filter(|row| row.old == old);
    let row = rows.find(|row| ends_with(path, row.parent))?;
    Some(row.new)
}

/// What a word is called now, if it is one of an earlier version; `path` is that of the value.
pub(crate) fn new_word(path: &[String], old: &str) -> Option<&'static str> {
    let mut rows = WORDS.iter().filter(|row| row.old == old);
    let row = rows.find(|row| ends_with(path, row.path))?;
    Some(row.new)
}

/// The key that a row's text begins with; a path if it is a key of another mapping.
pub(crate) fn first_key(new: &str) -> &str {
    let end = new.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')));
    &new[..end.unwrap_or(new.len())]
}

/// Whether the end of a path matches a pattern.
pub(crate) fn ends_with(path: &[String], pattern: &str) -> bool {
    let steps: Vec<&str> = pattern.split('.').collect();
    let Some(start) = path.len().checked_sub(steps.len()) else {
        return false;
    };
    let fits = |(step, wanted): (&String, &&str)| {
        // Entries of lists are written `steps[2]`.
        let step = step.split('[').next().unwrap_or_default();
        *wanted == "*" || *wanted == step
    };
    path[start..].iter().zip(&steps).all(fits)
}

#[cfg(test)]
mod tests {
    use super::{ends_with, first_key};

    #[test]
    fn a_pattern_is_the_end_of_a_path() {
        let check = |path: &str, pattern: &str, expected: bool| {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            assert_eq!(ends_with(&path, pattern), expected, "{path:?} {pattern}");
        };
        check("the study", "the study", true);
        check("the study.load", "the study", false);
        check("the study.load.flows[2].steps[1]", "flows.steps", true);
        check("the study.load.flows[2].steps[1]", "flows", false);
        check("the system.components.front", "components.*", true);
        check("the system.components", "components.*", false);
        check("components", "the system.components", false);
    }

    #[test]
    fn a_new_key_may_say_how_it_is_written() {
        let check = |new: &str, expected: &str| assert_eq!(first_key(new), expected);
        check("faults", "faults");
        check("maximize: rate", "maximize");
        check("schedule.interval", "schedule.interval");
    }
}

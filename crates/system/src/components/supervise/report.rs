//! What a supervisor says on its standard output: one report a line.

use std::fmt;

const STARTED: &str = "started";
const NOT_STARTED: &str = "failed";
const OOM_KILLS: &str = "out-of-memory";
const ENDED: &str = "ended";

/// What has become of the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// With its process id. The first report, or why it was not started.
    Started(u32),
    NotStarted(String),
    /// The number of processes that the kernel killed because of a limit on memory; before the end.
    OomKills(u64),
    /// How it ended: `with exit code 0`. The last report.
    Ended(String),
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started(pid) => write!(f, "{STARTED} {pid}"),
            Self::NotStarted(why) => write!(f, "{NOT_STARTED} {why}"),
            Self::OomKills(count) => write!(f, "{OOM_KILLS} {count}"),
            Self::Ended(how) => write!(f, "{ENDED} {how}"),
        }
    }
}

impl Report {
    /// `None`: the line is none.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ')?;
        match word {
            STARTED => rest.parse().ok().map(Self::Started),
            NOT_STARTED => Some(Self::NotStarted(rest.to_owned())),
            OOM_KILLS => rest.parse().ok().map(Self::OomKills),
            ENDED => Some(Self::Ended(rest.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        for report in [
            Report::Started(12),
            Report::NotStarted("cannot start /bin/x: none".to_owned()),
            Report::OomKills(3),
            Report::Ended("with exit code 130".to_owned()),
        ] {
            assert_eq!(Report::parse(&report.to_string()), Some(report));
        }
        for line in [
            "",
            "started",
            "started x",
            "out-of-memory -1",
            "panicked at",
        ] {
            assert_eq!(Report::parse(line), None, "{line}");
        }
    }
}

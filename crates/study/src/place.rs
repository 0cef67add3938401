//! Places of a system that are watched: for records (probes) and for numbers (watches).

use crate::When;

/// A place that is watched for records.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    pub name: String,
    pub when: When,
    pub component: String,
    pub port: String,
    /// Other components whose data it shows.
    pub shows: Vec<String>,
    pub kind: ProbeKind,
    pub rows: Rows,
}

impl Probe {
    /// The components that may lose what it has shown: the one that is asked, and those whose data that one shows.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        let others = self.shows.iter().map(String::as_str);
        std::iter::once(self.component.as_str()).chain(others)
    }
}

/// How the place is looked at.
#[derive(Debug, Clone, PartialEq)]
pub enum ProbeKind {
    /// Text over HTTP that is read on from an offset.
    Offset {
        /// Path and query; `${offset}` and `${limit}` are replaced at each look.
        get: String,
        /// Text right before a line's offset.
        offset_after: String,
        /// Records read at once.
        limit: u32,
    },
    /// Text over HTTP that is asked for by the records' times.
    Time {
        ask: ProbeAsk,
        /// Records of one answer that are aimed at.
        limit: u32,
    },
    /// Every message of a topic of Kafka, whose value is lines.
    Kafka { topic: String },
}

/// A question about the records of a stretch of time. In path, header fields and body, `${from}` (first) and `${to}` (behind
/// the last) are replaced by nanoseconds since 1970, `${run}` by the mark of the trial's records, and `${secret.NAME}`.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeAsk {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// What a line of the answer says of its record, and where.
#[derive(Debug, Clone, PartialEq)]
pub enum Rows {
    /// Text right before the record's key, run and time.
    Marked {
        key_after: String,
        /// `None`: every record in the answer is the trial's.
        run_after: Option<String>,
        /// `None`: the time ends the line, as in line protocol.
        time_after: Option<String>,
    },
    /// Columns of CSV by the names in its header.
    Csv {
        key: String,
        time: String,
        /// `None`: every record in the answer is the trial's.
        run: Option<String>,
    },
}

/// A number of the system that is read again and again.
#[derive(Debug, Clone, PartialEq)]
pub struct Watch {
    pub name: String,
    pub when: When,
    /// What it counts, in a few words.
    pub summary: String,
    pub component: String,
    pub port: String,
    pub kind: WatchKind,
    /// What is told is by how much it grows in a second.
    pub per_second: bool,
}

/// Where the number stands.
#[derive(Debug, Clone, PartialEq)]
pub enum WatchKind {
    /// In Prometheus text: the sum over all samples of a metric that have the labels.
    Metric { get: String, metric: Metric },
    /// In JSON: the number at a JSONPath.
    Json { get: String, path: String },
    /// Messages of a topic that a group of consumers has not committed yet, over all partitions.
    KafkaLag { group: String, topic: String },
}

/// A metric by its name and labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    pub name: String,
    pub labels: Vec<(String, String)>,
}

impl Metric {
    /// Reads `name` or `name{label="value",…}`, as Prometheus writes it; values may hold `\\`, `\"` and `\n`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (name, rest) = text
            .split_once('{')
            .map_or((text, None), |(name, rest)| (name, Some(rest)));
        if !is_word(name) {
            return None;
        }
        let labels = match rest {
            Some(rest) => {
                let (labels, behind) = Self::labels(rest)?;
                behind.trim().is_empty().then_some(labels)?
            }
            None => Vec::new(),
        };
        Some(Self {
            name: name.to_owned(),
            labels,
        })
    }

    /// Labels up to their closing brace, and what stands behind it.
    #[must_use]
    pub fn labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
        let mut labels = Vec::new();
        let mut rest = text.trim_start();
        loop {
            if let Some(behind) = rest.strip_prefix('}') {
                return Some((labels, behind));
            }
            let (label, after) = rest.split_once('=')?;
            let label = label.trim();
            if !is_word(label) {
                return None;
            }
            let (value, after) = split_quoted(after.trim_start().strip_prefix('"')?)?;
            labels.push((label.to_owned(), value));
            rest = after.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
    }
}

/// A name of Prometheus.
fn is_word(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(fits)
}

/// What stands before the next quote, unescaped, and what stands behind it.
fn split_quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Metric;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &[(&str, &str)])>) {
        let expected = expected.map(|(name, labels)| Metric {
            name: name.to_owned(),
            labels: labels
                .iter()
                .map(|(label, value)| ((*label).to_owned(), (*value).to_owned()))
                .collect(),
        });
        assert_eq!(Metric::read(text), expected, "{text}");
    }

    #[test]
    fn metrics_are_read_as_prometheus_writes_them() {
        check("queue_depth", Some(("queue_depth", &[])));
        check("a:b{}", Some(("a:b", &[])));
        check(
            r#"requests_total{topic="plant",code="204"}"#,
            Some(("requests_total", &[("topic", "plant"), ("code", "204")])),
        );
        check(
            r#"m{ path = "a\\b\"c}\n", }"#,
            Some(("m", &[("path", "a\\b\"c}\n")])),
        );
        for wrong in [
            "",
            "1a",
            "a b",
            "a{",
            "a{b}",
            "a{b=c}",
            "a{b=\"c}",
            "a{} x",
            "a{1=\"c\"}",
        ] {
            check(wrong, None);
        }
    }
}

//! Metrics of a system, which are read while load runs.

use waggle_metrics::Unit;
use waggle_spec::CountComparison;

use crate::When;

/// A metric of the system, which is read repeatedly.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemMetric {
    pub name: String,
    pub when: When,
    /// What it counts, in a few words.
    pub summary: String,
    pub component: String,
    pub port: String,
    pub source: MetricSource,
    /// Its value is the growth of the number in a second.
    pub per_second: bool,
    pub unit: MetricUnit,
    /// What the number should grow by; `None`: it is compared with nothing.
    pub comparison: Option<CountComparison>,
}

/// The unit of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricUnit {
    pub of_values: Unit,
    /// What the number that is read, or its growth in a second, is multiplied by.
    pub factor: f64,
}

impl Default for MetricUnit {
    fn default() -> Self {
        Self {
            of_values: Unit::Count,
            factor: 1.0,
        }
    }
}

/// The source of the number.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricSource {
    /// In Prometheus text: the sum over all samples of a metric that have the labels.
    Prometheus { get: String, selector: Selector },
    /// In JSON: the number at a JSONPath.
    Json { get: String, path: String },
    /// Messages of a topic that a consumer group has not committed yet, over all partitions.
    ConsumerLag { group: String, topic: String },
}

/// Samples of Prometheus by name and labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    pub name: String,
    pub labels: Vec<(String, String)>,
}

impl Selector {
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

    /// Labels up to their closing brace, and the rest behind it.
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

/// The text before the next quote, unescaped, and the rest behind it.
fn split_quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((offset, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[offset + 1..])),
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
    use super::Selector;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &[(&str, &str)])>) {
        let expected = expected.map(|(name, labels)| Selector {
            name: name.to_owned(),
            labels: labels
                .iter()
                .map(|(label, value)| ((*label).to_owned(), (*value).to_owned()))
                .collect(),
        });
        assert_eq!(Selector::read(text), expected, "{text}");
    }

    #[test]
    fn selectors_are_read_as_prometheus_writes_them() {
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

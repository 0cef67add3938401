//! A number in the Prometheus text format. Pure.

use waggle_study::Selector;

/// So many samples are searched for a name that is near.
const NAMES_MAX: usize = 10_000;

/// The sum over all samples of a metric that have its labels; `None` if there is none.
pub(super) fn sum(text: &str, selector: &Selector) -> Option<f64> {
    let values = text.lines().filter_map(|line| sample(line, selector));
    values.reduce(|sum, value| sum + value)
}

/// Why a page has no number for a selector: what it has that comes nearest.
pub(super) fn absence(page: &str, text: &str, selector: &Selector) -> String {
    let name = &selector.name;
    let names = || text.lines().filter_map(sample_name);
    if names().any(|known| known == name) {
        return match selector.labels.is_empty() {
            true => format!("{page} has {name}, but no number for it"),
            false => format!("{page} has {name}, but no sample of it with these labels"),
        };
    }
    match waggle_study::nearest_word(name, names().take(NAMES_MAX)) {
        Some(nearest) => format!("{page} has no {name}; did you mean {nearest}?"),
        None => format!("{page} has no {name}"),
    }
}

/// The name of a line that is a sample.
fn sample_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let end = line.find(['{', ' ', '\t'])?;
    (end > 0 && !line.starts_with('#')).then(|| &line[..end])
}

/// The value of a line that is a sample of the metric.
fn sample(line: &str, selector: &Selector) -> Option<f64> {
    let rest = line.trim_start().strip_prefix(selector.name.as_str())?;
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => Selector::labels(rest)?,
        None => (Vec::new(), rest),
    };
    // A longer name with this prefix is another metric's.
    let rest = rest.strip_prefix([' ', '\t'])?;
    if !selector.labels.iter().all(|label| labels.contains(label)) {
        return None;
    }
    let value: f64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use waggle_study::Selector;

    use super::{absence, sum};

    const TEXT: &str = "# HELP queue_depth Readings that wait.
# TYPE queue_depth gauge
queue_depth{topic=\"plant\",shard=\"0\"} 5
queue_depth{topic=\"plant\",shard=\"1\"} 2.5 1700000000000
queue_depth{topic=\"other } \\\" one\"} 100
queue_depth_max 9
requests_total 1.2e3
broken{topic=\"plant 1
none NaN
";

    #[test]
    fn what_is_not_there_has_its_nearest_name() {
        let check = |selector: &str, expected: &str| {
            let message = absence("/metrics", TEXT, &Selector::read(selector).unwrap());
            assert_eq!(message, expected, "{selector}");
        };
        check(
            "queue_dept",
            "/metrics has no queue_dept; did you mean queue_depth?",
        );
        check("heap_bytes", "/metrics has no heap_bytes");
        check("none", "/metrics has none, but no number for it");
        check(
            "queue_depth{topic=\"none\"}",
            "/metrics has queue_depth, but no sample of it with these labels",
        );
    }

    #[test]
    fn samples_with_the_labels_are_added_up() {
        let check = |selector: &str, expected: Option<f64>| {
            assert_eq!(
                sum(TEXT, &Selector::read(selector).unwrap()),
                expected,
                "{selector}"
            );
        };
        check("queue_depth", Some(107.5));
        check("queue_depth{topic=\"plant\"}", Some(7.5));
        check("queue_depth{shard=\"1\",topic=\"plant\"}", Some(2.5));
        check("queue_depth{topic=\"other } \\\" one\"}", Some(100.0));
        check("queue_depth{topic=\"none\"}", None);
        check("queue_depth_max", Some(9.0));
        check("queue", None);
        check("requests_total", Some(1200.0));
        check("broken", None);
        check("none", None);
    }
}

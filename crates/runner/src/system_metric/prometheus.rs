//! A number in the Prometheus text format. Pure.

use waggle_study::Selector;

/// The sum over all samples of a metric that have its labels; `None` if there is none.
pub(super) fn sum(text: &str, selector: &Selector) -> Option<f64> {
    let values = text.lines().filter_map(|line| sample(line, selector));
    values.reduce(|sum, value| sum + value)
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

    use super::sum;

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

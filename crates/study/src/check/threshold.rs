//! Conditions on a cell's metrics: `path op value unit`.

use waggle_metrics::{Metric, OverTrials, Subject, Unit, resolve};
use waggle_spec::{Comparison, LoadRole, Threshold};
use waggle_units::{parse_byte_rate, parse_bytes, parse_duration, parse_number, parse_rate};

use super::{
    Checker,
    known_metrics::{Known, Sent, metric_paths, of_sent},
};
use crate::{
    Problem, Study,
    at::{At, Key},
    mistake::{Finding, Position},
    nearest::{list, nearest_word},
    parts::request::RESERVED_NAMES,
    tree::quote,
};

/// The operators of comparisons.
const COMPARES: [char; 4] = ['<', '>', '=', '!'];

/// Reads a condition on a load without a study. The paths of its metrics do not begin with a request's name, and there are no
/// metrics of delivery. A scenario also has the metrics of its `steps` and of sessions.
///
/// # Errors
/// What is wrong with it, what was expected, and the nearest right word.
pub fn read_threshold(text: &str, steps: &[String]) -> Result<Threshold, Problem> {
    let [_, generator, ..] = RESERVED_NAMES;
    let mut known = of_sent(
        &Sent {
            names: [&[String::new()], steps].concat(),
            sessions: !steps.is_empty(),
            ..Sent::default()
        },
        |row| row.over_trials != OverTrials::StandardDeviation,
    );
    known.extend(metric_paths(generator, &[Subject::Generator]));
    for (name, _) in &mut known {
        *name = name.trim_start_matches('.').to_owned();
    }
    threshold(text, Position::START, &known).map_err(message)
}

/// A finding in one sentence, for a text that is in no file.
fn message(finding: Finding) -> Problem {
    let mut message = finding.what;
    if let Some(expected) = finding.expected {
        message += &format!("; expected {expected}");
    }
    if let Some(word) = finding.meant {
        message += &format!("; did you mean {word:?}?");
    }
    Problem(message)
}

impl Study {
    /// Checks the path of a metric that is not from the study's file. The name of the request or scenario may be left out.
    ///
    /// # Errors
    /// The study does not measure it: what was expected, and the nearest known path.
    pub fn check_metric(&self, path: &str) -> Result<(), Problem> {
        let first = self.metrics.first();
        let name = first.and_then(|(first, _)| first.split_once('.'));
        let of_load = self.metrics.iter().filter_map(|(path, unit)| {
            let rest = path.strip_prefix(name?.0)?.strip_prefix('.')?;
            Some((rest.to_owned(), *unit))
        });
        let known: Vec<Known> = of_load.chain(self.metrics.iter().cloned()).collect();
        unit_of(path, Position::START, &known)
            .map(|_| ())
            .map_err(message)
    }
}

/// The conditions of a list, each with its place; `delivery`: whether the study has delivery accounting.
pub(crate) fn conditions(
    checker: &mut Checker<'_>,
    texts: &[At<String>],
    known: &[Known],
    delivery: bool,
) -> Vec<At<Threshold>> {
    let mut conditions = Vec::new();
    for text in texts {
        let position = text.place.value;
        match threshold(&text.value, position, known) {
            Ok(threshold) if is_unmeasured(&threshold.metric, delivery) => {
                checker.report(unmeasured_metric(&threshold.metric.join("."), position));
            }
            Ok(threshold) => conditions.push(At {
                place: text.place.clone(),
                value: threshold,
            }),
            Err(finding) => checker.report(finding),
        }
    }
    conditions
}

/// The metrics that the study asks about, each once; `delivery`: whether the study has delivery accounting.
pub(crate) fn asks(
    checker: &mut Checker<'_>,
    given: &Key<Vec<At<String>>>,
    known: &[Known],
    delivery: bool,
) -> Vec<Vec<String>> {
    let mut checked: Vec<Vec<String>> = Vec::new();
    for At { place, value: text } in given.value().into_iter().flatten() {
        let position = place.value;
        let path: Vec<String> = text.trim().split('.').map(str::to_owned).collect();
        if let Err(finding) = unit_of(text.trim(), position, known) {
            checker.report(finding);
        } else if is_unmeasured(&path, delivery) {
            checker.report(unmeasured_metric(text, position));
        } else if checked.contains(&path) {
            let what = format!("asks has {text} twice");
            checker.report(Finding::new(position, what).with_expected("each metric once"));
        } else {
            checked.push(path);
        }
    }
    checked
}

fn is_unmeasured(metric: &[String], delivery: bool) -> bool {
    metric[0] == "delivery" && !delivery
}

fn unmeasured_metric(metric: &str, position: Position) -> Finding {
    let what = format!("{metric} is not measured by this study");
    Finding::new(position, what).with_expected("delivery: { probes: NAME }")
}

pub(crate) fn is_of_several_trials(metric: &[String]) -> bool {
    let path: Vec<&str> = metric.iter().map(String::as_str).collect();
    resolve(&path).is_some_and(|named| named.over_trials() == OverTrials::StandardDeviation)
}

pub(crate) fn is_of_preparation(metric: &[String]) -> bool {
    let path: Vec<&str> = metric.iter().map(String::as_str).collect();
    resolve(&path)
        .is_some_and(|named| named.row.subject == Subject::SideLoad(LoadRole::Preparation))
}

/// The unit of a metric by its path.
pub(crate) fn unit_of(path: &str, position: Position, known: &[Known]) -> Result<Unit, Finding> {
    let unit = known.iter().find(|(name, _)| name == path);
    unit.map(|(_, unit)| *unit).ok_or_else(|| {
        uninspected_finding(path, position, known)
            .unwrap_or_else(|| unknown_metric(path, position, known))
    })
}

fn threshold(text: &str, position: Position, known: &[Known]) -> Result<Threshold, Finding> {
    let shape = if known.iter().any(|(name, _)| name == "delivery.missing") {
        "METRIC OP VALUE, such as delivery.missing == 0"
    } else {
        "METRIC OP VALUE, such as response_time.p99 < 50ms"
    };
    let (path, op, value) = parts(text).ok_or_else(|| {
        Finding::new(position, format!("{} is no condition", quote(text))).with_expected(shape)
    })?;
    let unit = unit_of(path, position, known)?;
    let op = match op {
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        "==" => Comparison::Equal,
        _ => {
            let finding = Finding::new(position, format!("{} is no comparison", quote(op)))
                .with_expected("<, <=, >, >= or ==");
            return Err(finding.with_suggestion((op == "=").then_some("==")));
        }
    };
    let value = parse_in_unit(&value, unit).ok_or_else(|| {
        let what = format!("{} is no value for {path}", quote(&value));
        Finding::new(position, what).with_expected(expects(unit))
    })?;
    Ok(Threshold {
        text: text.to_owned(),
        metric: path.split('.').map(str::to_owned).collect(),
        op,
        value,
    })
}

/// `path op value unit`, with or without blanks in between; `None` if it does not have this form.
fn parts(text: &str) -> Option<(&str, &str, String)> {
    let start = text.find(COMPARES)?;
    let (path, rest) = (text[..start].trim(), &text[start..]);
    let end = rest.find(|letter| !COMPARES.contains(&letter))?;
    let value: Vec<&str> = rest[end..].split_whitespace().collect();
    let has_shape =
        !path.is_empty() && !path.contains(char::is_whitespace) && (1..=2).contains(&value.len());
    has_shape.then(|| (path, &rest[..end], value.concat()))
}

/// The finding for a metric of answers that the study does not inspect.
fn uninspected_finding(path: &str, position: Position, known: &[Known]) -> Option<Finding> {
    let steps: Vec<_> = path.split('.').collect();
    let named = resolve(&steps).filter(|named| named.row.subject == Subject::Answers)?;
    // Otherwise its name is what is wrong.
    next_steps(&[named.of?], known).first()?;
    let what = format!("{path} is not measured by this study");
    let expected = match named.row.metric {
        Metric::ItemsPerAnswer => "a load.request with inspect: { count: $.items }",
        _ => "a load.request with inspect: {}",
    };
    Some(Finding::new(position, what).with_expected(expected))
}

/// The finding for an unknown path: the nearest known metric, and what can follow the part of the path that is right.
fn unknown_metric(path: &str, position: Position, known: &[Known]) -> Finding {
    let names = || known.iter().map(|(name, _)| name.as_str());
    let steps: Vec<_> = path.split('.').collect();
    let (right, next) = (0..steps.len())
        .rev()
        .map(|length| {
            (
                steps[..length].join("."),
                next_steps(&steps[..length], known),
            )
        })
        .find(|(_, next)| !next.is_empty())
        .expect("every known metric begins with the empty path");
    let near = nearest_word(path, names()).map(str::to_owned).or_else(|| {
        let wrong = steps.get(right.split('.').filter(|step| !step.is_empty()).count())?;
        nearest_word(wrong, next.iter().copied()).map(str::to_owned)
    });
    let near = near.or_else(|| response_time_of(path, known));
    let expected = if right.is_empty() {
        format!("a metric of {}", list(next))
    } else {
        format!("{right}.… with one of {}", list(next))
    };
    Finding::new(position, format!("unknown metric {}", quote(path)))
        .with_expected(expected)
        .with_suggestion(near)
}

/// What most people mean by `p99` and `query.p99`: that of the response time.
fn response_time_of(path: &str, known: &[Known]) -> Option<String> {
    let (request, quantile) = match path.rsplit_once('.') {
        Some((request, quantile)) => (format!("{request}."), quantile),
        None => (String::new(), path),
    };
    let end = format!("response_time.{quantile}");
    let names = known.iter().map(|(name, _)| name);
    let mut longer = names.filter(|name| name.starts_with(&request));
    let metric = longer.find(|name| **name == end || name.ends_with(&format!(".{end}")));
    metric.cloned()
}

/// The words that can follow the beginning of a path.
fn next_steps<'a>(path: &[&str], known: &'a [Known]) -> Vec<&'a str> {
    let mut next: Vec<&str> = Vec::new();
    for (name, _) in known {
        let mut steps = name.split('.');
        let begins = path.iter().all(|step| steps.next() == Some(step));
        if let Some(step) = steps.next().filter(|step| begins && !next.contains(step)) {
            next.push(step);
        }
    }
    next
}

pub(crate) fn parse_in_unit(text: &str, unit: Unit) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a week of nanoseconds fits 53 bits"
    )]
    let time = |text| parse_duration(text).map(|time| time.as_nanos() as f64 / 1000.0);
    match unit {
        Unit::Time => time(text),
        Unit::Rate => parse_rate(text),
        Unit::Count => parse_number(text),
        Unit::Bytes => parse_bytes(text),
        Unit::ByteRate => parse_byte_rate(text),
        Unit::Share => match text.strip_suffix('%') {
            Some(percent) => parse_number(percent).map(|percent| percent / 100.0),
            None => parse_number(text).filter(|share| *share <= 1.0),
        },
        Unit::Cpus => match text.strip_suffix('%') {
            Some(percent) => parse_number(percent).map(|percent| percent / 100.0),
            None => parse_number(text),
        },
    }
}

fn expects(unit: Unit) -> &'static str {
    match unit {
        Unit::Time => "a duration such as 50ms",
        Unit::Rate => "a rate such as 1000/s",
        Unit::Count => "a count such as 0",
        Unit::Share => "a share such as 1% or 0.01",
        Unit::Cpus => "CPUs such as 0.5 or 50%",
        Unit::Bytes => "a size such as 4KiB",
        Unit::ByteRate => "a rate such as 10MiB/s",
    }
}

/// The units that may follow a number.
pub(crate) fn suffix_expected(unit: Unit) -> &'static str {
    match unit {
        Unit::Time => "one of us, ms, s, min, h",
        Unit::Rate => "one of /s, /min, /h",
        Unit::Count => "none",
        Unit::Share | Unit::Cpus => "% or none",
        Unit::Bytes => "one of B, kB, MB, GB, KiB, MiB, GiB",
        Unit::ByteRate => "one of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_on_a_load_are_read() {
        let check = |text: &str, expected: Option<(&str, Comparison, f64)>| {
            let steps = ["login".to_owned()];
            let read = read_threshold(text, &steps).ok();
            let read = read.map(|read| (read.metric.join("."), read.op, read.value));
            let expected = expected.map(|(name, op, value)| (name.to_owned(), op, value));
            assert_eq!(read, expected, "{text}");
        };
        let p99 = |value| Some(("response_time.p99", Comparison::Less, value));
        check("response_time.p99 < 5ms", p99(5_000.0));
        check("response_time.p99<5ms", p99(5_000.0));
        check(" response_time.p99 <5 ms ", p99(5_000.0));
        check("failed==0", Some(("failed", Comparison::Equal, 0.0)));
        check(
            "response_time.p95<=1s",
            Some(("response_time.p95", Comparison::LessOrEqual, 1e6)),
        );
        check(
            "login.service_time.p99_99 > 1us",
            Some(("login.service_time.p99_99", Comparison::Greater, 1.0)),
        );
        check(
            "sessions.failed == 0",
            Some(("sessions.failed", Comparison::Equal, 0.0)),
        );
        check(
            "bytes_received_per_answer < 1.5KiB",
            Some(("bytes_received_per_answer", Comparison::Less, 1536.0)),
        );
        check(
            "bytes_sent_per_s >= 10 MB/s",
            Some(("bytes_sent_per_s", Comparison::GreaterOrEqual, 10e6)),
        );
        check(
            "login.client_wait_time.mean < 1ms",
            Some(("login.client_wait_time.mean", Comparison::Less, 1e3)),
        );
        for wrong in [
            "",
            "<",
            "failed",
            "failed <",
            "< 5ms",
            "failed = 0",
            "failed =< 0",
            "failed < 1 2 3",
            "failed now < 1",
            "logout.failed == 0",
            "login.achieved_ratio > 1%",
            "login.bytes_sent_per_s > 1B/s",
            "bytes_sent_per_s > 1B",
            "bytes_received_per_answer < 100",
            "delivery.missing == 0",
        ] {
            check(wrong, None);
        }
        assert!(read_threshold("sessions.failed == 0", &[]).is_err());
    }
}

//! Conditions on a cell's metrics: `path op value unit`.

use waggle_metrics::{CATALOGUE, OverTrials, Row, Subject, Unit, new_path, resolve};
use waggle_units::{parse_byte_rate, parse_bytes, parse_duration, parse_number, parse_rate};

use super::{Checker, request::RESERVED_NAMES};
use crate::{
    Threshold, ThresholdOp,
    mistake::{Finding, Place},
    nearest::{list, nearest_word},
    tree::quote,
};

/// A metric that can be named, and what it is counted in.
pub(super) type Known = (String, Unit);

/// What comparisons are written with.
const COMPARES: [char; 4] = ['<', '>', '=', '!'];

/// What a load sends, as thresholds name it.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// The request; or the scenario, and then its steps.
    pub names: Vec<String>,
    /// Whether there are sessions.
    pub sessions: bool,
    /// Whether `names` are all there are.
    pub complete: bool,
    /// Where delivery is followed.
    pub places: Vec<String>,
    /// The components of the system.
    pub components: Vec<String>,
    /// The metrics of the system.
    pub metrics: Vec<String>,
    /// Whether the load falls and recovery is looked for.
    pub recovery: bool,
    /// Whether components are killed on purpose.
    pub has_faults: bool,
}

/// Reads a condition on a load that belongs to no study; its metrics have no request before them, and delivery is not
/// among them. With a scenario there are those of its `steps` and of sessions, too.
///
/// # Errors
/// What is wrong with it, what was expected, and the nearest right word.
pub fn read_threshold(text: &str, steps: &[String]) -> Result<Threshold, String> {
    let [_, generator, ..] = RESERVED_NAMES;
    let mut known = of_sent(
        &Sent {
            names: [&[String::new()], steps].concat(),
            sessions: !steps.is_empty(),
            ..Sent::default()
        },
        |row| row.over_trials != OverTrials::StandardDeviation,
    );
    known.extend(numbers(generator, &[Subject::Generator]));
    for (name, _) in &mut known {
        *name = name.trim_start_matches('.').to_owned();
    }
    threshold(text, Place::START, &known).map_err(|finding| {
        let mut message = finding.what;
        if let Some(expected) = finding.expected {
            message += &format!("; expected {expected}");
        }
        if let Some(word) = finding.meant {
            message += &format!("; did you mean {word:?}?");
        }
        message
    })
}

/// Every metric that a threshold of this study can name.
pub(super) fn known_numbers(sent: &Sent) -> Vec<Known> {
    let [delivery, generator, _, components, metrics, faults] = RESERVED_NAMES;
    let mut known = of_sent(sent, |_| true);
    known.extend(numbers(delivery, &[Subject::Delivery, Subject::Probe]));
    for place in &sent.places {
        known.extend(numbers(&format!("{delivery}.{place}"), &[Subject::Probe]));
    }
    known.extend(numbers(generator, &[Subject::Generator]));
    known.extend(numbers("machine", &[Subject::Machine]));
    known.extend(numbers("system", &[Subject::System]));
    if sent.recovery {
        let rows = CATALOGUE.iter();
        let recovery = rows.filter(|row| row.subject == Subject::Recovery);
        known.extend(recovery.map(|row| (row.name.to_owned(), row.unit)));
    }
    if sent.has_faults {
        known.extend(numbers(faults, &[Subject::Fault]));
    }
    for component in &sent.components {
        known.extend(numbers(
            &format!("{components}.{component}"),
            &[Subject::Component],
        ));
    }
    for metric in &sent.metrics {
        known.extend(numbers(
            &format!("{metrics}.{metric}"),
            &[Subject::SystemMetric],
        ));
    }
    known
}

/// The metrics of what a load sends, as far as they are wanted.
fn of_sent(sent: &Sent, is_wanted: fn(&Row) -> bool) -> Vec<Known> {
    let [_, _, sessions, ..] = RESERVED_NAMES;
    let mut known = Vec::new();
    for (place, name) in sent.names.iter().enumerate() {
        // What fell due for one step of a scenario is known to nobody.
        let subjects: &[Subject] = match place {
            0 => &[Subject::Load, Subject::WholeLoad],
            _ => &[Subject::Load],
        };
        known.extend(numbers_where(name, subjects, is_wanted));
    }
    if sent.sessions {
        known.extend(numbers_where(sessions, &[Subject::Sessions], is_wanted));
    }
    known
}

/// The paths of a subject's metrics, with what comes before their names.
fn numbers(prefix: &str, subjects: &[Subject]) -> Vec<Known> {
    numbers_where(prefix, subjects, |_| true)
}

fn numbers_where(prefix: &str, subjects: &[Subject], is_wanted: fn(&Row) -> bool) -> Vec<Known> {
    let of_row = |row: &'static Row| {
        row.all_statistics().map(move |statistic| {
            let name = row.name;
            let path = match statistic {
                Some(statistic) => format!("{prefix}.{name}.{}", statistic.name()),
                None => format!("{prefix}.{name}"),
            };
            (path, row.unit)
        })
    };
    let rows = CATALOGUE.iter();
    rows.filter(|row| subjects.contains(&row.subject) && is_wanted(row))
        .flat_map(of_row)
        .collect()
}

/// The conditions of a list, which stands at the path; `delivery` is whether delivery is followed.
pub(crate) fn conditions(
    checker: &mut Checker<'_>,
    (raw, path): (Option<&Vec<String>>, &[&str]),
    known: &[Known],
    delivery: bool,
) -> Vec<Threshold> {
    let mut checked: Vec<Threshold> = Vec::new();
    for (index, text) in raw.into_iter().flatten().enumerate() {
        let place = checker.position_of(&[path, &[index.to_string().as_str()]].concat());
        match threshold(text, place, known) {
            Ok(threshold) if threshold.metric[0] == "delivery" && !delivery => {
                let what = format!(
                    "{} is not measured by this study",
                    threshold.metric.join(".")
                );
                checker
                    .report(Finding::new(place, what).with_expected("delivery: { probes: NAME }"));
            }
            Ok(threshold) if path[0] == "search" && is_of_several_trials(&threshold.metric) => {
                let name = threshold.metric.join(".");
                let what =
                    format!("{name} is a metric over trials, and a search judges each alone");
                checker.report(Finding::new(place, what).with_expected("a metric of one trial"));
            }
            Ok(threshold) => checked.push(threshold),
            Err(finding) => checker.report(finding),
        }
    }
    checked
}

fn is_of_several_trials(metric: &[String]) -> bool {
    let path: Vec<&str> = metric.iter().map(String::as_str).collect();
    resolve(&path).is_some_and(|named| named.over_trials() == OverTrials::StandardDeviation)
}

/// The unit of a metric by its path.
pub(super) fn find(path: &str, place: Place, known: &[Known]) -> Result<Unit, Finding> {
    let unit = known.iter().find(|(name, _)| name == path);
    unit.map(|(_, unit)| *unit)
        .ok_or_else(|| new_path_finding(path, place).unwrap_or_else(|| unknown(path, place, known)))
}

fn threshold(text: &str, place: Place, known: &[Known]) -> Result<Threshold, Finding> {
    let shape = if known.iter().any(|(name, _)| name == "delivery.missing") {
        "METRIC OP VALUE, such as delivery.missing == 0"
    } else {
        "METRIC OP VALUE, such as response_time.p99 < 50ms"
    };
    let (path, op, value) = parts(text).ok_or_else(|| {
        Finding::new(place, format!("{} is no condition", quote(text))).with_expected(shape)
    })?;
    let unit = find(path, place, known)?;
    let op = match op {
        "<" => ThresholdOp::Less,
        "<=" => ThresholdOp::LessOrEqual,
        ">" => ThresholdOp::Greater,
        ">=" => ThresholdOp::GreaterOrEqual,
        "==" => ThresholdOp::Equal,
        _ => {
            let finding = Finding::new(place, format!("{} compares nothing", quote(op)))
                .with_expected("<, <=, >, >= or ==");
            return Err(finding.with_suggestion((op == "=").then_some("==")));
        }
    };
    let value = in_unit(&value, unit).ok_or_else(|| {
        let what = format!("{} is no value for {path}", quote(&value));
        Finding::new(place, what).with_expected(expects(unit))
    })?;
    Ok(Threshold {
        text: text.to_owned(),
        metric: path.split('.').map(str::to_owned).collect(),
        op,
        value,
    })
}

/// `path op value unit`, with or without blanks in between; `None` where it is not of this shape.
fn parts(text: &str) -> Option<(&str, &str, String)> {
    let start = text.find(COMPARES)?;
    let (path, rest) = (text[..start].trim(), &text[start..]);
    let end = rest.find(|letter| !COMPARES.contains(&letter))?;
    let value: Vec<&str> = rest[end..].split_whitespace().collect();
    let has_shape =
        !path.is_empty() && !path.contains(char::is_whitespace) && (1..=2).contains(&value.len());
    has_shape.then(|| (path, &rest[..end], value.concat()))
}

/// The path of an earlier version, with the one of today.
fn new_path_finding(path: &str, place: Place) -> Option<Finding> {
    let steps: Vec<_> = path.split('.').collect();
    let new = new_path(&steps)?.join(".");
    let what = format!("the metric {} is now {new}", quote(path));
    Some(Finding::new(place, what))
}

/// The nearest known metric, and what can follow the part of the path that is right.
fn unknown(path: &str, place: Place, known: &[Known]) -> Finding {
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
    let expected = if right.is_empty() {
        format!("a metric of {}", list(next))
    } else {
        format!("{right}.… with one of {}", list(next))
    };
    Finding::new(place, format!("unknown metric {}", quote(path)))
        .with_expected(expected)
        .with_suggestion(near)
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

pub(super) fn in_unit(text: &str, unit: Unit) -> Option<f64> {
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

/// What may stand behind a bare number.
pub(super) fn suffix_expected(unit: Unit) -> &'static str {
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
        let check = |text: &str, expected: Option<(&str, ThresholdOp, f64)>| {
            let steps = ["login".to_owned()];
            let read = read_threshold(text, &steps).ok();
            let read = read.map(|read| (read.metric.join("."), read.op, read.value));
            let expected = expected.map(|(name, op, value)| (name.to_owned(), op, value));
            assert_eq!(read, expected, "{text}");
        };
        let p99 = |value| Some(("response_time.p99", ThresholdOp::Less, value));
        check("response_time.p99 < 5ms", p99(5_000.0));
        check("response_time.p99<5ms", p99(5_000.0));
        check(" response_time.p99 <5 ms ", p99(5_000.0));
        check("failed==0", Some(("failed", ThresholdOp::Equal, 0.0)));
        check(
            "response_time.p95<=1s",
            Some(("response_time.p95", ThresholdOp::LessOrEqual, 1e6)),
        );
        check(
            "login.service_time.p99_99 > 1us",
            Some(("login.service_time.p99_99", ThresholdOp::Greater, 1.0)),
        );
        check(
            "sessions.failed == 0",
            Some(("sessions.failed", ThresholdOp::Equal, 0.0)),
        );
        check(
            "bytes_received_per_answer < 1.5KiB",
            Some(("bytes_received_per_answer", ThresholdOp::Less, 1536.0)),
        );
        check(
            "bytes_sent_per_s >= 10 MB/s",
            Some(("bytes_sent_per_s", ThresholdOp::GreaterOrEqual, 10e6)),
        );
        check(
            "login.client_wait_time.mean < 1ms",
            Some(("login.client_wait_time.mean", ThresholdOp::Less, 1e3)),
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

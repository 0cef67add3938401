//! The result as text for a terminal. Computes nothing.

use std::{fmt::Write, time::Duration};

use waggle_report::text::{Unit, count, plain, share, time_us};

use super::{
    gather::as_f64,
    summary::{LoadResult, ModelName, Settings, Times},
};
use crate::table::duration;

/// Width of the longest bar.
const BAR_WIDTH: usize = 40;
/// Width of the names on the left.
const NAME: usize = 15;

/// Whether colours are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    On,
    Off,
}

impl Colours {
    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Self::On => format!("\x1b[{code}m{text}\x1b[0m"),
            Self::Off => text.to_owned(),
        }
    }

    fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }
}

/// The whole result.
pub(crate) fn text(result: &LoadResult, colours: Colours) -> String {
    let mut out = String::new();
    head(&mut out, result, colours);
    numbers(&mut out, result, colours);
    times(&mut out, result, colours);
    steps(&mut out, result);
    spectrum(&mut out, result, colours);
    failures(&mut out, result, colours);
    verdict(&mut out, result, colours);
    out
}

fn head(out: &mut String, result: &LoadResult, colours: Colours) {
    let settings = &result.settings;
    let over = over(settings);
    let url = colours.bold(&result.url);
    let what = what(settings);
    let _ = writeln!(out, "{what} {url}{over}");
    let _ = writeln!(out, "{}", load(result.model, settings));
    if !settings.defaults.is_empty() {
        let _ = writeln!(
            out,
            "{}",
            colours.dim(&format!("not asked for: {}", settings.defaults.join("; ")))
        );
    }
    out.push('\n');
}

/// `GET`, or `scenario shop.yaml on`: what goes to the URL.
pub(super) fn what(settings: &Settings) -> String {
    match (&settings.scenario, &settings.method) {
        (Some(scenario), _) => format!("scenario {scenario} on"),
        (None, method) => method.clone().unwrap_or_default(),
    }
}

/// What is worth saying of the protocol.
pub(super) fn over(settings: &Settings) -> &'static str {
    if settings.protocol == "h2" {
        " over HTTP/2"
    } else {
        ""
    }
}

/// `closed load: 50 connections × 4 in a pipeline, for 10 s`.
pub(super) fn load(model: ModelName, settings: &Settings) -> String {
    let many = |number: u32, of: &str| match number {
        1 => format!("1 {of}"),
        number => format!("{} {of}s", count(number.into())),
    };
    let over = || {
        let connections = many(settings.connections.unwrap_or(0), "connection");
        match settings.pipelining {
            None | Some(1) => connections,
            Some(requests) if settings.protocol == "h2" => {
                format!("{connections} × {requests} streams")
            }
            Some(requests) => format!("{connections} × {requests} in a pipeline"),
        }
    };
    let mut text = match model {
        ModelName::Closed => format!("closed load: {}", over()),
        ModelName::Open => {
            let rate = settings
                .rate_per_s
                .map_or_else(|| "a rate".to_owned(), |rate| format!("{}/s", exact(rate)));
            format!(
                "open load: {rate}, {} arrivals, over {}",
                settings.arrivals.as_deref().unwrap_or_default(),
                over()
            )
        }
        ModelName::Users => format!(
            "{}, thinking {}",
            many(settings.users.unwrap_or(0), "user"),
            settings.think.as_deref().unwrap_or_default()
        ),
    };
    if !settings.stages.is_empty() {
        let stages: Vec<String> = settings
            .stages
            .iter()
            .map(|stage| format!("{} in {}", exact(stage.to), seconds_of(stage.over_s)))
            .collect();
        let _ = write!(text, ", by stages to {}", stages.join(", "));
    } else if let Some(seconds) = settings.duration_s {
        let _ = write!(text, ", for {}", seconds_of(seconds));
    }
    if let Some(requests) = settings.requests_at_most {
        let _ = write!(text, ", {} requests at most", count(requests));
    }
    text
}

/// `10 s`, `250 ms`.
fn seconds_of(seconds: f64) -> String {
    if seconds < 1.0 {
        time_us(seconds * 1e6)
    } else {
        duration(Duration::from_secs_f64(seconds))
    }
}

/// A number as it was asked for, which is mostly whole.
fn exact(value: f64) -> String {
    value.to_string()
}

fn line(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "  {name:<NAME$}{value}");
}

fn numbers(out: &mut String, result: &LoadResult, colours: Colours) {
    let seconds = seconds_of(result.seconds);
    let rate = colours.bold(&format!("{}/s", plain(result.rate_per_s)));
    line(out, "rate", &format!("{rate}  succeeded, over {seconds}"));
    let mut requests = format!(
        "{} sent, {} succeeded, {} failed",
        count(result.sent),
        count(result.succeeded),
        count(result.failed)
    );
    if result.in_flight_at_end > 0 {
        let _ = write!(
            requests,
            ", {} not answered",
            count(result.in_flight_at_end)
        );
    }
    line(out, "requests", &requests);
    if result.model == ModelName::Open {
        let of = if result.due > 0 {
            as_f64(result.sent) / as_f64(result.due)
        } else {
            0.0
        };
        line(
            out,
            "due",
            &format!(
                "{}, {} of them sent ({} never)",
                count(result.due),
                share(of),
                count(result.due_unsent)
            ),
        );
    }
    if let Some(sessions) = &result.sessions {
        let told = format!(
            "{} started, {} completed, {} ended by a failure",
            count(sessions.started),
            count(sessions.completed),
            count(sessions.failed)
        );
        line(out, "sessions", &told);
    }
    connections(out, result);
    engine(out, result);
}

fn connections(out: &mut String, result: &LoadResult) {
    let per_s = |bytes: u64| {
        if result.seconds > 0.0 {
            as_f64(bytes) / result.seconds
        } else {
            0.0
        }
    };
    line(
        out,
        "bytes",
        &format!(
            "{} received ({}/s), {} sent",
            Unit::Bytes.show(as_f64(result.bytes_received)),
            Unit::Bytes.show(per_s(result.bytes_received)),
            Unit::Bytes.show(as_f64(result.bytes_sent))
        ),
    );
    let connect = &result.connect_time_us;
    let mut connections = format!("{} opened", count(result.connects));
    if let (Some(p50), Some(max)) = (connect.p50, connect.max) {
        let _ = write!(
            connections,
            ", p50 {} and at most {} to connect",
            time_us(as_f64(p50)),
            time_us(as_f64(max))
        );
    }
    line(out, "connections", &connections);
    if result.settings.tls {
        let handshake = &result.handshake_time_us;
        let took = match (handshake.p50, handshake.max) {
            (Some(p50), Some(max)) => format!(
                ", p50 {} and at most {}",
                time_us(as_f64(p50)),
                time_us(as_f64(max))
            ),
            _ => String::new(),
        };
        let handshakes = format!(
            "{}, {} of them resumed{took}",
            count(result.handshakes),
            count(result.handshakes_resumed)
        );
        line(out, "TLS handshakes", &handshakes);
    }
}

fn engine(out: &mut String, result: &LoadResult) {
    let engine = &result.engine;
    let memory = engine.memory_peak_bytes.map_or(String::new(), |bytes| {
        format!(", {}", Unit::Bytes.show(as_f64(bytes)))
    });
    line(
        out,
        "engine",
        &format!(
            "{} of CPU a request, busiest of {} {} busy, lag p99 {}{memory}",
            time_us(engine.cpu_us_per_request),
            engine.workers,
            share(engine.busy_percent / 100.0),
            time_us(engine.lag_us_p99)
        ),
    );
}

fn times(out: &mut String, result: &LoadResult, colours: Colours) {
    let rows: Vec<(&str, &Times)> = [
        ("response time", &result.response_time_us),
        ("service time", &result.service_time_us),
        ("of failures", &result.failed_time_us),
    ]
    .into_iter()
    // In a closed load a request is due when it is sent: the two are the same.
    .filter(|(name, _)| result.model != ModelName::Closed || *name != "service time")
    .filter(|(_, times)| times.count > 0)
    .collect();
    if rows.is_empty() {
        return;
    }
    let columns = ["p50", "p90", "p99", "p99.9", "p99.99", "max", "mean"];
    let _ = write!(out, "\n  {:<NAME$}", "");
    for column in columns {
        let _ = write!(out, "{:>10}", column);
    }
    out.push('\n');
    let mut thin = false;
    for (name, times) in rows {
        let _ = write!(out, "  {name:<NAME$}");
        let values = [
            ("p50", times.p50.map(as_f64)),
            ("p90", times.p90.map(as_f64)),
            ("p99", times.p99.map(as_f64)),
            ("p99_9", times.p99_9.map(as_f64)),
            ("p99_99", times.p99_99.map(as_f64)),
            ("max", times.max.map(as_f64)),
            ("mean", times.mean),
        ];
        for (name, value) in values {
            let is_thin = times.thin.iter().any(|thin| thin == name);
            thin |= is_thin;
            let shown = value.map_or_else(|| "–".to_owned(), time_us);
            let cell = format!("{:>10}", if is_thin { format!("({shown})") } else { shown });
            out.push_str(&if is_thin { colours.dim(&cell) } else { cell });
        }
        out.push('\n');
    }
    if thin {
        let _ = writeln!(
            out,
            "  {}",
            colours.dim("(…): fewer than ten samples lie beyond it")
        );
    }
}

/// Steps of a scenario, a line each.
fn steps(out: &mut String, result: &LoadResult) {
    let names = result.steps.iter().map(|step| step.name.chars().count());
    let width = names.max().unwrap_or(0).max("step".len());
    if result.steps.is_empty() {
        return;
    }
    let titles = [
        "succeeded",
        "failed",
        "p50",
        "p90",
        "p99",
        "max",
        "service p99",
    ];
    let _ = write!(out, "\n  {:<width$}", "step");
    for title in titles {
        let _ = write!(out, "{title:>13}");
    }
    out.push('\n');
    for step in &result.steps {
        let (response, service) = (&step.response_time_us, &step.service_time_us);
        let _ = write!(out, "  {:<width$}", step.name);
        let _ = write!(
            out,
            "{:>13}{:>13}",
            count(step.succeeded),
            count(step.failed)
        );
        for (times, name, value) in [
            (response, "p50", response.p50),
            (response, "p90", response.p90),
            (response, "p99", response.p99),
            (response, "max", response.max),
            (service, "p99", service.p99),
        ] {
            let shown = value.map_or_else(|| "–".to_owned(), |us| time_us(as_f64(us)));
            let is_thin = times.thin.iter().any(|thin| thin == name);
            let cell = if is_thin { format!("({shown})") } else { shown };
            let _ = write!(out, "{cell:>13}");
        }
        out.push('\n');
        if step.failed > 0 {
            let kinds: Vec<String> = step
                .failures
                .iter()
                .map(|(kind, number)| format!("{} × {}", count(*number), kind.replace('_', " ")))
                .collect();
            let _ = writeln!(out, "  {:<width$}    failed: {}", "", kinds.join(", "));
        }
    }
}

fn spectrum(out: &mut String, result: &LoadResult, colours: Colours) {
    let times = &result.response_time_us;
    let Some(most) = times.spectrum.iter().map(|bar| bar.count).max() else {
        return;
    };
    let _ = writeln!(out, "\n  response time, how many up to");
    let width = count(most).len();
    for bar in &times.spectrum {
        let eighths = (bar.count * 8 * BAR_WIDTH as u64).div_ceil(most.max(1));
        let bar = format!(
            "  {:>10}  {:>width$}  {}",
            time_us(as_f64(bar.up_to_us)),
            count(bar.count),
            colours.paint("36", &blocks(eighths)),
        );
        let _ = writeln!(out, "{}", bar.trim_end());
    }
}

/// A bar of so many eighths of a letter.
fn blocks(eighths: u64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let whole = usize::try_from(eighths / 8).unwrap_or(BAR_WIDTH);
    let part = usize::try_from(eighths % 8).unwrap_or(0);
    "█".repeat(whole) + PARTS[part]
}

fn failures(out: &mut String, result: &LoadResult, colours: Colours) {
    if result.failures.is_empty() {
        return;
    }
    let ended = result.succeeded + result.failed;
    let _ = writeln!(
        out,
        "\n  {}",
        colours.paint(
            "31",
            &format!(
                "failures: {} of requests that ended",
                share(result.error_share)
            )
        )
    );
    let width = result
        .failures
        .values()
        .map(|number| count(*number).len())
        .max()
        .unwrap_or(0);
    for (kind, number) in &result.failures {
        let of = if is_attempt(kind) {
            "attempts to connect".to_owned()
        } else if ended > 0 {
            share(as_f64(*number) / as_f64(ended))
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "    {:<22}{:>width$}  {of}",
            kind.replace('_', " "),
            count(*number)
        );
    }
}

/// Whether a kind of failure counts attempts to connect and not requests.
fn is_attempt(kind: &str) -> bool {
    matches!(kind, "refused" | "connect_failed" | "no_port") || kind.starts_with("handshake_")
}

fn verdict(out: &mut String, result: &LoadResult, colours: Colours) {
    out.push('\n');
    let colour = if result.verdict == "valid" {
        "1;32"
    } else {
        "1;33"
    };
    line(out, "verdict", &colours.paint(colour, &result.verdict));
    for reason in &result.verdict_reasons {
        line(out, "", reason);
    }
    for remark in &result.remarks {
        line(out, "note", remark);
    }
    for threshold in &result.thresholds {
        let outcome = match (&threshold.reason, threshold.observed) {
            (Some(reason), _) => colours.paint("31", reason),
            (None, observed) => {
                let observed = observed.map_or_else(
                    || "unknown".to_owned(),
                    |value| observed_as(&threshold.condition, value),
                );
                let (colour, holds) = if threshold.holds {
                    ("32", "holds")
                } else {
                    ("31", "does not hold")
                };
                colours.paint(colour, &format!("{holds}: it is {observed}"))
            }
        };
        line(
            out,
            "threshold",
            &format!("{}  {outcome}", threshold.condition),
        );
    }
    let interrupted = if result.interrupted {
        "interrupted; "
    } else {
        ""
    };
    line(
        out,
        "",
        &colours.dim(&format!(
            "{interrupted}single run, no uncertainty known; seed {}",
            result.seed
        )),
    );
}

/// A number in the unit that its condition is written in.
pub(super) fn observed_as(condition: &str, value: f64) -> String {
    let name = condition.split_whitespace().next().unwrap_or_default();
    match name {
        "failed" => plain(value),
        "goodput" | "throughput" => format!("{}/s", plain(value)),
        "error_share" | "achieved_share" | "engine.busy_share" => share(value),
        _ => time_us(value),
    }
}

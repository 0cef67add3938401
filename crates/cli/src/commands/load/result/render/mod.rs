//! The result as text.

mod tables;

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use waggle_report::wording::format::{Unit, count, plain, plural, share, time_us};
use waggle_results::FailureKind;

use super::summary::{LoadResult, ModelName, Settings, Times};
use crate::{output::values::duration, trial::aggregate::as_f64};

/// Width of the labels on the left.
const NAME: usize = 15;
/// The least width of the names of kinds of failures.
const KIND: usize = 21;

/// CPU steal below this, in percent, is usual on virtual machines and not shown: above it, it counts as contention.
const CPU_STEAL_MIN: f64 = 100.0 * waggle_stats::CPU_STEAL_MAX;

/// Whether colours are used.
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

/// The result as text.
pub(crate) fn text(result: &LoadResult, colours: Colours) -> String {
    let mut out = String::new();
    head(&mut out, result, colours);
    numbers(&mut out, result, colours);
    tables::times(&mut out, result, colours);
    tables::steps(&mut out, result);
    tables::spectrum(&mut out, result, colours);
    failures(&mut out, result, colours);
    verdict(&mut out, result, colours);
    out
}

fn head(out: &mut String, result: &LoadResult, colours: Colours) {
    let settings = &result.settings;
    let over = protocol_text(settings);
    let url = colours.bold(&result.url);
    let what = sent_text(settings);
    let _ = writeln!(out, "{what} {url}{over}");
    let _ = writeln!(out, "{}", load(result.model, settings));
    if !settings.defaults.is_empty() {
        let _ = writeln!(
            out,
            "{}",
            colours.dim(&format!("defaults: {}", settings.defaults.join("; ")))
        );
    }
    out.push('\n');
}

/// `GET`, or `scenario shop.yaml on`: what is sent to the URL.
pub(in crate::commands::load) fn sent_text(settings: &Settings) -> String {
    match (&settings.scenario, &settings.method) {
        (Some(scenario), _) => format!("scenario {scenario} on"),
        (None, method) => method.clone().unwrap_or_default(),
    }
}

/// The protocol, if it is not HTTP/1.1.
pub(in crate::commands::load) fn protocol_text(settings: &Settings) -> &'static str {
    match settings.protocol.as_str() {
        "h2" => " over HTTP/2",
        // Without TLS it is HTTP/1.1.
        "auto" if settings.tls => " over HTTP/2 or HTTP/1.1",
        _ => "",
    }
}

/// `closed load: 50 connections × 4 in a pipeline, for 10 s`.
pub(in crate::commands::load) fn load(model: ModelName, settings: &Settings) -> String {
    let mut text = match model {
        ModelName::Closed => format!("closed load: {}", connections_text(settings)),
        ModelName::Open => {
            let rate = settings
                .rate_per_s
                .map_or_else(String::new, |rate| format!("{}/s, ", exact(rate)));
            format!(
                "open load: {rate}{} arrivals, over {}",
                settings.arrivals.as_deref().unwrap_or_default(),
                connections_text(settings)
            )
        }
        ModelName::Users => format!(
            "{}, think time {}",
            plural(settings.users.unwrap_or(0), "user"),
            settings.think_time.as_deref().unwrap_or_default()
        ),
    };
    if !settings.stages.is_empty() {
        let stages: Vec<String> = settings
            .stages
            .iter()
            .map(|stage| match stage.duration_s > 0.0 {
                true => format!(
                    "{} in {}",
                    exact(stage.target),
                    seconds_of(stage.duration_s)
                ),
                false => format!("{} at once", exact(stage.target)),
            })
            .collect();
        let _ = write!(text, ", by stages to {}", stages.join(", "));
    } else if let Some(seconds) = settings.duration_s {
        let _ = write!(text, ", for {}", seconds_of(seconds));
    }
    if let Some(requests) = settings.max_requests {
        let many = plural(requests, "request");
        let _ = write!(text, ", at most {many}");
    }
    text
}

fn connections_text(settings: &Settings) -> String {
    let connections = plural(settings.connections.unwrap_or(0), "connection");
    match settings.pipelining {
        None | Some(1) => connections,
        Some(requests) => match settings.protocol.as_str() {
            "h2" => format!("{connections} × {requests} streams"),
            "auto" => format!("{connections} × {requests} requests"),
            _ => format!("{connections} × {requests} in a pipeline"),
        },
    }
}

/// `10 s`, `250 ms`.
fn seconds_of(seconds: f64) -> String {
    if seconds < 1.0 {
        time_us(seconds * 1e6)
    } else {
        duration(Duration::from_secs_f64(seconds))
    }
}

/// A number as it was given.
fn exact(value: f64) -> String {
    value.to_string()
}

fn line(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "  {name:<NAME$}{value}");
}

fn numbers(out: &mut String, result: &LoadResult, colours: Colours) {
    let seconds = seconds_of(result.seconds);
    let goodput = colours.bold(&format!("{}/s", plain(result.goodput_per_s)));
    line(out, "goodput", &format!("{goodput}  over {seconds}"));
    let mut requests = format!(
        "{} sent, {} succeeded, {} failed",
        count(result.sent),
        count(result.succeeded),
        count(result.failed)
    );
    if result.in_flight_at_end > 0 {
        let _ = write!(
            requests,
            ", {} without an answer",
            count(result.in_flight_at_end)
        );
    }
    line(out, "requests", &requests);
    if result.model == ModelName::Open {
        let ratio = if result.due > 0 {
            as_f64(result.sent) / as_f64(result.due)
        } else {
            0.0
        };
        line(
            out,
            "due",
            &format!(
                "{}, {} of them sent ({} skipped)",
                count(result.due),
                share(ratio),
                count(result.skipped)
            ),
        );
    }
    if let Some(sessions) = &result.sessions {
        let sessions = format!(
            "{} started, {} completed, {} failed",
            count(sessions.started),
            count(sessions.completed),
            count(sessions.failed)
        );
        line(out, "sessions", &sessions);
    }
    connections(out, result);
    generator(out, result);
    machine(out, result);
}

fn connections(out: &mut String, result: &LoadResult) {
    line(
        out,
        "bytes",
        &format!(
            "{} received ({}/s), {} sent",
            Unit::Bytes.show(as_f64(result.bytes_received)),
            Unit::Bytes.show(result.bytes_received_per_s),
            Unit::Bytes.show(as_f64(result.bytes_sent))
        ),
    );
    let connect = &result.connect_time_us;
    let mut connections = format!("{} opened", count(result.connects));
    connections.push_str(&http2_share(result));
    if let (Some(p50), Some(max)) = (connect.p50, connect.max) {
        let _ = write!(
            connections,
            ", connect time p50 {}, max {}",
            time_us(as_f64(p50)),
            time_us(as_f64(max))
        );
    }
    line(out, "connections", &connections);
    if result.settings.tls {
        let handshake = &result.handshake_time_us;
        let took = match (handshake.p50, handshake.max) {
            (Some(p50), Some(max)) => format!(
                ", p50 {}, max {}",
                time_us(as_f64(p50)),
                time_us(as_f64(max))
            ),
            _ => String::new(),
        };
        let handshakes = format!(
            "{}, {} resumed{took}",
            count(result.handshakes),
            count(result.handshakes_resumed)
        );
        line(out, "TLS handshakes", &handshakes);
    }
}

/// How many of the connections spoke HTTP/2, if any might.
fn http2_share(result: &LoadResult) -> String {
    match result.http2_connections {
        _ if result.settings.protocol == "http/1.1" || result.connects == 0 => String::new(),
        0 => ", none of them by HTTP/2".to_owned(),
        all if all == result.connects => ", all of them by HTTP/2".to_owned(),
        some => format!(", {} of them by HTTP/2", count(some)),
    }
}

/// Properties of the machine that affect the result.
fn machine(out: &mut String, result: &LoadResult) {
    let host = &result.host;
    let mut facts = Vec::new();
    if host.idle_poll {
        facts.push("idle polling".to_owned());
    }
    if let Some(stolen) = host
        .cpu_steal_percent
        .filter(|percent| *percent >= CPU_STEAL_MIN)
    {
        let stolen = share(stolen / 100.0);
        facts.push(format!("CPU steal {stolen}"));
    }
    if !facts.is_empty() {
        line(out, "machine", &facts.join("; "));
    }
}

fn generator(out: &mut String, result: &LoadResult) {
    let generator = &result.generator;
    let mut workers = plural(generator.workers, "worker");
    if !generator.generators.is_empty() {
        let _ = write!(workers, " of {} generators", generator.generators.len());
    }
    let memory = generator.memory_peak_bytes.map_or(String::new(), |bytes| {
        format!(", memory {}", Unit::Bytes.show(as_f64(bytes)))
    });
    let utilization = format!(
        "busiest of {workers} at {}, lag p99 {}",
        share(generator.utilization_percent / 100.0),
        time_us(generator.lag_us_p99)
    );
    line(out, "generator", &utilization);
    let cpu = time_us(generator.cpu_us_per_request);
    line(out, "", &format!("{cpu} CPU per request{memory}"));
}

fn failures(out: &mut String, result: &LoadResult, colours: Colours) {
    let ended = result.succeeded + result.failed;
    let title = match ended {
        0 => "failures: no request was answered".to_owned(),
        _ => format!("failures: error rate {}", share(result.error_rate)),
    };
    let of_ended = |number| share(as_f64(number) / as_f64(ended));
    kinds(
        out,
        &colours.paint("31", &title),
        &result.failures,
        of_ended,
    );
    let title = format!("connections: {} failed", count(result.connections_failed));
    let title = colours.paint("31", &title);
    kinds(out, &title, &result.connection_failures, |_| String::new());
    if let Some(sessions) = &result.sessions {
        let title = colours.paint("31", "sessions that failed by themselves");
        kinds(out, &title, &sessions.failures, |_| String::new());
    }
}

/// Failures by kind below a title; nothing if there are none.
fn kinds(
    out: &mut String,
    title: &str,
    failures: &BTreeMap<FailureKind, u64>,
    share: impl Fn(u64) -> String,
) {
    if failures.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n  {title}");
    let length = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let names = length(&mut failures.keys().map(|kind| kind.in_words().len())).max(KIND);
    let numbers = length(&mut failures.values().map(|number| count(*number).len()));
    for (kind, number) in failures {
        let line = format!(
            "    {:<names$} {:>numbers$}  {}",
            kind.in_words(),
            count(*number),
            share(*number)
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
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
    for cause in &result.verdict_causes {
        line(out, "cause", cause);
    }
    for remark in &result.remarks {
        line(out, "note", remark);
    }
    for threshold in &result.thresholds {
        let observed = threshold.observed.map_or_else(
            || "unknown".to_owned(),
            |value| observed_as(&threshold.condition, value),
        );
        let (colour, held) = match (threshold.holds, threshold.undecided) {
            (true, _) => ("32", "holds"),
            (false, true) => ("33", "undecided"),
            (false, false) => ("31", "does not hold"),
        };
        let reason = threshold.reason.iter();
        let reason: String = reason.map(|reason| format!(" ({reason})")).collect();
        let outcome = colours.paint(colour, &format!("{held}: {observed}{reason}"));
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
            "{interrupted}single run, no confidence interval; seed {}",
            result.seed
        )),
    );
}

/// A value in the unit of its condition.
pub(in crate::commands::load) fn observed_as(condition: &str, value: f64) -> String {
    let is_name = |letter: char| letter != '<' && letter != '>' && letter != '=';
    let name = condition.split(|letter| !is_name(letter)).next();
    let metric = name.unwrap_or_default().trim().rsplit('.').next();
    match metric.unwrap_or_default() {
        "failed" | "started" | "completed" => plain(value),
        "goodput" | "throughput" => format!("{}/s", plain(value)),
        "error_rate" | "achieved_ratio" | "utilization" | "capacity_used" => share(value),
        _ => time_us(value),
    }
}

//! Times, steps and the spectrum, as tables and bars.

use std::fmt::Write;

use waggle_report::wording::format::{count, time_us};

use super::{Colours, LoadResult, ModelName, Times, as_f64};

/// Width of the row labels: with seven columns of 10 and the margin, a line has the 80 columns of a terminal.
const ROW: usize = 8;
/// Maximum width of a bar.
const BAR_WIDTH: usize = 40;

pub(super) fn times(out: &mut String, result: &LoadResult, colours: Colours) {
    let rows: Vec<(&str, &Times)> = [
        ("response", &result.response_time_us),
        ("service", &result.service_time_us),
        ("failures", &result.failed_time_us),
    ]
    .into_iter()
    // In a closed load a request is due when it is sent, so both are the same.
    .filter(|(name, _)| result.model != ModelName::Closed || *name != "service")
    .filter(|(_, times)| times.count > 0)
    .collect();
    if rows.is_empty() {
        return;
    }
    let columns = ["p50", "p90", "p99", "p99.9", "p99.99", "max", "mean"];
    let _ = write!(out, "\n  {:<ROW$}", "time");
    for column in columns {
        let _ = write!(out, "{:>10}", column);
    }
    out.push('\n');
    let mut thin = false;
    for (name, times) in rows {
        let _ = write!(out, "  {name:<ROW$}");
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
            colours.dim("(…): fewer than ten samples above it")
        );
    }
}

/// The table of the steps of a scenario.
pub(super) fn steps(out: &mut String, result: &LoadResult) {
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
                .map(|(kind, number)| format!("{} × {}", count(*number), kind.in_words()))
                .collect();
            let _ = writeln!(out, "  {:<width$}    failed: {}", "", kinds.join(", "));
        }
    }
}

pub(super) fn spectrum(out: &mut String, result: &LoadResult, colours: Colours) {
    let times = &result.response_time_us;
    let Some(most) = times.spectrum.iter().map(|bar| bar.count).max() else {
        return;
    };
    let _ = writeln!(out, "\n  response time, requests up to");
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

/// A bar, in eighths of a character.
fn blocks(eighths: u64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let whole = usize::try_from(eighths / 8).unwrap_or(BAR_WIDTH);
    let part = usize::try_from(eighths % 8).unwrap_or(0);
    "█".repeat(whole) + PARTS[part]
}

//! Figures and texts next to the charts.

use ratatui::style::Style;
use waggle_report::wording::format::{Unit, count, plain, share, time_us};
use waggle_stats::Verdict;

use super::{
    area::{Area, wrap},
    frame::Frame,
    labels::time,
    palette::{BAD, BOLD, DIM, GOOD, PERCENTILE_COLOURS, RATE},
};
use crate::{
    live::view_model::{FIGURES, Figures},
    trial::{aggregate::as_f64, so_far::ratio},
};

/// Columns for the names of figures.
const NAME: u16 = 12;
/// The same for the load generator.
const LONG_LABEL: u16 = 16;
/// Rows of the figures next to the charts if none is omitted: requests, response time, load generator.
const ALL_ROWS: u16 = 22;
/// Columns of the name of a step or a failure.
const LONG_NAME: usize = 28;

/// The column next to the charts.
pub(super) fn draw_side_column(frame: &Frame<'_>, area: &mut Area<'_>) {
    let has_failures = !frame.model.failures.is_empty();
    requests(frame, area);
    response_time(frame, area);
    engine(
        frame,
        area,
        area.height() > if has_failures { 6 } else { 3 },
    );
    if has_failures {
        failures(frame, area);
    }
    if area.height() >= 3 && !frame.model.statuses.is_empty() {
        statuses(frame, area);
    }
    if area.height() >= 3 && !frame.model.steps.is_empty() {
        steps(frame, area);
    }
}

/// Without charts.
pub(super) fn draw_all(frame: &Frame<'_>, area: &mut Area<'_>) {
    if area.height() > ALL_ROWS {
        verdict(frame, &mut area.bottom(3));
    } else if area.height() > 4 {
        verdict(frame, &mut area.bottom(2));
    }
    draw_side_column(frame, area);
}

/// Two columns of everything.
pub(super) fn details(frame: &Frame<'_>, area: &mut Area<'_>) {
    let half = area.width() / 2;
    let mut right = area.right(half);
    if !frame.model.steps.is_empty() {
        let rows = u16::try_from(frame.model.steps.len() + 2).unwrap_or(u16::MAX);
        let most = right.height() / 2;
        steps(frame, &mut right.top(rows.min(most)));
    }
    failures(frame, &mut right.top(9.min(right.rect.height / 2)));
    verdict(frame, &mut right);
    area.right(2);
    requests(frame, area);
    response_time(frame, area);
    engine(frame, area, true);
    if area.height() >= 2 {
        statuses(frame, area);
    }
}

fn figure(area: &mut Area<'_>, name: &str, value: &str, style: Style) {
    let mut row = area.top(1);
    row.put(0, 0, name, DIM);
    row.put(NAME, 0, value, style);
}

fn requests(frame: &Frame<'_>, area: &mut Area<'_>) {
    let model = frame.model;
    let figures = &model.overall;
    area.title("requests", "");
    figure(area, "succeeded", &count(figures.succeeded), BOLD);
    let ended = figures.succeeded + figures.failed;
    let failed = match figures.failed {
        0 => ("0".to_owned(), Style::new()),
        failed => (
            format!(
                "{}, {}",
                count(failed),
                share(ratio(as_f64(failed), as_f64(ended)))
            ),
            frame.palette.colour(BAD).patch(BOLD),
        ),
    };
    figure(area, "failed", &failed.0, failed.1);
    if model.is_open {
        let style = if figures.due_unsent > 0 {
            frame.palette.colour(BAD).patch(BOLD)
        } else {
            Style::new()
        };
        figure(area, "skipped", &count(figures.due_unsent), style);
    }
    // The rows that are left are for the response times.
    if area.height() < 10 {
        return;
    }
    figure(area, "in flight", &count(model.in_flight), Style::new());
    let open = format!(
        "{} of {} open",
        count(model.connections_open),
        count(model.connections_asked)
    );
    let style = if model.connections_open < model.connections_asked {
        frame.palette.colour(BAD)
    } else {
        Style::new()
    };
    figure(area, "connections", &open, style);
    let received = format!("{}/s", Unit::Bytes.show(model.now.bytes_per_s));
    figure(area, "received", &received, Style::new());
}

/// Percentiles, current and over the measured phase.
fn response_time(frame: &Frame<'_>, area: &mut Area<'_>) {
    let model = frame.model;
    area.title("response time", "");
    let mut heads = area.top(1);
    let columns = [NAME / 2 + 2, NAME / 2 + 13];
    let cell = |text: &str| format!("{text:>10}");
    heads.put(columns[0] - 2, 0, &cell("now"), DIM);
    heads.put(columns[1] - 2, 0, &cell("overall"), DIM);
    for (which, (name, _)) in FIGURES.iter().enumerate() {
        let mut row = area.top(1);
        row.put(0, 0, name, percentile_style(frame, name));
        row.put(
            columns[0] - 2,
            0,
            &cell(&time(model.now.response_us[which])),
            Style::new(),
        );
        row.put(
            columns[1] - 2,
            0,
            &cell(&time(model.overall.response_us[which])),
            BOLD,
        );
    }
}

fn percentile_style(frame: &Frame<'_>, name: &str) -> Style {
    let index = match name {
        "p50" => 0,
        "p90" => 1,
        "max" => 3,
        _ => 2,
    };
    frame.palette.colour(PERCENTILE_COLOURS[index])
}

/// Percentiles in one row: `p50 820 µs  p90 …`.
pub(super) fn times_in_a_row(frame: &Frame<'_>, area: &mut Area<'_>) {
    area.title("overall", "");
    let mut column = 0;
    for ((name, _), us) in FIGURES.iter().zip(frame.model.overall.response_us) {
        area.put(column, 0, name, percentile_style(frame, name));
        column += u16::try_from(name.chars().count() + 1).unwrap_or(0);
        let text = time(us);
        area.put(column, 0, &text, BOLD);
        column += u16::try_from(text.chars().count() + 3).unwrap_or(0);
    }
}

fn engine(frame: &Frame<'_>, area: &mut Area<'_>, in_full: bool) {
    let (now, overall) = (&frame.model.now, &frame.model.overall);
    area.title("load generator", if in_full { "now, overall" } else { "" });
    // Above this value the checks report the load generator as the limit.
    let is_high = now.busy >= waggle_stats::GENERATOR_BUSY;
    let style = if is_high {
        frame.palette.colour(BAD).patch(BOLD)
    } else {
        Style::new()
    };
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    if !in_full {
        let text = format!(
            "{} CPU · {} · lag {}",
            percent(now.busy),
            time_us(now.cpu_us_per_request),
            time_us(now.lag_p99_us)
        );
        area.top(1).put(0, 0, &text, style);
        return;
    }
    let mut row = |name: &str, [now, overall]: [String; 2], style: Style| {
        let mut row = area.top(1);
        row.put(0, 0, name, DIM);
        row.put(LONG_LABEL, 0, &format!("{now:>8} {overall:>9}"), style);
    };
    let each = |value: fn(&Figures) -> f64, show: &dyn Fn(f64) -> String| {
        [show(value(now)), show(value(overall))]
    };
    row("utilization", each(|figures| figures.busy, &percent), style);
    let cpu = each(|figures| figures.cpu_us_per_request, &time_us);
    row("CPU per request", cpu, Style::new());
    row(
        "lag p99",
        each(|figures| figures.lag_p99_us, &time_us),
        Style::new(),
    );
}

/// Kinds, the most frequent first; those that do not fit are counted.
fn failures(frame: &Frame<'_>, area: &mut Area<'_>) {
    let model = frame.model;
    area.title("failures", "");
    if model.failures.is_empty() {
        area.top(1).put(0, 0, "none", frame.palette.colour(GOOD));
        return;
    }
    let ended = as_f64(model.overall.succeeded + model.overall.failed);
    let rows = usize::from(area.height());
    let all_fit = model.failures.len() <= rows;
    let listed = if all_fit {
        rows
    } else {
        rows.saturating_sub(1)
    };
    for failed in model.failures.iter().take(listed) {
        let mut row = area.top(1);
        let width = row.width();
        // A connection has no share of the requests.
        let of_requests = match failed.is_of_request {
            true => share(ratio(as_f64(failed.count), ended)),
            false => String::new(),
        };
        let value = format!("{}  {of_requests:>7}", count(failed.count));
        row.put_right(0, &value, frame.palette.colour(BAD));
        let left = width.saturating_sub(u16::try_from(value.chars().count() + 1).unwrap_or(0));
        row.take_left(left).put(0, 0, &failed.kind, Style::new());
    }
    if !all_fit {
        let rest = model.failures.len() - listed;
        area.top(1)
            .put(0, 0, &format!("and {rest} more kinds"), DIM);
    }
}

fn statuses(frame: &Frame<'_>, area: &mut Area<'_>) {
    area.title("answers by status", "");
    for (status, answers) in &frame.model.statuses {
        if area.height() == 0 {
            return;
        }
        let is_good = !frame
            .model
            .failures
            .iter()
            .any(|failed| failed.kind == format!("status {status}"));
        let colour = frame.palette.colour(if is_good { GOOD } else { BAD });
        figure(area, status, &count(*answers), colour);
    }
}

/// Each step of a scenario with its goodput and times.
fn steps(frame: &Frame<'_>, area: &mut Area<'_>) {
    area.title("steps", "goodput now, p50, p99, failed");
    let name_width = usize::from(area.width())
        .saturating_sub(36)
        .clamp(6, LONG_NAME);
    for step in &frame.model.steps {
        if area.height() == 0 {
            return;
        }
        let mut row = area.top(1);
        let mut name: String = step.name.chars().take(name_width).collect();
        if name.chars().count() < step.name.chars().count() {
            name.pop();
            name.push('…');
        }
        row.put(0, 0, &name, Style::new());
        let figures = format!(
            "{:>7}/s {:>8} {:>8}",
            plain(step.rate_now_per_s),
            time(step.p50_us),
            time(step.p99_us)
        );
        let column = u16::try_from(name_width + 1).unwrap_or(0);
        row.put(column, 0, &figures, frame.palette.colour(RATE));
        if step.counts.failed > 0 {
            let failed = format!(" {}", count(step.counts.failed));
            row.put(column + 27, 0, &failed, frame.palette.colour(BAD));
        }
    }
}

/// The verdict of a load that ends now, with its reasons.
pub(super) fn verdict(frame: &Frame<'_>, area: &mut Area<'_>) {
    let Some(verdict) = &frame.model.verdict else {
        area.title("verdict so far", "none, nothing measured yet");
        return;
    };
    let colour = frame.palette.colour(if verdict.verdict == Verdict::Valid {
        GOOD
    } else {
        BAD
    });
    area.draw_title("verdict so far", verdict.verdict.name(), colour.patch(BOLD));
    if verdict.reasons.is_empty() && verdict.remarks.is_empty() {
        let text = "no problem found so far";
        area.top(1).put(0, 0, text, DIM);
    }
    let reasons = verdict.reasons.iter().map(|reason| (reason, Style::new()));
    let remarks = verdict.remarks.iter().map(|remark| (remark, DIM));
    for (text, style) in reasons.chain(remarks) {
        for line in wrap(text, usize::from(area.width())) {
            if area.height() == 0 {
                return;
            }
            area.top(1).put(0, 0, &line, style);
        }
    }
}

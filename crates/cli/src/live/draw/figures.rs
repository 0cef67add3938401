//! Figures and texts beside the charts.

use ratatui::style::Style;
use waggle_report::wording::format::{Unit, count, plain, share, time_us};
use waggle_stats::Verdict;

use super::{
    look::Look,
    palette::{BAD, BOLD, DIM, GOOD, PERCENTILE_COLOURS, RATE},
    room::{Room, wrap},
    words::time,
};
use crate::{
    live::shown::{FIGURES, Figures},
    trial::{gather::as_f64, so_far::ratio},
};

/// Columns for the names of figures.
const NAME: u16 = 12;
/// The same for the load generator.
const LONG_LABEL: u16 = 16;
/// Rows of the figures beside the charts if none is omitted: requests, response time, load generator.
const ALL_ROWS: u16 = 22;
/// Columns of the name of a step or a failure.
const LONG_NAME: usize = 28;

/// The column beside the charts.
pub(super) fn draw_beside_charts(look: &Look<'_>, room: &mut Room<'_>) {
    let has_failures = !look.shown.failures.is_empty();
    requests(look, room);
    response_time(look, room);
    engine(look, room, room.height() > if has_failures { 6 } else { 3 });
    if has_failures {
        failures(look, room);
    }
    if room.height() >= 3 && !look.shown.statuses.is_empty() {
        statuses(look, room);
    }
    if room.height() >= 3 && !look.shown.steps.is_empty() {
        steps(look, room);
    }
}

/// Without charts.
pub(super) fn draw_all(look: &Look<'_>, room: &mut Room<'_>) {
    if room.height() > ALL_ROWS {
        verdict(look, &mut room.bottom(3));
    } else if room.height() > 4 {
        verdict(look, &mut room.bottom(2));
    }
    draw_beside_charts(look, room);
}

/// Two columns of everything.
pub(super) fn details(look: &Look<'_>, room: &mut Room<'_>) {
    let half = room.width() / 2;
    let mut right = room.right(half);
    if !look.shown.steps.is_empty() {
        let rows = u16::try_from(look.shown.steps.len() + 2).unwrap_or(u16::MAX);
        let most = right.height() / 2;
        steps(look, &mut right.top(rows.min(most)));
    }
    failures(look, &mut right.top(9.min(right.area.height / 2)));
    verdict(look, &mut right);
    room.right(2);
    requests(look, room);
    response_time(look, room);
    engine(look, room, true);
    if room.height() >= 2 {
        statuses(look, room);
    }
}

fn figure(room: &mut Room<'_>, name: &str, value: &str, style: Style) {
    let mut row = room.top(1);
    row.put(0, 0, name, DIM);
    row.put(NAME, 0, value, style);
}

fn requests(look: &Look<'_>, room: &mut Room<'_>) {
    let shown = look.shown;
    let figures = &shown.overall;
    room.title("requests", "");
    figure(room, "succeeded", &count(figures.succeeded), BOLD);
    let ended = figures.succeeded + figures.failed;
    let failed = match figures.failed {
        0 => ("0".to_owned(), Style::new()),
        failed => (
            format!(
                "{}, {}",
                count(failed),
                share(ratio(as_f64(failed), as_f64(ended)))
            ),
            look.ink.colour(BAD).patch(BOLD),
        ),
    };
    figure(room, "failed", &failed.0, failed.1);
    if shown.is_open {
        let style = if figures.due_unsent > 0 {
            look.ink.colour(BAD).patch(BOLD)
        } else {
            Style::new()
        };
        figure(room, "skipped", &count(figures.due_unsent), style);
    }
    // The rows that are left are for the response times.
    if room.height() < 10 {
        return;
    }
    figure(room, "in flight", &count(shown.in_flight), Style::new());
    let open = format!(
        "{} of {} open",
        count(shown.connections_open),
        count(shown.connections_asked)
    );
    let style = if shown.connections_open < shown.connections_asked {
        look.ink.colour(BAD)
    } else {
        Style::new()
    };
    figure(room, "connections", &open, style);
    let received = format!("{}/s", Unit::Bytes.show(shown.now.bytes_per_s));
    figure(room, "received", &received, Style::new());
}

/// Percentiles, current and over the measured phase.
fn response_time(look: &Look<'_>, room: &mut Room<'_>) {
    let shown = look.shown;
    room.title("response time", "");
    let mut heads = room.top(1);
    let columns = [NAME / 2 + 2, NAME / 2 + 13];
    let cell = |text: &str| format!("{text:>10}");
    heads.put(columns[0] - 2, 0, &cell("now"), DIM);
    heads.put(columns[1] - 2, 0, &cell("overall"), DIM);
    for (which, (name, _)) in FIGURES.iter().enumerate() {
        let mut row = room.top(1);
        row.put(0, 0, name, percentile_style(look, name));
        row.put(
            columns[0] - 2,
            0,
            &cell(&time(shown.now.response_us[which])),
            Style::new(),
        );
        row.put(
            columns[1] - 2,
            0,
            &cell(&time(shown.overall.response_us[which])),
            BOLD,
        );
    }
}

fn percentile_style(look: &Look<'_>, name: &str) -> Style {
    let place = match name {
        "p50" => 0,
        "p90" => 1,
        "max" => 3,
        _ => 2,
    };
    look.ink.colour(PERCENTILE_COLOURS[place])
}

/// Percentiles in one row: `p50 820 µs  p90 …`.
pub(super) fn times_in_a_row(look: &Look<'_>, room: &mut Room<'_>) {
    room.title("overall", "");
    let mut column = 0;
    for ((name, _), us) in FIGURES.iter().zip(look.shown.overall.response_us) {
        room.put(column, 0, name, percentile_style(look, name));
        column += u16::try_from(name.chars().count() + 1).unwrap_or(0);
        let text = time(us);
        room.put(column, 0, &text, BOLD);
        column += u16::try_from(text.chars().count() + 3).unwrap_or(0);
    }
}

fn engine(look: &Look<'_>, room: &mut Room<'_>, in_full: bool) {
    let (now, overall) = (&look.shown.now, &look.shown.overall);
    room.title("load generator", if in_full { "now, overall" } else { "" });
    // Above this value the checks report the load generator as the limit.
    let is_high = now.busy >= waggle_stats::GENERATOR_BUSY;
    let style = if is_high {
        look.ink.colour(BAD).patch(BOLD)
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
        room.top(1).put(0, 0, &text, style);
        return;
    }
    let mut row = |name: &str, values: [String; 2], style: Style| {
        let mut row = room.top(1);
        row.put(0, 0, name, DIM);
        let [now, overall] = values;
        row.put(LONG_LABEL, 0, &format!("{now:>8} {overall:>9}"), style);
    };
    let each = |value: fn(&Figures) -> f64, show: &dyn Fn(f64) -> String| {
        [show(value(now)), show(value(overall))]
    };
    row("utilization", each(|of| of.busy, &percent), style);
    let cpu = each(|of| of.cpu_us_per_request, &time_us);
    row("CPU per request", cpu, Style::new());
    row("lag p99", each(|of| of.lag_p99_us, &time_us), Style::new());
}

/// Kinds, the most frequent first; those that do not fit are counted.
fn failures(look: &Look<'_>, room: &mut Room<'_>) {
    let shown = look.shown;
    room.title("failures", "");
    if shown.failures.is_empty() {
        room.top(1).put(0, 0, "none", look.ink.colour(GOOD));
        return;
    }
    let ended = as_f64(shown.overall.succeeded + shown.overall.failed);
    let place = usize::from(room.height());
    let all_fit = shown.failures.len() <= place;
    let listed = if all_fit {
        place
    } else {
        place.saturating_sub(1)
    };
    for (kind, failed) in shown.failures.iter().take(listed) {
        let mut row = room.top(1);
        let width = row.width();
        let value = format!(
            "{}  {:>7}",
            count(*failed),
            share(ratio(as_f64(*failed), ended))
        );
        row.put_right(0, &value, look.ink.colour(BAD));
        let left = width.saturating_sub(u16::try_from(value.chars().count() + 1).unwrap_or(0));
        row.take_left(left).put(0, 0, kind, Style::new());
    }
    if !all_fit {
        let rest = shown.failures.len() - listed;
        room.top(1)
            .put(0, 0, &format!("and {rest} more kinds"), DIM);
    }
}

fn statuses(look: &Look<'_>, room: &mut Room<'_>) {
    room.title("answers by status", "");
    for (status, answers) in &look.shown.statuses {
        if room.height() == 0 {
            return;
        }
        let is_good = !look
            .shown
            .failures
            .iter()
            .any(|(kind, _)| kind == &format!("status {status}"));
        let colour = look.ink.colour(if is_good { GOOD } else { BAD });
        figure(room, status, &count(*answers), colour);
    }
}

/// Each step of a scenario with its goodput and times.
fn steps(look: &Look<'_>, room: &mut Room<'_>) {
    room.title("steps", "goodput now, p50, p99, failed");
    let name_width = usize::from(room.width())
        .saturating_sub(36)
        .clamp(6, LONG_NAME);
    for step in &look.shown.steps {
        if room.height() == 0 {
            return;
        }
        let mut row = room.top(1);
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
        row.put(column, 0, &figures, look.ink.colour(RATE));
        if step.counts.failed > 0 {
            let failed = format!(" {}", count(step.counts.failed));
            row.put(column + 27, 0, &failed, look.ink.colour(BAD));
        }
    }
}

/// The verdict of a load that ends now, with its reasons.
pub(super) fn verdict(look: &Look<'_>, room: &mut Room<'_>) {
    let Some(said) = &look.shown.said else {
        room.title("verdict so far", "none, nothing measured yet");
        return;
    };
    let colour = look.ink.colour(if said.verdict == Verdict::Valid {
        GOOD
    } else {
        BAD
    });
    room.draw_title("verdict so far", said.verdict.name(), colour.patch(BOLD));
    if said.reasons.is_empty() && said.remarks.is_empty() {
        let text = "no problem found so far";
        room.top(1).put(0, 0, text, DIM);
    }
    let reasons = said.reasons.iter().map(|reason| (reason, Style::new()));
    let remarks = said.remarks.iter().map(|remark| (remark, DIM));
    for (text, style) in reasons.chain(remarks) {
        for line in wrap(text, usize::from(room.width())) {
            if room.height() == 0 {
                return;
            }
            room.top(1).put(0, 0, &line, style);
        }
    }
}

//! Response time over time, on a logarithmic axis: percentiles as lines, and a heat map of all answers.

use ratatui::{
    style::{Color, Style},
    symbols::Marker,
    widgets::{
        Widget,
        canvas::{Canvas, Line, Points},
    },
};

use super::{
    charts::{MARKS, TimeAxis, slices_within},
    log_axis::LogAxis,
    look::Look,
    palette::{DIM, PERCENTILE_COLOURS},
    room::Room,
    words::mark,
};
use crate::{
    live::{
        history::{PERCENTILES, Slice},
        spectrum::Spectrum,
    },
    trial::so_far::ratio,
};

/// Columns for the names on the right.
const NAMES: u16 = 4;
/// Minimum distance of two ticks in rows.
const APART: u16 = 2;
/// The letter for a share of a column's samples, with the minimum share of each.
const SHADES: [(f64, &str); 4] = [(0.2, "█"), (0.05, "▓"), (0.01, "▒"), (0.0, "░")];

fn slices<'a>(look: &Look<'a>) -> Vec<&'a Slice> {
    look.shown.history.slices(look.span).collect()
}

/// p50, p90, p99 and the maximum of each slice.
pub(super) fn lines(look: &Look<'_>, room: &mut Room<'_>) {
    room.title("response time", "p50, p90, p99, max over time");
    let time = TimeAxis::new(look);
    let slices = slices(look);
    let values = || {
        slices
            .iter()
            .flat_map(|slice| slice.percentiles())
            .flatten()
    };
    let least = values().copied().fold(f64::INFINITY, f64::min);
    let most = values().copied().fold(0.0, f64::max);
    time.marks(room);
    if most <= 0.0 {
        draw_no_data(room);
        return;
    }
    let axis = LogAxis::from_range(least.max(1.0).log10(), most.max(1.0).log10());
    left_marks(room, axis);
    room.take_left(MARKS);
    names(look, room, axis);
    room.right(NAMES);
    let drawn = Canvas::default()
        .marker(Marker::Braille)
        .x_bounds([time.from_s, time.to_s])
        .y_bounds([axis.from, axis.to])
        .paint(|context| {
            // The lowest line is drawn last, over the others.
            for (which, (_, colour)) in PERCENTILES.iter().zip(PERCENTILE_COLOURS).enumerate().rev()
            {
                let colour = match look.ink {
                    super::palette::Ink::Coloured => colour,
                    super::palette::Ink::Plain => Color::Reset,
                };
                for line in line(&slices, which, colour) {
                    context.draw(&line);
                }
                context.draw(&Points {
                    coords: &points(&slices, which),
                    color: colour,
                });
                context.layer();
            }
        });
    drawn.render(room.area, room.buffer);
}

/// The points at the middle of each slice with samples.
fn points(slices: &[&Slice], which: usize) -> Vec<(f64, f64)> {
    slices
        .iter()
        .filter_map(|slice| {
            let us = slice.percentiles()[which]?;
            Some((slice.start_s + slice.seconds / 2.0, us.max(1.0).log10()))
        })
        .collect()
}

/// Lines from slice to slice; interrupted by slices without samples.
fn line(slices: &[&Slice], which: usize, color: Color) -> Vec<Line> {
    slices
        .windows(2)
        .filter_map(|pair| {
            let [(x1, y1), (x2, y2)] = <[(f64, f64); 2]>::try_from(points(pair, which)).ok()?;
            Some(Line {
                x1,
                y1,
                x2,
                y2,
                color,
            })
        })
        .collect()
}

/// Each name at the end of its line, or in the next free row.
fn names(look: &Look<'_>, room: &mut Room<'_>, axis: LogAxis) {
    let Some(last) = look.shown.history.latest_slice() else {
        return;
    };
    let rows = room.height();
    let column = room.width().saturating_sub(NAMES - 1);
    let mut free = rows;
    // From the lowest line upwards, so names have the order of their lines.
    for (((name, _), us), colour) in PERCENTILES
        .iter()
        .zip(last.percentiles())
        .zip(PERCENTILE_COLOURS)
    {
        let Some(us) = us else { continue };
        let row = rows - 1 - axis.position(us.max(1.0).log10(), rows);
        let row = row.min(free.saturating_sub(1));
        if free == 0 {
            return;
        }
        room.put(column, row, name, look.ink.colour(colour));
        free = row;
    }
}

/// Heat map of response times over time: the darker, the larger the share of the answers of that time.
pub(super) fn heat(look: &Look<'_>, room: &mut Room<'_>) {
    room.title(
        "response time heat map",
        "share: █ ≥ 20 % ▓ ≥ 5 % ▒ ≥ 1 % ░ less",
    );
    let slices = slices(look);
    let mut all = Spectrum::default();
    for slice in &slices {
        all.add(&slice.response_time);
    }
    let Some((least, most)) = all.range() else {
        draw_no_data(room);
        return;
    };
    let axis = LogAxis::from_range(least, most);
    let time = TimeAxis::new(look);
    left_marks(room, axis);
    room.take_left(MARKS);
    // The same width as the chart above, so columns are aligned.
    room.right(NAMES);
    let (width, height) = (room.width(), room.height());
    let step = (axis.to - axis.from) / f64::from(height.max(1));
    for column in 0..width {
        let parts: Vec<(&Slice, f64)> =
            slices_within(&slices, time.column(column, width)).collect();
        let between = |from: f64, to: f64| -> f64 {
            parts
                .iter()
                .map(|(slice, overlap)| {
                    ratio(*overlap, slice.seconds) * slice.response_time.count_between(from, to)
                })
                .sum()
        };
        let total = between(axis.from - 1.0, axis.to + 1.0);
        for row in 0..height {
            let from = axis.from + step * f64::from(height - 1 - row);
            let share = ratio(between(from, from + step), total);
            let shade = SHADES.iter().find(|(least, _)| share >= *least);
            if let Some((_, letter)) = shade
                && share > 0.0
            {
                room.dot(column, row, letter, look.ink.colour(super::palette::RATE));
            }
        }
    }
}

fn left_marks(room: &mut Room<'_>, axis: LogAxis) {
    let rows = room.height();
    for row in 0..rows {
        room.dot(MARKS - 1, row, "│", DIM);
    }
    for (place, log) in axis.marks(rows, APART) {
        let row = rows - 1 - place;
        let text = mark(10f64.powf(log));
        let width = u16::try_from(text.chars().count()).unwrap_or(0);
        room.put((MARKS - 1).saturating_sub(width), row, &text, DIM);
        room.dot(MARKS - 1, row, "┤", DIM);
    }
}

pub(super) fn draw_no_data(room: &mut Room<'_>) {
    room.put(MARKS, 0, "no answer yet", DIM.patch(Style::new()));
}

//! Response time over time, on a logarithmic axis: percentiles as lines, and a heat map of all answers.

use ratatui::{
    style::{Color, Style},
    symbols::Marker,
    widgets::{
        Widget,
        canvas::{Canvas, Context, Line, Points},
    },
};

use super::{
    area::Area,
    charts::{MARKS, TimeAxis, slices_within},
    frame::Frame,
    labels::mark,
    log_axis::LogAxis,
    palette::{DIM, PERCENTILE_COLOURS, Palette},
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

fn slices<'a>(frame: &Frame<'a>) -> Vec<&'a Slice> {
    frame.model.history.slices(frame.range).collect()
}

/// p50, p90, p99 and the maximum of each slice.
pub(super) fn lines(frame: &Frame<'_>, area: &mut Area<'_>) {
    area.title("response time", "p50, p90, p99, max over time");
    let time = TimeAxis::new(frame);
    let slices = slices(frame);
    let values = || {
        slices
            .iter()
            .flat_map(|slice| slice.percentiles())
            .flatten()
    };
    let least = values().copied().fold(f64::INFINITY, f64::min);
    let most = values().copied().fold(0.0, f64::max);
    time.marks(area);
    if most <= 0.0 {
        draw_no_data(area);
        return;
    }
    let axis = LogAxis::from_range(least.max(1.0).log10(), most.max(1.0).log10());
    left_marks(area, axis);
    area.take_left(MARKS);
    names(frame, area, axis);
    area.right(NAMES);
    let drawn = Canvas::default()
        .marker(Marker::Braille)
        .x_bounds([time.from_s, time.to_s])
        .y_bounds([axis.from, axis.to])
        .paint(|context| paint(context, &slices, frame.palette));
    drawn.render(area.rect, area.buffer);
}

fn paint(context: &mut Context<'_>, slices: &[&Slice], palette: Palette) {
    // The lowest line is drawn last, over the others.
    for (which, (_, colour)) in PERCENTILES.iter().zip(PERCENTILE_COLOURS).enumerate().rev() {
        let colour = match palette {
            Palette::Coloured => colour,
            Palette::Plain => Color::Reset,
        };
        for line in line(slices, which, colour) {
            context.draw(&line);
        }
        context.draw(&Points {
            coords: &points(slices, which),
            color: colour,
        });
        context.layer();
    }
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
            Some(Line::new(x1, y1, x2, y2, color))
        })
        .collect()
}

/// Each name at the end of its line, or in the next free row.
fn names(frame: &Frame<'_>, area: &mut Area<'_>, axis: LogAxis) {
    let Some(last) = frame.model.history.latest_slice() else {
        return;
    };
    let rows = area.height();
    let column = area.width().saturating_sub(NAMES - 1);
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
        area.put(column, row, name, frame.palette.colour(colour));
        free = row;
    }
}

/// Heat map of response times over time: the darker, the larger the share of the answers of that time.
pub(super) fn heat(frame: &Frame<'_>, area: &mut Area<'_>) {
    area.title(
        "response time heat map",
        "share: █ ≥ 20 % ▓ ≥ 5 % ▒ ≥ 1 % ░ less",
    );
    let slices = slices(frame);
    let mut all = Spectrum::default();
    for slice in &slices {
        all.add(&slice.response_time);
    }
    let Some((least, most)) = all.range() else {
        draw_no_data(area);
        return;
    };
    let axis = LogAxis::from_range(least, most);
    let time = TimeAxis::new(frame);
    left_marks(area, axis);
    area.take_left(MARKS);
    // The same width as the chart above, so columns are aligned.
    area.right(NAMES);
    let (width, height) = (area.width(), area.height());
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
                area.dot(
                    column,
                    row,
                    letter,
                    frame.palette.colour(super::palette::RATE),
                );
            }
        }
    }
}

fn left_marks(area: &mut Area<'_>, axis: LogAxis) {
    let rows = area.height();
    for row in 0..rows {
        area.dot(MARKS - 1, row, "│", DIM);
    }
    for (position, log) in axis.marks(rows, APART) {
        let row = rows - 1 - position;
        let text = mark(10f64.powf(log));
        let width = u16::try_from(text.chars().count()).unwrap_or(0);
        area.put((MARKS - 1).saturating_sub(width), row, &text, DIM);
        area.dot(MARKS - 1, row, "┤", DIM);
    }
}

pub(super) fn draw_no_data(area: &mut Area<'_>) {
    area.put(MARKS, 0, "no answer yet", DIM.patch(Style::new()));
}
